import { DatabaseUnavailable } from '../../../../application/errors.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/**
 * Looks for idempotency keys whose lifetime is over: within a minute of a request with a key, and every hour, for those
 * that other instances have left. A database that is stopped while it is idle, as some providers do, is not woken up
 * each minute.
 */
export class KeyExpiry {
  private hasNewKeys = false;
  private isClosed = false;
  private clearing: Promise<void> | undefined;
  private readonly timers = [
    setInterval(() => void (this.hasNewKeys && this.clearAll()), MINUTE).unref(),
    setInterval(() => void this.clearAll(), HOUR).unref(),
  ];

  /** `clear` clears some, and resolves to their number; `report` receives sentences for the log. */
  constructor(
    private readonly clear: () => Promise<number>,
    private readonly report: (message: string) => void,
  ) {}

  /** A request has an idempotency key. */
  note(): void {
    this.hasNewKeys = true;
  }

  close(): void {
    this.isClosed = true;
    for (const timer of this.timers) clearInterval(timer);
  }

  /** Once at a time. */
  private clearAll(): Promise<void> {
    const clear = async () => {
      this.hasNewKeys = false;
      try {
        while (!this.isClosed && (await this.clear()) > 0);
      } catch (error) {
        this.hasNewKeys = true;
        // The database says why itself, once for all requests and tasks.
        if (error instanceof DatabaseUnavailable) return;
        this.report(`Clearing expired idempotency keys failed: ${(error as Error).message}`);
      }
    };
    return (this.clearing ??= clear().finally(() => (this.clearing = undefined)));
  }
}
