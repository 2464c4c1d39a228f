import {
  EntityManager,
  QueryFailedError,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
} from 'typeorm';
import { DatabaseUnavailable } from '../../../application/errors.js';
import { UsageError } from '../../../messages/usage-error.js';
import { PersistentUrl, locationOf, ServerUrl } from '../../../settings/database-url.js';
import { DIALECTS, dialectOf } from './dialects/dialects.js';
import type { Dialect, Examination } from './dialects/dialect.js';
import { DEMANDS_TLS, DriverError, Failure, FailureRule, LACKS_TLS } from './dialects/failure-rules.js';

/** The service cannot use the server or the role; the message says what to change. */
export class NotUsable extends UsageError {}

/** A trigger or a rule has discarded rows of an INSERT. */
export class RowsDiscarded extends Error {}

/** The sequence of ids was moved past those of rows that had been inserted with their ids. */
export class IdsSkipped extends Error {}

/** Prepares a new connection; rejects with `NotUsable` if the service cannot use its server. */
export async function prepareConnection(manager: EntityManager): Promise<Examination> {
  const dialect = dialectOf(manager.dataSource);
  for (const statement of dialect.session ?? []) await manager.query(statement);
  const [found] = await manager.query<[Examination]>(dialect.examine);
  if (found.problem !== null) throw new NotUsable(found.problem);
  return found;
}

/** What stands for the statement in an error of connecting. */
const CONNECT = 'CONNECT';

/** Wraps an error of connecting as that of a statement, so that `failureOf` classifies it. */
export function asConnectFailure<T>(connection: Promise<T>): Promise<T> {
  return connection.catch((error: Error) => {
    throw new QueryFailedError(CONNECT, undefined, error);
  });
}

/** Errors besides those of the server. TypeORM releases the runner of a broken connection: another one may work. */
const UNAVAILABLE = [
  DatabaseUnavailable,
  NotUsable,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
];

/** Whether a server rejects a connection because it is encrypted, which it cannot be, or because it is not. */
export function isAboutEncryption(error: unknown, isEncrypted: boolean): boolean {
  const { driverError } = error as QueryFailedError<DriverError>;
  if (isEncrypted) return LACKS_TLS.test(driverError?.message);
  // MariaDB does not say that the account demands it.
  return DEMANDS_TLS.test(driverError?.message) || driverError?.errno === 1045;
}

/** What an error means; undefined if the statement is wrong, or the error is not the database's at all. */
export function failureOf(dialect: Dialect, error: unknown): Failure {
  if (UNAVAILABLE.some((kind) => error instanceof kind)) return 'unavailable';
  if (!(error instanceof QueryFailedError)) return undefined;
  const [, failure] = ruleOf(dialect, error as QueryFailedError<DriverError>) ?? [undefined, 'unavailable' as const];
  // No statement is wrong if there was none.
  return error.query === CONNECT ? (failure ?? 'unavailable') : failure;
}

/** Says which database has failed, what it has said and, if only its operator can mend that, what would be right. */
export function failureMessage(url: PersistentUrl, error: unknown): string {
  const failed = error instanceof QueryFailedError ? (error as QueryFailedError<DriverError>) : undefined;
  const advice = failed && ruleOf(DIALECTS[url.engine], failed)?.[2]?.(url as ServerUrl, failed);
  return `${url.name} (${locationOf(url)}): ${driverMessage(error)}${advice ? ` ${advice}` : ''}`;
}

/** What an error says, as a sentence; its code if it says nothing, as when several addresses were tried in vain. */
export function driverMessage(error: unknown): string {
  const { message, code } = ((error as QueryFailedError).driverError ?? error) as { message?: string; code?: string };
  const text = message || code || 'It gave no reason.';
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function ruleOf(dialect: Dialect, error: QueryFailedError<DriverError>): FailureRule | undefined {
  const { code, errno, sqlState, where, message } = error.driverError;
  // The message of another statement may contain what a client sent.
  const text = [code, errno, sqlState, where, error.query === CONNECT ? message : ''].join(' ');
  return dialect.failures.find(([codes]) => codes.test(text));
}
