import { QueryFailedError } from 'typeorm';
import { ClientError, DatabaseUnavailable, IdempotencyInProgress } from '../../../application/errors.js';
import type { WorkKind } from './database.js';
import type { Dialect } from './dialects/dialect.js';
import { failureOf, IdsSkipped, NotUsable, RowsDiscarded } from './failures.js';

/** How often a read is tried again after a connection has failed: others of the pool may fail too. */
const READ_RETRIES = 3;

/** How often work is tried again after ids were skipped: another instance that skips too may move the sequence back. */
const SKIPS = 3;

/** The errors that one of several items may have caused, after which nothing is stored. */
const FAULTS_OF_AN_ITEM = [QueryFailedError, ClientError, RowsDiscarded];

/**
 * A number: the same again after so many milliseconds. `give up`: all requests reject with `DatabaseUnavailable`.
 * `split`: each half again, on its own counts; a request alone rejects with the error. `reject`: all requests reject
 * with the error.
 */
export type Consequence = number | 'give up' | 'split' | 'reject';

/**
 * The failures of work, and what each leads to. Whatever is tried again ends at the deadline of its requests, where it
 * gives up.
 *
 * | What has failed                                            | What follows                                         |
 * | ---------------------------------------------------------- | ---------------------------------------------------- |
 * | a conflict with another transaction                        | again after 5 ms                                     |
 * | the wait for a row                                         | again after 50 ms                                    |
 * | ids had to be skipped                                      | again after 5 ms, three times; then `split`          |
 * | a server, before the first statement of the work           | again after 50 ms, then twice as long, at most 1 s   |
 * | … which the service cannot use (`NotUsable`)               | as the database, below                               |
 * | the database, in a read                                    | again after 50 ms, three times; then `give up`       |
 * | the database in a write, which may have been committed     | `give up`                                            |
 * | what only the operator can mend                            | `give up`                                            |
 * | a statement, for a fault that one item may have caused     | `split`                                              |
 * | … because another transaction holds an idempotency key     | `split`; the `Batcher` tries one again: `heldPause`  |
 * | a deadline or a pause: already a `DatabaseUnavailable`     | `reject`                                             |
 * | anything else, before the first statement of the work      | `give up`: it is no fault of a request               |
 * | anything else, later                                       | `reject`: something may have been stored             |
 */
export class Failures {
  private readonly counts = new Map<string, number>();

  constructor(
    private readonly dialect: Dialect,
    private readonly kind: WorkKind,
  ) {}

  /** `hasBegun` says whether the first statement of the work may have been sent. */
  consequenceOf(error: unknown, hasBegun: boolean): Consequence {
    if (error instanceof DatabaseUnavailable) return 'reject';
    if (error instanceof IdsSkipped) return this.count('skip') <= SKIPS ? 5 : 'split';
    switch (failureOf(this.dialect, error)) {
      case 'conflict':
        return 5;
      case 'rowLocked':
        return 50;
      case 'unavailable':
        if (this.dialect.isServer && !hasBegun && !(error instanceof NotUsable))
          return Math.min(25 * 2 ** this.count('connect'), 1_000);
        return this.kind === 'read' && this.count('read') <= READ_RETRIES ? 50 : 'give up';
      case 'misconfigured':
        return 'give up';
      default:
        if (!hasBegun) return 'give up';
        return FAULTS_OF_AN_ITEM.some((type) => error instanceof type) ? 'split' : 'reject';
    }
  }

  /** How often this has happened, this time included. */
  private count(what: string): number {
    const count = (this.counts.get(what) ?? 0) + 1;
    this.counts.set(what, count);
    return count;
  }
}

/** For how long a request whose idempotency key is in use is tried again, and after which pause. */
const HELD_TIMEOUT = 1_500;
const HELD_PAUSE = 50;

/** After how many milliseconds a request that first failed at `since` may be tried again; undefined if it may not. */
export function heldPause(outcome: unknown, since: number): number | undefined {
  return outcome instanceof IdempotencyInProgress && performance.now() <= since + HELD_TIMEOUT ? HELD_PAUSE : undefined;
}
