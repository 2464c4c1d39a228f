import { DataSource, QueryRunner } from 'typeorm';
import type { Finding } from '../../../../application/finding.js';
import { Row, Statement, Table } from '../table.js';

/** Statements that depend on each other: each is answered with its rows before the next one is made. */
export type Script<T> = Generator<Statement, T, Row[]>;

/** Why the database has not done what it was asked. */
export type Failure =
  /** It cannot answer now. */
  | 'unavailable'
  /** It cannot now, because another transaction was in the way: the same question will do in a moment. */
  | 'busy'
  /** It cannot now, because a row of another transaction was waited for in vain. */
  | 'locked'
  /** A row with the same key is there. */
  | 'duplicate';

/** What is said in another way on each kind of database; it knows no table by name. Errors are the driver's own. */
export interface Engine {
  /** The connections of the service. */
  readonly dataSource: DataSource;

  /** Whether others may write while a transaction does, so that it may have to wait for theirs; if not, nothing waits in a transaction. */
  readonly concurrentWriters: boolean;

  /** Whether a `WITH` can write, so that one statement can fill two tables. */
  readonly writesInWith: boolean;

  /** Says which index to walk, behind the name of a table; absent if that cannot be said. */
  readonly indexHint?: (index: string) => string;

  /** Runs one statement, prepared once and kept, and resolves to its rows. */
  rows(statement: Statement): Promise<Row[]>;

  /** The same for a statement that finds one row at most. */
  row(statement: Statement): Promise<Row | undefined>;

  /** Runs the statements of a script in one transaction, and resolves to what it returns once that is on disk; stores nothing if one fails. */
  transaction<T>(script: () => Script<T>): Promise<T>;

  /** Inserts the entities. If the database generates their ids, its rows are these: in any order, but the ids increase in that of the entities. */
  insertion<Entity extends object>(table: Table<Entity>, entities: readonly Partial<Entity>[]): Statement;

  /** The highest id that the database has generated for the table, of rows that are gone too; 0 for none. */
  lastId(table: Table): Promise<bigint>;

  /** Has the ids that follow be above this one and all that there are, after rows were inserted with ids. */
  continueIds(table: Table, above: bigint): Promise<void>;

  /** Whether the database can hold every text exactly. If not, no start goes on. */
  encoding(): Promise<Finding>;

  /** What else of the database decides whether the service can work with it, and keep what it promises. */
  inspect(): Promise<Finding[]>;

  /** A connection of its own, not opened yet, for work on the schema: without time limits. */
  schemaSource(): DataSource;

  /** Keeps all others from changing the schema until the runner's transaction and connection have ended. */
  lockSchema(runner: QueryRunner): Promise<void>;

  /** What the error says; undefined if it is a fault of the question, or not the database's at all. */
  failure(error: unknown): Failure | undefined;

  /** What is wrong, and what would be right, if the database is no longer the one that was opened; absent if the driver would tell. */
  astray?(): string | undefined;

  /** A number that is a new one after every commit of any other process; absent if nothing tells of them. */
  revision?(): number;
}

/** Runs a script, statement after statement, if each answer has to be waited for. */
export async function runScript<T>(script: Script<T>, rows: (statement: Statement) => Promise<Row[]>): Promise<T> {
  let step = script.next();
  while (!step.done) step = script.next(await rows(step.value));
  return step.value;
}

/** Whether the database cannot answer now: all say so but a duplicate. */
export function isUnavailable(failure: Failure | undefined): boolean {
  return failure !== undefined && failure !== 'duplicate';
}

/** The driver's error, out of TypeORM's. */
export function driverError(
  error: unknown,
): Partial<Record<'code' | 'errno' | 'fatal' | 'message' | 'where', unknown>> {
  return (error as { driverError?: object } | undefined)?.driverError ?? error ?? {};
}
