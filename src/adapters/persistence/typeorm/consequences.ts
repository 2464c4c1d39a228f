import { QueryFailedError } from 'typeorm';
import { ClientError, DatabaseUnavailable, IdempotencyInProgress } from '../../../application/errors.js';
import type { WorkKind } from './database.js';
import type { Dialect } from './dialects/dialect.js';
import { failureOf, NotUsable, RowsDiscarded } from './failures.js';

/** How often a read is retried after a connection has failed: others of the pool may fail too. */
const READ_RETRIES = 3;

/** What follows a failure: the same again after so many milliseconds; or, for all items, each half, or the error. */
export type Consequence = number | 'unavailable' | 'split' | 'reject';

/** What was tried when it failed. */
export interface Situation {
  readonly dialect: Dialect;
  readonly kind: WorkKind;
  /** Whether the first statement may have been sent. */
  readonly hasBegun: boolean;
  /** Counted from 1. */
  readonly attempt: number;
}

/**
 * What a failure leads to. Whatever is tried again ends at the deadline of its requests, as `unavailable`.
 *
 * | What has failed                                             | What follows                                        |
 * | ----------------------------------------------------------- | --------------------------------------------------- |
 * | a conflict with another transaction; ids had to be skipped  | again after 5 ms                                    |
 * | the wait for a row                                          | again after 50 ms                                   |
 * | a server, before the first statement was sent               | again after 50 ms, then twice as long, at most 1 s  |
 * | the connection of a read                                    | again after 50 ms, three times                      |
 * | the database otherwise, or only its operator can mend it    | `unavailable`: a write may have been committed      |
 * | a statement, for a fault that one item may have caused      | `split`: each half alone, in the end each item      |
 * | … because another transaction holds an idempotency key      | `split`; the item that is left: `heldPause`         |
 * | the program, before its first statement                     | `unavailable`: no fault of a request                |
 * | the program, later                                          | `reject`: something may have been stored            |
 */
export function consequenceOf(error: unknown, { dialect, kind, hasBegun, attempt }: Situation): Consequence {
  if (error instanceof DatabaseUnavailable) return 'reject';
  switch (failureOf(dialect, error)) {
    case 'conflict':
      return 5;
    case 'rowLocked':
      return 50;
    case 'unavailable':
      if (dialect.isServer && !hasBegun && !(error instanceof NotUsable)) return Math.min(25 * 2 ** attempt, 1_000);
      return kind === 'read' && attempt <= READ_RETRIES ? 50 : 'unavailable';
    case 'misconfigured':
      return 'unavailable';
    default:
      if (!hasBegun) return 'unavailable';
      return FAULTS_OF_AN_ITEM.some((type) => error instanceof type) ? 'split' : 'reject';
  }
}

/** The errors that one item may have caused, after which nothing is stored. */
const FAULTS_OF_AN_ITEM = [QueryFailedError, ClientError, RowsDiscarded];

/** For how long a request whose idempotency key another transaction holds is tried again, and after which pause. */
const HELD_TIMEOUT = 1_500;
const HELD_PAUSE = 50;

/** After how many milliseconds a request may be tried again, `since` it met a held key; undefined if that is over. */
export function heldPause(outcome: unknown, since: number): number | undefined {
  return outcome instanceof IdempotencyInProgress && performance.now() <= since + HELD_TIMEOUT ? HELD_PAUSE : undefined;
}
