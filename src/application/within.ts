import { late } from './errors.js';

/** How long a request may wait for a database connection, in milliseconds. */
export const POOL_TIMEOUT = 3_000;

/** How long a request may wait for the database in all, in milliseconds. */
export function databaseTimeout({ STATEMENT_TIMEOUT }: { readonly STATEMENT_TIMEOUT: number }): number {
  return POOL_TIMEOUT + STATEMENT_TIMEOUT;
}

/** Settles as the promise does, or rejects with `reason()` after a timeout in milliseconds. */
export function within<T>(milliseconds: number, promise: Promise<T>, reason: () => Error = late): Promise<T> {
  // `Promise.race` takes twice the time, and every request to the database passes here.
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(reason()), milliseconds);
    const settled = () => clearTimeout(timer);
    promise.then(settled, settled);
    promise.then(resolve, reject);
  });
}

/** The waits of one request for the database, which share a limit in milliseconds. */
export class DatabaseWait {
  private waited = 0;

  constructor(private readonly limit: number) {}

  /** Waits for the result; rejects with `DatabaseUnavailable` once the request has waited for too long in all. */
  async for<T>(result: Promise<T>): Promise<T> {
    const startedAt = performance.now();
    // The first wait is limited already, by `Database.admit`.
    const value = await (this.waited === 0 ? result : within(this.limit - this.waited, result));
    this.waited += performance.now() - startedAt;
    return value;
  }
}
