import { LRUCache } from 'lru-cache';
import { DatabaseUnavailable } from '../../../application/errors.js';

/** How long a database that only its operator can mend is left alone: some servers lock accounts. In milliseconds. */
const PAUSE = 1_000;

/** How often the log repeats why requests fail, in milliseconds. */
const LOG_INTERVAL = 5_000;

/** Whether a database is closed, opening, open or failing; decides when it is opened again, and what is logged. */
export class DatabaseState {
  /** Set while it opens and once it is open. */
  private opening: Promise<void> | undefined;
  private isClosed = false;
  /** What requests are told while it is left alone, and until when it is, on the clock of `performance.now()`. */
  private rejection: { readonly error: DatabaseUnavailable; readonly until: number } | undefined;
  /** Failures by their message: when they were logged, and how many have been counted since. */
  private readonly failures = new LRUCache<string, { loggedAt: number; count: number }>({ max: 100 });

  /** `connect` opens it; `report` receives sentences for the log. */
  constructor(
    private readonly connect: () => Promise<void>,
    private readonly report: (message: string) => void,
  ) {}

  /** Resolves once it is open. Opens it, unless that is done or under way; rejects at once while it is left alone. */
  async open(): Promise<void> {
    if (this.isClosed) throw new DatabaseUnavailable('The database is closed.');
    if (this.rejection && performance.now() < this.rejection.until) throw this.rejection.error;
    this.opening ??= this.connect().catch((error: Error) => {
      this.opening = undefined;
      throw error;
    });
    await this.opening;
  }

  /** Leaves it alone for a second. Then the first request opens it anew, and the others wait for that. */
  leaveAlone(error: DatabaseUnavailable): void {
    this.opening = undefined;
    this.rejection = { error, until: performance.now() + PAUSE };
  }

  /** Logs why a request has failed: at once, and every five seconds with how many have. */
  failed({ message }: DatabaseUnavailable): void {
    const now = performance.now();
    const { loggedAt, count } = this.failures.get(message) ?? { loggedAt: -Infinity, count: 0 };
    const isDue = now >= loggedAt + LOG_INTERVAL;
    this.failures.set(message, isDue ? { loggedAt: now, count: 0 } : { loggedAt, count: count + 1 });
    if (isDue) this.report(count > 0 ? `${message} Requests that failed since the last line: ${count + 1}.` : message);
  }

  /** Ends it once it is not opening. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.opening?.catch(() => undefined);
  }
}
