import { AsyncResource } from 'node:async_hooks';
import { QueryFailedError } from 'typeorm';

interface Pending<Item, Result> {
  readonly item: Item;
  readonly deadline: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets items that arrive while round trips are in flight, or in the same turn of the event loop, share the next one. No
 * item joins a round trip that has begun, so a read sees everything that was committed before it was requested.
 */
export class Batcher<Item, Result> {
  private pending: Pending<Item, Result>[] = [];
  private inFlight = 0;
  private isScheduled = false;
  private context: AsyncResource | undefined;

  /**
   * `run` processes a batch until its deadline, and resolves to the results in the same order; an Error in the place of
   * a result fails its item alone. If a statement fails, nothing was changed, and each item is run again alone; any
   * other error fails the whole batch. A batch has at most `maxBatch` items, so that the first does not wait for long.
   */
  constructor(
    private readonly run: (items: readonly Item[], deadline: number) => Promise<readonly (Result | Error)[]>,
    private readonly maxInFlight: number,
    private readonly maxBatch = 256,
  ) {}

  /** `deadline` is in milliseconds on the clock of `performance.now()`. */
  add(item: Item, deadline: number): Promise<Result> {
    // A batch belongs to the trace of the request that began the queue, even if it is run when another batch ends.
    if (this.pending.length === 0) this.context = new AsyncResource('Batcher');
    return new Promise((resolve, reject) => {
      this.pending.push({ item, deadline, resolve, reject });
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.isScheduled || this.pending.length === 0 || this.inFlight === this.maxInFlight) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.inFlight++;
      const batch = this.pending.splice(0, this.maxBatch);
      void this.context!.runInAsyncScope(() => this.flush(batch)).finally(() => {
        this.inFlight--;
        this.schedule();
      });
      this.schedule();
    });
  }

  private async flush(batch: readonly Pending<Item, Result>[]): Promise<void> {
    try {
      const items = batch.map(({ item }) => item);
      const results = await this.run(items, batch[0]!.deadline);
      for (const [i, { resolve, reject }] of batch.entries()) {
        const result = results[i] as Result | Error;
        if (result instanceof Error) reject(result);
        else resolve(result);
      }
    } catch (error) {
      if (batch.length > 1 && error instanceof QueryFailedError) for (const each of batch) await this.flush([each]);
      else for (const { reject } of batch) reject(error);
    }
  }
}
