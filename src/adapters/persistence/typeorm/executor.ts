import { setTimeout as delay } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import { DatabaseUnavailable } from '../../../application/errors.js';
import type { Settings } from '../../../settings/settings.js';
import { Observers } from '../../observability/observers.js';
import { databaseTimeout, withTimeout } from '../timeout.js';
import { type Consequence, Failures } from './consequences.js';
import type { Database, WorkKind } from './database.js';

/** Work that several requests can share: each has an item, and gets the result at the same index. */
export interface SharedWork<Item, Result> {
  readonly kind: WorkKind;
  /** The operation and the table, such as `SELECT pet`, for the observers. */
  readonly summary: string;
  /**
   * Resolves to the results in the order of the items; an Error in the place of a result fails its item alone. If it
   * rejects with an error that one of several items may have caused, it has changed nothing.
   */
  readonly run: (manager: EntityManager, items: readonly Item[]) => Promise<readonly (Result | Error)[]>;
}

/** One of the requests that share work, or the only one. */
interface SharedRequest<Item, Result> {
  readonly item: Item;
  readonly settle: (outcome: Result | Error) => void;
}

/** Runs the work of requests: admits each request once, bounds its wait, and does what a failure leads to. */
export class Executor {
  private readonly timeout: number;
  private pending = 0;

  constructor(
    readonly database: Database,
    private readonly limits: Pick<Settings, 'STATEMENT_TIMEOUT' | 'MAX_WAITING'>,
    private readonly observers = new Observers(),
  ) {
    this.timeout = databaseTimeout(limits);
  }

  /**
   * Admits a request, which may wait for the database until the deadline, on the clock of `performance.now()`; rejects
   * at once if too many are pending, which would fill the memory. A request is pending until its work ends, even if it
   * rejects before. `maxWaiting` may exceed the setting, for what must not be rejected.
   */
  async admit<T>(
    work: (deadline: number) => Promise<T>,
    deadline = performance.now() + this.timeout,
    maxWaiting = this.limits.MAX_WAITING,
  ): Promise<T> {
    try {
      if (this.pending >= maxWaiting)
        throw new DatabaseUnavailable(`${maxWaiting} requests wait for the database already (MAX_WAITING).`);
      this.pending++;
      const running = work(deadline);
      const settled = () => void this.pending--;
      void running.then(settled, settled);
      return await withTimeout(deadline - performance.now(), running);
    } catch (error) {
      if (error instanceof DatabaseUnavailable) this.database.logFailure(error);
      throw error;
    }
  }

  /** Admits a request that shares its work with no other, and runs that; `deadline` and `maxWaiting` as for `admit`. */
  run<T>(
    kind: WorkKind,
    summary: string,
    work: (manager: EntityManager) => Promise<T>,
    deadline?: number,
    maxWaiting?: number,
  ): Promise<T> {
    const alone: SharedWork<undefined, T> = { kind, summary, run: async (manager) => [await work(manager)] };
    const run = (until: number) =>
      new Promise<T>((resolve, reject) => {
        const settle = (outcome: T | Error) => (outcome instanceof Error ? reject(outcome) : resolve(outcome));
        void this.perform(alone, [{ item: undefined, settle }], until);
      });
    return this.admit(run, deadline, maxWaiting);
  }

  /** Runs work for these requests until all are settled, each as soon as it can be: see `Failures`. */
  async perform<Item, Result>(
    work: SharedWork<Item, Result>,
    requests: readonly SharedRequest<Item, Result>[],
    deadline: number,
  ): Promise<void> {
    const items = requests.map(({ item }) => item);
    const failures = new Failures(this.database.dialect, work.kind);
    let consequence: Consequence | undefined;
    const attempts = async () => {
      while (true) {
        let hasBegun = false;
        const begin = (manager: EntityManager) => {
          hasBegun = true;
          return work.run(manager, items);
        };
        try {
          return await this.database.run(work.kind, begin, deadline);
        } catch (error) {
          consequence = failures.consequenceOf(error, hasBegun);
          if (consequence === 'split' || consequence === 'reject') throw error;
          if (consequence === 'give up' || performance.now() + consequence >= deadline)
            throw this.database.unavailable(error);
          await delay(consequence);
        }
      }
    };
    try {
      const outcomes = await this.observers.query(work.summary, attempts);
      for (const [i, { settle }] of requests.entries()) settle(outcomes[i] as Result | Error);
    } catch (error) {
      if (consequence !== 'split' || requests.length === 1)
        return requests.forEach(({ settle }) => settle(error as Error));
      const middle = requests.length >> 1;
      const halves = [requests.slice(0, middle), requests.slice(middle)];
      // In parallel: each half may wait for a lock.
      await Promise.all(halves.map((half) => this.perform(work, half, deadline)));
    }
  }
}
