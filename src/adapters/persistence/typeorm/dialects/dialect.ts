import { IDEMPOTENCY_KEY_LIFETIME, type PetQuery } from '../../../../application/pets/pet-repository.port.js';
import type { FailureRule } from './failure-rules.js';

/** Binds a parameter, in the order of the text, and returns its placeholder: `$1` on PostgreSQL, else `?`. */
export type BindParameter = (value: unknown) => string;

/** The values of a row, by the names of their columns. */
export type Row = Readonly<Record<string, unknown>>;

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
  /**
   * Why the role may not apply pending migrations, and who may let it; null if it may. Changes nothing, and rejects
   * with the error of the database if that says it better. Absent if `examine` tells.
   */
  migrationProblem?(query: <R>(statement: string) => Promise<R[]>): Promise<string | null>;
  /** Begins a transaction whose commit is durable. */
  readonly begin: string;
  /** Keeps other processes from migrating the schema until the transaction, or on MariaDB the connection, ends. */
  readonly lockMigrations: string;
  /** Selects as `text` who may hold the locks of the tables. */
  readonly lockHolder: string;
  /** Selects a `Finding` for each way in which the database, with its schema, should be configured otherwise. */
  readonly findings?: string;
  /** Selects as `count` about how many rows a table has; absent where counting them is quick. */
  estimate?(table: string): string;
  /** Selects as `text` how far the server is with a statement of a migration; absent if it does not know. */
  readonly statementProgress?: string;
  /** Selects as `last` the highest id that was generated for a table, that of a deleted row too. */
  lastId(table: string): string;
  /** Makes the next generated id of an empty table higher than this one, in the transaction. */
  continueIds(table: string, last: bigint): readonly string[];
  /** The present, by the clock of the database, in milliseconds since 1970. */
  readonly now: string;
  /**
   * Inserts pets, in this order, and returns the columns `CREATED` of a row for each: of the new one or, if its key is
   * stored already, of that one, changed by `replay`. On a server it commits by itself, durably, and inserts all or
   * none. A key that another transaction holds is waited for as long as the rest of a batch may wait.
   */
  insertPets(pets: readonly NewPetRow[], bind: BindParameter): string;
  /** Fails with `rowLocked` if another transaction holds this key. Absent if the error of the INSERT tells. */
  lockKey?(key: string, bind: BindParameter): string;
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

/** The INSERT of rows of the same columns; `computed` has further columns of a row, whose values are SQL. */
export function insertSql<R extends Row>(
  table: string,
  rows: readonly R[],
  bind: BindParameter,
  computed: (row: R) => Readonly<Record<string, string>> = () => ({}),
): string {
  const [first] = rows;
  const names = Object.keys(first ?? {});
  const values = rows.map((row) =>
    [...names.map((name) => bind(row[name])), ...Object.values(computed(row))].join(', '),
  );
  const columns = [...names, ...Object.keys(first ? computed(first) : {})].join(', ');
  return `INSERT INTO ${table} (${columns}) VALUES (${values.join('), (')})`;
}

/** The columns of a new pet, with their types on PostgreSQL. */
export const NEW_PET = { name: 'text', category_id: 'bigint', status: 'text' } as const;

/** The columns of a row that an INSERT of pets sends: the last two are null without an Idempotency-Key. */
export const NEW_ROW = { ...NEW_PET, request_key: 'text', fingerprint: 'text' } as const;

export type NewPetRow = Readonly<Record<keyof typeof NEW_ROW, unknown>>;

/** The columns that an INSERT of pets returns. `replays` is 0 for a row that it has created. */
export const CREATED = ['id', 'request_key', 'fingerprint', 'replays'] as const;

/** The assignments to a row whose key is sent again. A key whose lifetime is over is cleared, so that it is free. */
export function replay(stored: string, sent: (column: string) => string): string {
  const hasExpired = `${stored}.requested_at <= ${sent('requested_at')} - ${IDEMPOTENCY_KEY_LIFETIME}`;
  return `replays = ${stored}.replays + 1,
    request_key = CASE WHEN ${hasExpired} THEN NULL ELSE ${stored}.request_key END`;
}

/** What follows an INSERT of pets into the table `pet AS old`. */
export const ON_CONFLICT = `ON CONFLICT (request_key) WHERE request_key IS NOT NULL
  DO UPDATE SET ${replay('old', (column) => `excluded.${column}`)}`;
