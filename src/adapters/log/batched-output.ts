import { once } from 'node:events';
import { destination } from 'pino';

/** How many bytes of lines are written together. */
const BATCH = 65_536;

/** How many bytes a pipe takes as one, unmixed with what other processes write to it (pipe(7), PIPE_BUF on Linux). */
const UNMIXED = 4_096;

/** How long a line may wait for others, in milliseconds. */
const PATIENCE = 250;

/** How much may wait for a reader that does not read, in bytes; what comes then is dropped. */
const MAX_WAITING = 16 * 1024 * 1024;

/**
 * Standard output, written to without waiting and many lines at a time: to hand each line over by itself costs more than to make
 * it. What waits is written when the process exits, whatever the reason, unless it is killed.
 */
export class BatchedOutput {
  private readonly size: number;
  private readonly out: ReturnType<typeof destination>;
  private waiting = '';
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  /** `shared` says whether other processes write to the same standard output: each line stays whole all the same. */
  constructor(shared: boolean) {
    this.size = shared ? UNMIXED : BATCH;
    this.out = destination({ dest: 1, sync: false, maxLength: MAX_WAITING, maxWrite: this.size });
    process.once('exit', () => {
      if (this.closed) return;
      this.pass();
      this.out.flushSync();
    });
  }

  write(line: string): void {
    if (this.waiting.length + line.length > this.size) this.pass();
    this.waiting += line;
    this.timer ??= setTimeout(() => this.pass(), PATIENCE).unref();
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
    const fits = Buffer.byteLength(this.waiting) <= this.size;
    // What has more bytes than characters goes line by line, and is put together again as far as it fits.
    for (const piece of fits ? [this.waiting] : this.waiting.split(/(?<=\n)/)) if (piece !== '') this.out.write(piece);
    this.waiting = '';
  }
}
