/** How long a request may wait for a database connection, in milliseconds. */
export const POOL_TIMEOUT = 3_000;

/** Settles as the promise does, or rejects with `late()` after a timeout in milliseconds. */
export function within<T>(milliseconds: number, promise: Promise<T>, late: () => Error): Promise<T> {
  // `Promise.race` takes twice the time, and every request to the database passes here.
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), milliseconds);
    const settled = () => clearTimeout(timer);
    promise.then(settled, settled);
    promise.then(resolve, reject);
  });
}
