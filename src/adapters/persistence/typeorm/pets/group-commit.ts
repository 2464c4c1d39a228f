import { StoreUnavailable } from '../../../../application/errors.js';

interface Waiting<Job, Result> {
  readonly job: Job;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** The most jobs that share a commit, so that the first of them does not wait for ever. */
const MAX_BATCH = 256;

/**
 * Lets jobs that arrive while a commit is under way share the next one: the wait for the disk, by far the most of the cost of
 * a small write, is paid once for all of them: with 32 clients four to five times as many are added. A job alone waits for its own commit.
 */
export class GroupCommit<Job, Result> {
  private waiting: Waiting<Job, Result>[] = [];
  private underWay = false;

  /**
   * `commit` stores the jobs in one transaction and resolves to their results in the same order; a job that is refused by itself
   * has an error for its result, and the others are committed all the same. `check` throws if a job is not to be committed any more.
   */
  constructor(
    private readonly commit: (jobs: readonly Job[]) => Promise<(Result | Error)[]>,
    private readonly check: (job: Job) => void = () => undefined,
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
      // Let the jobs come in of requests that arrive in this turn of the event loop or the next one: they are handled behind their turn.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      await this.settle(this.waiting.splice(0, MAX_BATCH).filter((each) => this.isWanted(each)));
    }
    this.underWay = false;
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

  /** Commits a batch; half by half if it is refused as a whole, so that none fails but the one that is at fault. */
  private async settle(batch: readonly Waiting<Job, Result>[]): Promise<void> {
    if (batch.length === 0) return;
    try {
      const results = await this.commit(batch.map(({ job }) => job));
      for (const [i, { resolve, reject }] of batch.entries()) {
        const result = results[i] as Result | Error;
        if (result instanceof Error) reject(result);
        else resolve(result);
      }
    } catch (error) {
      const unavailable = error instanceof StoreUnavailable;
      if (batch.length > 1 && !unavailable) {
        const half = batch.length >> 1;
        await this.settle(batch.slice(0, half));
        return this.settle(batch.slice(half));
      }
      // What waits behind a store that cannot answer would wait for it once more, and in vain.
      for (const { reject } of [...batch, ...(unavailable ? this.waiting.splice(0) : [])]) reject(error);
    }
  }
}
