import { once } from 'node:events';
import { destination } from 'pino';

/** How many characters of lines are written together. */
const BATCH = 65_536;

/** How long a line may wait for others, in milliseconds. */
const PATIENCE = 250;

/** How much may wait for a reader that does not read, in bytes; what comes then is dropped. */
const MAX_WAITING = 16 * 1024 * 1024;

/**
 * Standard output, written to without waiting and many lines at a time: to hand each line over by itself costs more than to make
 * it. What waits is written when the process exits, whatever the reason, unless it is killed.
 */
export class BatchedOutput {
  private readonly out = destination({ dest: 1, sync: false, maxLength: MAX_WAITING });
  private waiting = '';
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  constructor() {
    process.once('exit', () => {
      if (this.closed) return;
      this.pass();
      this.out.flushSync();
    });
  }

  write(line: string): void {
    this.waiting += line;
    if (this.waiting.length >= BATCH) this.pass();
    else this.timer ??= setTimeout(() => this.pass(), PATIENCE).unref();
  }

  /** Resolves once all is written. Nothing can be written any more. */
  async close(): Promise<void> {
    this.closed = true;
    this.pass();
    this.out.end();
    await once(this.out, 'close');
  }

  private pass(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.waiting !== '') this.out.write(this.waiting);
    this.waiting = '';
  }
}
