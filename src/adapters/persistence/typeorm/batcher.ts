import { AsyncResource } from 'node:async_hooks';
import { EntityManager, QueryFailedError } from 'typeorm';
import { ClientError, databaseTimedOut } from '../../../application/errors.js';
import { endOfNextTurn } from '../../event-loop.js';
import { Database, WorkKind } from './database.js';
import { RowsDiscarded } from './failures.js';

interface Pending<Item, Result> {
  readonly item: Item;
  readonly deadline: number;
  readonly trace: AsyncResource;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
}

/** The maximum size of a batch. */
const MAX_BATCH = 256;

/** How far the deadlines of a batch may be from that of its first item, in milliseconds: it runs until the latest. */
const DEADLINE_SPREAD = 1_000;

/** The errors that one item of a batch may have caused. */
const FAULTS_OF_AN_ITEM = [QueryFailedError, ClientError, RowsDiscarded];

/**
 * Items share a round trip if they arrive within two turns of the event loop, or while the maximum is in flight. None
 * joins a round trip that has begun, so a read sees everything that was committed before it was requested.
 */
export class Batcher<Item, Result> {
  private readonly pending: Pending<Item, Result>[] = [];
  /** Two on a server, which runs one batch while this process reads the rows of the other; one on SQLite. */
  private readonly maxInFlight: number;
  private inFlight = 0;

  /**
   * `work` processes a batch, and resolves to the results in the same order; an Error in the place of a result fails
   * its item alone. If it rejects with one of `FAULTS_OF_AN_ITEM`, it must have changed nothing: both halves are run
   * again, until the item fails alone. Any other error fails the whole batch.
   */
  constructor(
    private readonly database: Database,
    private readonly kind: WorkKind,
    private readonly summary: string,
    private readonly work: (manager: EntityManager, items: readonly Item[]) => Promise<readonly (Result | Error)[]>,
  ) {
    this.maxInFlight = database.dialect.isServer ? 2 : 1;
  }

  add(item: Item, deadline?: number): Promise<Result> {
    const enqueue = (until: number) =>
      new Promise<Result>((resolve, reject) => {
        this.pending.push({ item, deadline: until, trace: new AsyncResource('Batcher'), resolve, reject });
        void this.flush();
      });
    return this.database.admit(enqueue, deadline);
  }

  /** Processes a batch, and then the next one, unless the maximum is in flight. */
  private async flush(): Promise<void> {
    if (this.inFlight >= this.maxInFlight) return;
    this.inFlight++;
    try {
      await endOfNextTurn();
      await this.runNext();
    } finally {
      this.inFlight--;
      if (this.pending.length > 0) void this.flush();
    }
  }

  /** Processes those that are pending, as many as a batch may have. */
  private async runNext(): Promise<void> {
    const firstDeadline = this.pending[0]?.deadline ?? 0;
    const end = this.pending.findIndex(({ deadline }) => Math.abs(deadline - firstDeadline) > DEADLINE_SPREAD);
    const all = this.pending.splice(0, end < 0 ? MAX_BATCH : Math.min(end, MAX_BATCH));
    const now = performance.now();
    for (const { deadline, reject } of all) if (deadline <= now) reject(databaseTimedOut());
    const batch = all.filter(({ deadline }) => deadline > now);
    const latest = Math.max(...batch.map(({ deadline }) => deadline));
    // A batch belongs to the trace of its first item.
    try {
      await batch[0]?.trace.runInAsyncScope(() => this.run(batch, latest));
    } catch (error) {
      for (const { reject } of batch) reject(error as Error);
    }
  }

  /** Processes a batch, and settles its items. */
  private async run(batch: readonly Pending<Item, Result>[], deadline: number): Promise<void> {
    const { database, kind, summary, work } = this;
    const items = batch.map(({ item }) => item);
    try {
      const results = await database.run(kind, summary, (manager) => work(manager, items), deadline);
      for (const [i, { resolve, reject }] of batch.entries()) {
        const result = results[i] as Result | Error;
        if (result instanceof Error) reject(result);
        else resolve(result);
      }
    } catch (error) {
      const isFaultOfAnItem = FAULTS_OF_AN_ITEM.some((type) => error instanceof type);
      if (batch.length === 1 || !isFaultOfAnItem) return batch.forEach(({ reject }) => reject(error as Error));
      const middle = batch.length >> 1;
      // In parallel: each half may wait for a lock.
      await Promise.all([this.run(batch.slice(0, middle), deadline), this.run(batch.slice(middle), deadline)]);
    }
  }
}
