import { fstatSync, writeSync } from 'node:fs';

/** How many bytes are written at once to a pipe: as many as it takes as one, unmixed with what other processes write to it (pipe(7), PIPE_BUF). */
const PIPE_BATCH = 4_096;

/** How many to a file, which takes any number as one. */
const FILE_BATCH = 16_384;

/** How long a line may wait for others, in milliseconds. */
const PATIENCE = 50;

/** How much may wait for a reader that does not read, in bytes; what comes then is dropped. */
const MAX_WAITING = 16 * 1024 * 1024;

/** How long the end of the process waits for a reader that takes nothing, in milliseconds. */
const STALLED = 500;

/** How long the end of the process waits for a slow reader, in milliseconds. */
const SLOW = 1_000;

/** How long to pause before a full pipe is tried again at the end, in milliseconds. */
const PAUSE = 2;

/** How long to pause before a file that takes no more, as on a full disk, is tried again, in milliseconds. */
const FULL = 500;

interface Batch {
  /** What of it is not written yet. */
  bytes: Buffer;
  readonly lines: number;
}

/**
 * Standard output, written to without waiting and many lines at a time: to hand each line over by itself costs more than to make
 * it. A reader that is gone or does not read costs lines, which are counted, and neither time nor memory. What waits is written when the
 * process exits, whatever the reason, unless it is killed.
 */
export class BatchedOutput {
  private readonly isFile = fstatSync(1).isFile();
  private readonly size = this.isFile ? FILE_BATCH : PIPE_BATCH;
  private readonly waiting: Batch[] = [];
  private waitingBytes = 0;
  private batch = Buffer.allocUnsafeSlow(this.size);
  private filled = 0;
  private lines = 0;
  private dropped = 0;
  private writing = false;
  private timer: NodeJS.Timeout | undefined;

  /** `tellDropped` is called, once there is room again, with the number of lines that were dropped. */
  constructor(private readonly tellDropped: (lines: number) => void) {
    process.once('exit', () => this.flush());
  }

  /** Takes a line over, as bytes: as texts they would be copied by each garbage collection until they are written. */
  write(line: string): void {
    if (this.waitingBytes >= MAX_WAITING) {
      this.dropped++;
      return;
    }
    // A character has three bytes at most.
    const most = line.length * 3;
    if (this.filled + most > this.size) this.pass();
    if (most > this.size) return this.queue({ bytes: Buffer.from(line), lines: 1 });
    this.filled += this.batch.write(line, this.filled);
    this.lines++;
    // While the reader does not read, batches become full.
    if (!this.writing) this.timer ??= setTimeout(() => this.pass(), PATIENCE).unref();
  }

  private pass(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.lines === 0) return;
    const batch = { bytes: this.batch.subarray(0, this.filled), lines: this.lines };
    this.batch = Buffer.allocUnsafeSlow(this.size);
    this.filled = this.lines = 0;
    this.queue(batch);
  }

  private queue(batch: Batch): void {
    this.waiting.push(batch);
    this.waitingBytes += batch.bytes.length;
    this.next();
  }

  /** Has one batch written after the other: Node would write all that it has been handed as one. */
  private next(): void {
    const [batch] = this.waiting;
    if (!batch || this.writing) return;
    this.writing = true;
    if (this.isFile) return this.writeToFile(batch);
    doNotBlock();
    process.stdout.write(batch.bytes, (error) => this.written(batch, error));
  }

  /** Node would write what fits, drop the rest of it, and not tell: here it is written when there is room again. */
  private writeToFile(batch: Batch): void {
    try {
      while (batch.bytes.length > 0) {
        const count = writeSync(1, batch.bytes);
        batch.bytes = batch.bytes.subarray(count);
        this.waitingBytes -= count;
      }
    } catch {
      return void setTimeout(() => this.writeToFile(batch), FULL).unref();
    }
    this.written(batch);
  }

  private written(batch: Batch, error?: Error | null): void {
    this.writing = false;
    this.waiting.shift();
    this.waitingBytes -= batch.bytes.length;
    if (error) this.dropped += batch.lines;
    else if (this.waitingBytes < MAX_WAITING / 2) this.tellOfDropped();
    if (this.waiting.length > 0) this.next();
    else if (this.lines > 0) this.timer ??= setTimeout(() => this.pass(), PATIENCE).unref();
  }

  private tellOfDropped(): void {
    if (this.dropped === 0) return;
    const { dropped } = this;
    this.dropped = 0;
    this.tellDropped(dropped);
  }

  /** Writes what waits, as long as somebody takes it. */
  private flush(): void {
    // What Node has passed on already it has not told yet.
    if (this.writing && !this.isFile && process.stdout.writableLength === 0) this.waiting.shift();
    this.writing = true;
    this.tellOfDropped();
    this.pass();
    const end = performance.now() + SLOW;
    let patience = performance.now() + STALLED;
    for (const batch of this.waiting) {
      while (batch.bytes.length > 0) {
        try {
          doNotBlock();
          batch.bytes = batch.bytes.subarray(writeSync(1, batch.bytes));
          patience = performance.now() + STALLED;
        } catch (error) {
          const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN';
          if (!isFull || performance.now() > Math.min(patience, end)) return;
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE);
        }
      }
    }
  }
}

/**
 * Has writes to a full pipe fail and not wait. This holds for all processes that share the pipe, and Node undoes it when one of them
 * starts or ends: it is said before each write, by what Node has for it, which is not in its manual.
 */
function doNotBlock(): void {
  const { _handle } = process.stdout as { _handle?: { setBlocking?: (blocks: boolean) => void } };
  _handle?.setBlocking?.(false);
}
