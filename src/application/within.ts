/** How long a request may wait for a database connection, in milliseconds. */
export const POOL_TIMEOUT = 3_000;

/**
 * Settles as the promise does, or rejects with `late()` after a timeout in milliseconds. `settled` is called when the
 * promise settles, even if that is after the timeout.
 */
export function within<T>(
  milliseconds: number,
  promise: Promise<T>,
  late: () => Error,
  settled: () => void = () => undefined,
): Promise<T> {
  // `Promise.race` takes twice the time, and every query passes here twice.
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), milliseconds);
    const settle = (settleAs: () => void) => {
      clearTimeout(timer);
      settled();
      settleAs();
    };
    promise.then(
      (value) => settle(() => resolve(value)),
      (error: Error) => settle(() => reject(error)),
    );
  });
}
