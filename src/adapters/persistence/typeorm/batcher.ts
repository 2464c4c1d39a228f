import { setImmediate as endOfTurn } from 'node:timers/promises';
import { EntityManager, QueryFailedError } from 'typeorm';
import { Database, WorkKind } from './database.js';

/** How many batches of one kind are in flight to a server: it runs one while the process reads the rows of another. */
const BATCHES_IN_FLIGHT = 2;

interface Batch<Item, Result> {
  readonly items: Map<unknown, Item>;
  readonly results: Promise<Map<unknown, Result | Error>>;
}

/**
 * Lets items that arrive while round trips are in flight, or in the same turn of the event loop, share the next one. No
 * item joins a round trip that has begun, so a read sees everything that was committed before it was requested.
 */
export class Batcher<Item, Result> {
  private next: Batch<Item, Result> | undefined;
  private readonly inFlight = new Set<Promise<unknown>>();

  /**
   * `work` processes a batch, and resolves to the results in the same order; an Error in the place of a result fails
   * its item alone. If a statement fails, nothing was changed, and each item is run again alone; any other error fails
   * the whole batch. A batch has at most `maxBatch` items, so that the first does not wait for long.
   */
  constructor(
    private readonly database: Database,
    private readonly kind: WorkKind,
    private readonly summary: string,
    private readonly work: (manager: EntityManager, items: readonly Item[]) => Promise<readonly (Result | Error)[]>,
    private readonly maxBatch = 256,
    private readonly maxInFlight = database.dialect.isServer ? BATCHES_IN_FLIGHT : 1,
  ) {}

  /** Items with the same name share a result. `deadline` is in milliseconds on the clock of `performance.now()`. */
  async add(item: Item, deadline: number, name: unknown = item): Promise<Result> {
    const { items, results } = (this.next ??= this.begin(deadline));
    items.set(name, item);
    if (items.size === this.maxBatch) this.next = undefined;
    const result = (await results).get(name) as Result | Error;
    if (result instanceof Error) throw result;
    return result;
  }

  /** Begins a batch, which has the deadline and the trace of its first item. */
  private begin(deadline: number): Batch<Item, Result> {
    const items = new Map<unknown, Item>();
    const flush = async () => {
      await endOfTurn();
      while (this.inFlight.size >= this.maxInFlight) await Promise.race(this.inFlight).then(() => endOfTurn());
      if (this.next?.items === items) this.next = undefined;
      const running = this.run([...items.values()], deadline);
      this.inFlight.add(running);
      const results = await running;
      this.inFlight.delete(running);
      return new Map([...items.keys()].map((name, i) => [name, results[i] as Result | Error]));
    };
    return { items, results: flush() };
  }

  private async run(items: readonly Item[], deadline: number): Promise<readonly (Result | Error)[]> {
    const { database, kind, summary, work } = this;
    const run = () => database.run(kind, summary, (manager) => work(manager, items), deadline);
    try {
      return await (kind === 'read' ? run() : database.observer.commit(items.length, run));
    } catch (error) {
      if (items.length === 1 || !(error instanceof QueryFailedError)) return items.map(() => error as Error);
      const results: (Result | Error)[] = [];
      for (const item of items) results.push(...(await this.run([item], deadline)));
      return results;
    }
  }
}
