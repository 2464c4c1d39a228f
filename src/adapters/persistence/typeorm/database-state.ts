import { LRUCache } from 'lru-cache';
import { DatabaseUnavailable } from '../../../application/errors.js';

/**
 * For how long a database is not opened again after an error that only its operator can mend, in milliseconds: some
 * servers lock accounts after failed logins.
 */
const PAUSE = 1_000;

/** How often the log repeats why requests fail, in milliseconds. */
const LOG_INTERVAL = 5_000;

/** Whether a database is closed, opening or open; decides when it is opened again, and when failures are logged. */
export class DatabaseState {
  /** Set while it opens and once it is open. */
  private opening: Promise<void> | undefined;
  private isClosed = false;
  /** The error that a pause rejects with, and when the pause ends, on the clock of `performance.now()`. */
  private paused: { readonly error: DatabaseUnavailable; readonly until: number } | undefined;
  /** Failures by their message: when they were logged, and how many have been counted since. */
  private readonly failures = new LRUCache<string, { loggedAt: number; count: number }>({ max: 100 });

  /** `connect` opens it; `report` receives sentences for the log. */
  constructor(
    private readonly connect: () => Promise<void>,
    private readonly report: (message: string) => void,
  ) {}

  /** Opens it unless it is open or opening; resolves once it is open. Rejects at once while it is paused. */
  async open(): Promise<void> {
    if (this.isClosed) throw new DatabaseUnavailable('The database is closed.');
    if (this.paused && performance.now() < this.paused.until) throw this.paused.error;
    const opening = (this.opening ??= this.connect());
    try {
      await opening;
    } catch (error) {
      // Another attempt may have begun meanwhile.
      if (this.opening === opening) this.opening = undefined;
      throw error;
    }
  }

  /** Makes `open` reject with this error for a second; the first call after that opens it again. */
  pause(error: DatabaseUnavailable): void {
    this.opening = undefined;
    this.paused = { error, until: performance.now() + PAUSE };
  }

  /** Logs why a request failed: each message at most once in five seconds, with how many requests failed since. */
  logFailure({ message }: DatabaseUnavailable): void {
    const now = performance.now();
    const { loggedAt, count } = this.failures.get(message) ?? { loggedAt: -Infinity, count: 0 };
    const isDue = now >= loggedAt + LOG_INTERVAL;
    this.failures.set(message, isDue ? { loggedAt: now, count: 0 } : { loggedAt, count: count + 1 });
    if (isDue) this.report(count > 0 ? `${message} Requests that failed since the last line: ${count + 1}.` : message);
  }

  /** Prevents further opening, and waits for one in progress. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.opening?.catch(() => undefined);
  }
}
