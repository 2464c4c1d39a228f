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
  private readonly out: ReturnType<typeof destination>;
  private batch: Buffer;
  private filled = 0;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  /** `shared` says whether other processes write to the same standard output: each line stays whole all the same. */
  constructor(shared: boolean) {
    const size = shared ? UNMIXED : BATCH;
    const buffers = { contentMode: 'buffer' } as const;
    this.out = destination({ dest: 1, sync: false, maxLength: MAX_WAITING, maxWrite: size, ...buffers });
    this.batch = Buffer.allocUnsafeSlow(size);
    process.once('exit', () => {
      if (this.closed) return;
      this.pass();
      this.out.flushSync();
    });
  }

  /** Takes a line over, as bytes: as texts they would be copied by each garbage collection until they are written. */
  write(line: string): void {
    // A character has three bytes at most.
    const most = line.length * 3;
    if (this.filled + most > this.batch.length) this.pass();
    if (most > this.batch.length) return this.hand(Buffer.from(line));
    this.filled += this.batch.write(line, this.filled);
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
    if (this.filled === 0) return;
    this.hand(this.batch.subarray(0, this.filled));
    this.batch = Buffer.allocUnsafeSlow(this.batch.length);
    this.filled = 0;
  }

  private hand(bytes: Buffer): void {
    this.out.write(bytes as unknown as string);
  }
}
