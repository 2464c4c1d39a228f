import { setImmediate as endOfTurn } from 'node:timers/promises';
import { QueryFailedError } from 'typeorm';

interface Batch<Item, Result> {
  readonly items: Item[];
  readonly results: Promise<readonly (Result | Error)[]>;
}

/**
 * Lets items that arrive while round trips are in flight, or in the same turn of the event loop, share the next one. No
 * item joins a round trip that has begun, so a read sees everything that was committed before it was requested.
 */
export class Batcher<Item, Result> {
  private next: Batch<Item, Result> | undefined;
  private readonly inFlight = new Set<Promise<unknown>>();

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
  async add(item: Item, deadline: number): Promise<Result> {
    const { items, results } = (this.next ??= this.begin(deadline));
    const place = items.push(item) - 1;
    if (items.length === this.maxBatch) this.next = undefined;
    const result = (await results)[place] as Result | Error;
    if (result instanceof Error) throw result;
    return result;
  }

  /** Begins a batch, which has the deadline and the trace of its first item. */
  private begin(deadline: number): Batch<Item, Result> {
    const items: Item[] = [];
    const flush = async () => {
      await endOfTurn();
      while (this.inFlight.size >= this.maxInFlight) await Promise.race(this.inFlight).then(() => endOfTurn());
      if (this.next?.items === items) this.next = undefined;
      const running = this.process(items, deadline);
      this.inFlight.add(running);
      void running.then(() => this.inFlight.delete(running));
      return running;
    };
    return { items, results: flush() };
  }

  private async process(items: readonly Item[], deadline: number): Promise<readonly (Result | Error)[]> {
    try {
      return await this.run(items, deadline);
    } catch (error) {
      if (items.length === 1 || !(error instanceof QueryFailedError)) return items.map(() => error as Error);
      const results: (Result | Error)[] = [];
      for (const item of items) results.push(...(await this.process([item], deadline)));
      return results;
    }
  }
}
