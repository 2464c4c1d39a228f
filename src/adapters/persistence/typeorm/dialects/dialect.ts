import type { QueryFailedError } from 'typeorm';
import { PetQuery } from '../../../../application/pets/pet-repository.port.js';
import type { ServerUrl } from '../../database-url.js';

/** Binds a parameter, in the order of the text, and returns its placeholder: `$1` on PostgreSQL, else `?`. */
export type BindParameter = (value: unknown) => string;

/** The values of a row, by the names of their columns. */
export type Row = Readonly<Record<string, unknown>>;

/** The columns of a new pet, with their types on PostgreSQL. */
export const NEW_PET = { name: 'text', category_id: 'bigint', status: 'text' } as const;

/** The advice if a table does not exist. */
export const MISSING_TABLE_ADVICE =
  'Restore a backup, or let "petstore migrate" create the tables in an empty database.';

/** What an error of a database means; undefined if the statement is wrong. */
export type Failure =
  /** It cannot be reached, or cannot execute the statement now. Whether the statement was executed is unknown. */
  | 'unavailable'
  /** Only its operator can mend it. */
  | 'misconfigured'
  /** A deadlock, a serialization failure, a busy file or a lock held for a moment: a retry may succeed. */
  | 'conflict'
  /** The wait for the lock of an idempotency key timed out. MariaDB reports that of any lock with the same error. */
  | 'rowLocked'
  /** A row with the same unique value exists. */
  | 'duplicate'
  | undefined;

/** The error of a driver, as far as it tells what went wrong. */
export type DriverError = Error & Partial<Record<'code' | 'errno' | 'sqlState' | 'where', unknown>>;

/**
 * Matches errors by the text `code errno sqlState where`, whose missing parts are empty; says what they mean and, if
 * only the operator can mend it, what would be right, as a sentence.
 */
export type FailureRule = readonly [
  codes: RegExp,
  failure: Failure,
  advice?: (url: ServerUrl, error: QueryFailedError<DriverError>) => string,
];

/** What a database is, and whether the service can use it. */
export interface Examination {
  readonly version: string;
  /** Why it cannot store every name exactly and durably, and what would be right; null if it can. */
  readonly problem: string | null;
}

/** What differs between the databases: the hot statements, and everything that SQL does not standardise. */
export interface Dialect {
  /** Whether it has several connections, on which several transactions can write at the same time. */
  readonly isServer: boolean;
  /** Prepares a new connection. */
  readonly session?: readonly string[];
  /** Selects an `Examination`. */
  readonly examine: string;
  /** Statements that change nothing, and fail without a right that requests need; absent if `examine` tells. */
  rights?(table: string, columns: string): readonly string[];
  /** Begins a transaction whose commit is durable. */
  readonly begin: string;
  /** Keeps other processes from migrating the schema until the transaction, or on MariaDB the connection, ends. */
  readonly lockSchema: string;
  /** Selects as `text` who may hold the locks of the tables. */
  readonly lockHolder: string;
  /** Selects a `Finding` for each way in which the database, with its schema, should be configured otherwise. */
  readonly findings?: string;
  /** Selects as `last` the highest id that was generated for a table, that of a deleted row too. */
  lastId(table: string): string;
  /** Makes the next generated id of an empty table higher than this one, in the transaction. */
  continueIds(table: string, last: bigint): readonly string[];
  /** Inserts pets and returns their `id`s. On a server it commits by itself, durably; it inserts all or none. */
  insertPets(pets: readonly Row[], bind: BindParameter): string;
  /**
   * Inserts pets with different idempotency keys, a row of both each, and returns a `KeyRow` for each: a key that was
   * stored within its lifetime stays, without another pet. It commits by itself, durably. Absent if that takes the
   * three statements of a transaction: `claimKeys`, `insertPets`, and an INSERT of keys with `replaceKeys`.
   */
  insertOnce?(rows: readonly Row[], bind: BindParameter): string;
  /** Returns those of the keys that are stored, and keeps others from storing them until the transaction ends. */
  claimKeys?(keys: readonly Row[], bind: BindParameter): string;
  /** What follows the INSERT of claimed keys, to replace those that were stored. */
  readonly replaceKeys?: string;
  /** Ends an INSERT of a stored key, listed twice: writes it, unchanged. Absent if every visible commit is durable. */
  readonly rewriteKey?: string;
  /** Precedes a DELETE that locks more rows than it deletes, so that it waits for none of them. */
  readonly withoutWait?: string;
  /** Advances the sequence past the highest id; absent where a row that is inserted with its id does that. */
  readonly skipIds?: string;
  /** The condition that a pet has one of these ids. */
  hasId(ids: readonly bigint[], bind: BindParameter): string;
  /** Selects these columns of a list, always by one walk along an index. */
  list(columns: string, query: PetQuery, bind: BindParameter): string;
  /** The same for several lists, with the index of its list as `place` of each row. Absent if that is slower. */
  lists?(columns: string, queries: readonly PetQuery[], bind: BindParameter): string;
  /** What the codes of errors mean, by the first rule that matches; without one, the database is unavailable. */
  readonly failures: readonly FailureRule[];
  /**
   * Closes a connection that is broken, or busy with a statement that timed out. Absent for SQLite, whose
   * two connections must stay open.
   */
  readonly discard?: (connection: unknown) => void;
  /** A function whose result changes after each commit on any other connection; absent if that takes a round trip. */
  versionOf?(connection: unknown): () => number;
}

/** The INSERT of rows of the same columns. */
export function insert(table: string, rows: readonly Row[], bind: BindParameter): string {
  const names = Object.keys(rows[0] ?? {});
  const values = rows.map((row) => `(${names.map((name) => bind(row[name])).join(', ')})`);
  return `INSERT INTO ${table} (${names.join(', ')}) VALUES ${values.join(', ')}`;
}
