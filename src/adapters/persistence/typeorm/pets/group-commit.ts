import { setImmediate as immediate } from 'node:timers/promises';
import { StoreUnavailable } from '../../../../application/errors.js';

interface Waiting<Job, Result> {
  readonly job: Job;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** The most jobs that share a commit, so that the first of them does not wait for ever. */
const MAX_BATCH = 256;

/**
 * From how many jobs on half of them are committed first if the event loop is free meanwhile. Fewer take more of the processor so, and no less time:
 * behind a commit they wait for what the turn of the event loop brings besides. 32 clients on PostgreSQL add 4 to 9 % more pets so.
 */
const MANY = 20;

/**
 * Lets jobs that arrive while a commit is under way share the next one: the wait for the disk, by far the most of the cost of
 * a small write, is paid once for all of them: with 32 clients four to five times as many are added. A job alone waits for its own commit.
 *
 * If the event loop is free during a commit, as it is while a server writes, there is always one under way while jobs wait: many clients come to be
 * two halves, of which one is answered, and asks anew, while the jobs of the other are committed. On PostgreSQL 8 clients add a tenth more so, and
 * 32 a third.
 */
export class GroupCommit<Job, Result> {
  private waiting: Waiting<Job, Result>[] = [];
  private underWay = false;

  /** How many waited when the last commit was begun that no other one was under way before. */
  private lastCount = Infinity;

  /**
   * `commit` stores the jobs in one transaction and resolves to their results in the same order; a job that is refused by itself
   * has an error for its result, and the others are committed all the same. It rejects if it stored nothing, or with `StoreUnavailable` if that is
   * not known. `check` throws if a job is not to be committed any more. `isElsewhere` tells whether the event loop is free during a commit.
   */
  constructor(
    private readonly commit: (jobs: readonly Job[]) => Promise<(Result | Error)[]>,
    private readonly check: (job: Job) => void = () => undefined,
    private readonly isElsewhere = false,
  ) {}

  /** Resolves once the job is committed; rejects if it is refused or the commit fails. */
  add(job: Job): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ job, resolve, reject });
      if (this.underWay) return;
      this.underWay = true;
      void this.work();
    });
  }

  private async work(): Promise<void> {
    while (this.waiting.length > 0) {
      // Let the jobs come in of requests that arrive in this turn of the event loop: they are handled behind it.
      await immediate();
      // And in the next one, unless as many are here as the last time, who are all that there are: where readers make turns long, an eighth
      // more is added so. One alone tells nothing of others.
      if (this.waiting.length < Math.max(this.lastCount, 2)) await immediate();
      const count = (this.lastCount = this.waiting.length);
      let committing = this.settle(this.take(this.isElsewhere && count >= MANY ? count >> 1 : MAX_BATCH));
      for (;;) {
        const tell = await committing;
        if (this.isElsewhere && this.waiting.length < MANY) await immediate();
        const batch = this.isElsewhere ? this.take(MAX_BATCH) : [];
        if (batch.length === 0) {
          tell();
          break;
        }
        committing = this.settle(batch);
        // Behind the driver, which sends it first.
        process.nextTick(tell);
      }
    }
    this.underWay = false;
  }

  private take(most: number): Waiting<Job, Result>[] {
    return this.waiting.splice(0, most).filter((each) => this.isWanted(each));
  }

  private isWanted({ job, reject }: Waiting<Job, Result>): boolean {
    try {
      this.check(job);
      return true;
    } catch (error) {
      reject(error);
      return false;
    }
  }

  /**
   * Commits a batch, half by half if it is refused as a whole, so that none fails but the one that is at fault; as it is if the store cannot
   * answer, for nobody knows what it has done. Resolves to what tells those who wait.
   */
  private async settle(batch: readonly Waiting<Job, Result>[]): Promise<() => void> {
    if (batch.length === 0) return () => undefined;
    try {
      const results = await this.commit(batch.map(({ job }) => job));
      return () => {
        for (const [i, { resolve, reject }] of batch.entries()) {
          const result = results[i] as Result | Error;
          if (result instanceof Error) reject(result);
          else resolve(result);
        }
      };
    } catch (error) {
      if (batch.length > 1 && !(error instanceof StoreUnavailable)) {
        const half = batch.length >> 1;
        (await this.settle(batch.slice(0, half)))();
        return this.settle(batch.slice(half));
      }
      return () => {
        for (const { reject } of batch) reject(error);
      };
    }
  }
}
