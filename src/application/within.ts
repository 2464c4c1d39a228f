/** What the promise comes to, if it does so within so many milliseconds; rejects with the error if not. `settled` is called once it has, late too. */
export function within<T>(
  milliseconds: number,
  promise: Promise<T>,
  late: () => Error,
  settled: () => void = () => undefined,
): Promise<T> {
  // Not by `Promise.race`, which takes twice the time: every request that asks the store comes here twice.
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), milliseconds);
    promise.then(
      (value) => {
        clearTimeout(timer);
        settled();
        resolve(value);
      },
      (error: Error) => {
        clearTimeout(timer);
        settled();
        reject(error);
      },
    );
  });
}
