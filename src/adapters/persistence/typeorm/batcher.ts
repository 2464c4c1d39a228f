import { AsyncResource } from 'node:async_hooks';
import { databaseTimedOut } from '../../../application/errors.js';
import { endOfNextTurn } from '../../runtime/event-loop.js';
import { heldPause } from './consequences.js';
import type { Executor, SharedWork } from './executor.js';

interface Pending<Item, Result> {
  readonly item: Item;
  readonly deadline: number;
  readonly trace: AsyncResource;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
  /** When it first failed, on the clock of `performance.now()`: for how long a held key is tried again. */
  failedAt?: number;
}

/** The maximum number of items in a batch. */
const MAX_BATCH = 256;

/** How far the deadlines of a batch may be from that of its first item, in milliseconds: it runs until the latest. */
const DEADLINE_SPREAD = 1_000;

/**
 * Requests share a round trip if they arrive within two turns of the event loop, or while `maxInFlight` batches run.
 * None joins a round trip that has begun, so a read sees everything that was committed before it was requested.
 */
export class Batcher<Item, Result> {
  private readonly pending: Pending<Item, Result>[] = [];
  /** Two on a server, which runs one batch while this process reads the rows of the other; one on SQLite. */
  private readonly maxInFlight: number;
  private inFlight = 0;

  /** `held` gets the items whose idempotency key is in use, to be tried again: they must not delay others. */
  constructor(
    private readonly executor: Executor,
    private readonly work: SharedWork<Item, Result>,
    private readonly held?: Batcher<Item, Result>,
  ) {
    this.maxInFlight = executor.database.dialect.isServer ? 2 : 1;
  }

  /** Admits a request, and resolves to the result of its item; the deadline is that of `Executor.admit`. */
  add(item: Item, deadline?: number): Promise<Result> {
    const enqueue = (until: number) =>
      new Promise<Result>((resolve, reject) =>
        this.enqueue({ item, deadline: until, trace: new AsyncResource('Batcher'), resolve, reject }),
      );
    return this.executor.admit(enqueue, deadline);
  }

  private enqueue(pending: Pending<Item, Result>): void {
    this.pending.push(pending);
    void this.flush();
  }

  /** Runs a batch, and then the next one, unless the maximum is in flight. */
  private async flush(): Promise<void> {
    if (this.inFlight >= this.maxInFlight) return;
    this.inFlight++;
    await endOfNextTurn();
    const batch = this.take();
    try {
      // A batch belongs to the trace of its first item.
      await batch[0]?.trace.runInAsyncScope(() => this.run(batch));
    } finally {
      this.inFlight--;
      if (this.pending.length > 0) void this.flush();
    }
  }

  /** The next batch; rejects those whose deadline has passed. */
  private take(): Pending<Item, Result>[] {
    const firstDeadline = this.pending[0]?.deadline ?? 0;
    const end = this.pending.findIndex(({ deadline }) => Math.abs(deadline - firstDeadline) > DEADLINE_SPREAD);
    const all = this.pending.splice(0, end < 0 ? MAX_BATCH : Math.min(end, MAX_BATCH));
    const now = performance.now();
    for (const { deadline, reject } of all) if (deadline <= now) reject(databaseTimedOut());
    return all.filter(({ deadline }) => deadline > now);
  }

  private run(batch: readonly Pending<Item, Result>[]): Promise<void> {
    const latest = Math.max(...batch.map(({ deadline }) => deadline));
    const requests = batch.map((pending) => ({
      item: pending.item,
      settle: (outcome: Result | Error) => this.settleOrRetry(pending, outcome),
    }));
    return this.executor.perform(this.work, requests, latest);
  }

  private settleOrRetry(pending: Pending<Item, Result>, outcome: Result | Error): void {
    if (!(outcome instanceof Error)) return pending.resolve(outcome);
    pending.failedAt ??= performance.now();
    const pause = heldPause(outcome, pending.failedAt);
    if (pause === undefined) pending.reject(outcome);
    else setTimeout(() => (this.held ?? this).enqueue(pending), pause);
  }
}
