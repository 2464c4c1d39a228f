import { databaseTimedOut } from '../../application/errors.js';

/** How long one attempt to acquire a database connection may take, in milliseconds, unless the URL says otherwise. */
export const POOL_TIMEOUT = 3_000;

/** How long a request may wait for the database in all, in milliseconds. */
export function databaseTimeout({ STATEMENT_TIMEOUT }: { readonly STATEMENT_TIMEOUT: number }): number {
  return POOL_TIMEOUT + STATEMENT_TIMEOUT;
}

/** Settles as work of the database does, or rejects with `DatabaseUnavailable` after a timeout in milliseconds. */
export function withTimeout<T>(milliseconds: number, promise: Promise<T>): Promise<T> {
  // `Promise.race` takes twice the time, and every request to the database passes here.
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(databaseTimedOut()), milliseconds);
    const settled = () => clearTimeout(timer);
    promise.then(settled, settled);
    promise.then(resolve, reject);
  });
}
