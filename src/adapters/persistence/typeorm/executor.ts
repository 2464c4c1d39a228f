import { setTimeout as delay } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import { DatabaseUnavailable } from '../../../application/errors.js';
import type { Settings } from '../../../settings/settings.js';
import { Observers } from '../../observability/observers.js';
import { databaseTimeout, withTimeout } from '../timeout.js';
import { type Consequence, consequenceOf } from './consequences.js';
import type { Database, WorkKind } from './database.js';

/** Work that several requests can share: each has an item, and gets the result in the same place. */
export interface Unit<Item, Result> {
  readonly kind: WorkKind;
  /** The operation and the table, such as `SELECT pet`, for the observers. */
  readonly summary: string;
  /**
   * Resolves to the results in the order of the items; an Error in the place of a result fails its item alone. If it
   * rejects with an error that one of several items may have caused, it has changed nothing. `attempt` counts from 1.
   */
  readonly run: (
    manager: EntityManager,
    items: readonly Item[],
    attempt: number,
  ) => Promise<readonly (Result | Error)[]>;
}

/** A request that shares its work with others. */
export interface Sharing<Item, Result> {
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
   * at once if too many are pending, which would fill the memory.
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

  /** Admits a request that shares its work with no other, and runs that. */
  run<T>(kind: WorkKind, summary: string, work: (manager: EntityManager) => Promise<T>, deadline?: number): Promise<T> {
    return this.admit((until) => this.runAlone(kind, summary, work, until), deadline);
  }

  /** Runs work of a request that has been admitted. */
  runAlone<T>(
    kind: WorkKind,
    summary: string,
    work: (manager: EntityManager) => Promise<T>,
    deadline: number,
  ): Promise<T> {
    const unit: Unit<undefined, T> = { kind, summary, run: async (manager) => [await work(manager)] };
    return new Promise((resolve, reject) => {
      const settle = (outcome: T | Error) => (outcome instanceof Error ? reject(outcome) : resolve(outcome));
      void this.perform(unit, [{ item: undefined, settle }], deadline);
    });
  }

  /** Runs a unit for these requests until all are settled, each as soon as it can be: see `consequenceOf`. */
  async perform<Item, Result>(
    unit: Unit<Item, Result>,
    requests: readonly Sharing<Item, Result>[],
    deadline: number,
  ): Promise<void> {
    const items = requests.map(({ item }) => item);
    let consequence: Consequence | undefined;
    const attempts = async () => {
      for (let attempt = 1; ; attempt++) {
        let hasBegun = false;
        const work = (manager: EntityManager) => {
          hasBegun = true;
          return unit.run(manager, items, attempt);
        };
        try {
          return await this.database.run(unit.kind, work, deadline);
        } catch (error) {
          const { dialect } = this.database;
          consequence = consequenceOf(error, { dialect, kind: unit.kind, hasBegun, attempt });
          if (consequence === 'split' || consequence === 'reject') throw error;
          if (consequence === 'unavailable' || performance.now() + consequence >= deadline)
            throw this.database.unavailable(error);
          await delay(consequence);
        }
      }
    };
    try {
      const outcomes = await this.observers.query(unit.summary, attempts);
      for (const [i, { settle }] of requests.entries()) settle(outcomes[i] as Result | Error);
    } catch (error) {
      if (consequence !== 'split' || requests.length === 1)
        return requests.forEach(({ settle }) => settle(error as Error));
      const middle = requests.length >> 1;
      const halves = [requests.slice(0, middle), requests.slice(middle)];
      // In parallel: each half may wait for a lock.
      await Promise.all(halves.map((half) => this.perform(unit, half, deadline)));
    }
  }
}
