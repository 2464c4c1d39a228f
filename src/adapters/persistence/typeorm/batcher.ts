import { AsyncResource } from 'node:async_hooks';
import { setImmediate as immediate } from 'node:timers/promises';
import { EntityManager, QueryFailedError } from 'typeorm';
import { late } from '../../../application/errors.js';
import { Database, WorkKind } from './database.js';

interface Pending<Item, Result> {
  readonly item: Item;
  readonly name: unknown;
  readonly deadline: number;
  readonly trace: AsyncResource;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Lets items that arrive while round trips are in flight, or in the same two turns of the event loop, share the next
 * one. No item joins a round trip that has begun, so a read sees everything that was committed before it was requested.
 */
export class Batcher<Item, Result> {
  private readonly pending: Pending<Item, Result>[] = [];
  private inFlight = 0;

  /**
   * `work` processes a batch, and resolves to the results in the same order; an Error in the place of a result fails
   * its item alone. A query that fails by its own fault changed nothing, and each item is run again alone; any other
   * error fails the whole batch. A batch has at most `maxBatch` items, so that the first does not wait for long.
   */
  constructor(
    private readonly database: Database,
    private readonly kind: WorkKind,
    private readonly summary: string,
    private readonly work: (manager: EntityManager, items: readonly Item[]) => Promise<readonly (Result | Error)[]>,
    private readonly maxBatch = 256,
    // A database server runs one batch while this process reads the rows of the other.
    private readonly maxInFlight = database.dialect.isServer ? 2 : 1,
  ) {}

  /** The result of an item. Items with the same name share one. */
  add(item: Item, name: unknown = item): Promise<Result> {
    const add = (deadline: number) =>
      new Promise<Result>((resolve, reject) => {
        this.pending.push({ item, name, deadline, trace: new AsyncResource('Batcher'), resolve, reject });
        this.schedule();
      });
    return this.database.admit(add);
  }

  private schedule(): void {
    if (this.inFlight >= this.maxInFlight) return;
    this.inFlight++;
    void this.flush().finally(() => {
      this.inFlight--;
      // A batch belongs to the trace of its first item.
      this.pending[0]?.trace.runInAsyncScope(() => this.schedule());
    });
  }

  private async flush(): Promise<void> {
    // In the first turn the guard holds the requests that arrive, until all are read; in the second they are here.
    await immediate();
    await immediate();
    const all = this.pending.splice(0, this.maxBatch);
    const now = performance.now();
    for (const { deadline, reject } of all) if (deadline <= now) reject(late());
    const batch = all.filter(({ deadline }) => deadline > now);
    const last = batch.at(-1);
    if (!last) return;
    const items = new Map(batch.map(({ name, item }) => [name, item]));
    const outcomes = await this.run([...items.values()], last.deadline);
    const results = new Map([...items.keys()].map((name, i) => [name, outcomes[i] as Result | Error]));
    for (const { name, resolve, reject } of batch) {
      const result = results.get(name)!;
      if (result instanceof Error) reject(result);
      else resolve(result);
    }
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
