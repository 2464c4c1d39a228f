import { DataSource, QueryRunner } from 'typeorm';
import type { Finding } from '../../../../application/finding.js';
import { Row, Statement, Table, Walk } from '../table.js';

/** Statements that depend on each other: each is answered with its rows before the next one is made. */
export type Script<T> = Generator<Statement, T, Row[]>;

/** Why the database has not done what it was asked. */
export type Failure =
  /** It cannot answer now. */
  | 'unavailable'
  /** The connection was lost, or there was none: whether it has done what it was asked is not known. */
  | 'lost'
  /** It cannot now, because another transaction was in the way: the same question will do in a moment. */
  | 'busy'
  /** It cannot now, because a row of another transaction was waited for in vain. */
  | 'locked'
  /** A row with the same key is there, or a table, column or index of the same name. */
  | 'duplicate';

/** What a pool is for. */
export const POOLS = ['read', 'write'] as const;

/** How many connections of a pool are lent and how many are not, and how many questions wait for one. */
export interface PoolState {
  readonly pool: (typeof POOLS)[number];
  readonly used: number;
  readonly idle: number;
  readonly waiting: number;
}

/** What the server that is used says of itself. */
export interface ServerState {
  /** Whether it takes what is written. */
  readonly role: 'primary' | 'standby';
  /** Those that follow it and tell it how far they are; none if it cannot tell. */
  readonly standbys: readonly StandbyState[];
}

/** How far a standby is behind its primary. */
export interface StandbyState {
  /** What it calls itself; several may have one name. */
  readonly name: string;
  /** Its IP address; empty if it is on the same machine, by a socket. */
  readonly address: string;
  /** How long ago what it has applied last was written, in seconds, as was last measured. */
  readonly seconds: number;
  /** How much of what was written it has not applied, in bytes. */
  readonly bytes: number;
}

/** The longest walk that others may share a statement with, in rows. */
export const LONGEST_SHARED = 128;

/** The statements that ask for many at a time what costs a round trip each. Their rows come in any order. */
export interface Together {
  /** Selects the rows with these values of the primary key. */
  find(table: Table, ids: readonly bigint[]): Statement;

  /**
   * Selects the rows of walks of at most `LONGEST_SHARED` rows, all of them with the same property in `where`, or none, and each by its index,
   * whatever the planner makes of the data. Behind the columns of a row is the place of its walk, from 0 on.
   */
  walkDown<Entity extends object>(table: Table<Entity>, walks: readonly Walk<Entity>[]): Statement;
}

/** What is said in another way on each kind of database; it knows no table by name. Errors are the driver's own. */
export interface Engine {
  /** The connections for what writes. */
  readonly dataSource: DataSource;

  /** Those for what only reads, which no writer can take; the same ones if there can be but one. */
  readonly readSource: DataSource;

  /** Whether others may write while a transaction does, so that it may have to wait for theirs; if not, nothing waits in a transaction. */
  readonly concurrentWriters: boolean;

  /** Whether a `WITH` can write, so that one statement can fill two tables. */
  readonly writesInWith: boolean;

  /** Says which index to walk, behind the name of a table; absent if that cannot be said. */
  readonly indexHint?: (index: string) => string;

  /** How reads share a round trip; absent if there is none to share. */
  readonly together?: Together;

  /** Runs one statement that only reads, prepared once and kept, and resolves to its rows. */
  rows(statement: Statement): Promise<Row[]>;

  /** The same for a statement that finds one row at most. */
  row(statement: Statement): Promise<Row | undefined>;

  /** Runs one statement that writes, prepared once and kept, and resolves to the rows that it returns. */
  write(statement: Statement): Promise<Row[]>;

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

  /** Finds out which server to connect to; rejects with the driver's error if there is none. Absent if there is but one place. */
  locate?(): Promise<void>;

  /** A connection of its own, not opened yet, for work on the schema: without time limits. */
  schemaSource(): DataSource;

  /**
   * Keeps all others from changing the schema until the runner's transaction and connection have ended; of a cluster whose nodes all take writes, those on
   * the same node, while the others find it `duplicate` or `busy` if they do the same.
   */
  lockSchema(runner: QueryRunner): Promise<void>;

  /** What the error says; undefined if it is a fault of the question, or not the database's at all. */
  failure(error: unknown): Failure | undefined;

  /** What is wrong, and what would be right, if the database is no longer the one that was opened, or not its primary; absent if the driver would tell. */
  astray?(): string | undefined | Promise<string | undefined>;

  /** Its pools as they are now, while it is connected; absent if there are none. */
  pools?(): PoolState[];

  /** From now on calls `tell` with how long each question has waited for its connection, in milliseconds; absent if there are no pools. */
  tellWaits?(tell: (pool: PoolState['pool'], duration: number) => void): void;

  /** Asks the server that is used, on a connection apart; rejects if it does not answer in some seconds. Absent if there is no server. */
  serverState?(): Promise<ServerState>;

  /** A number that is a new one after every commit of any other process; absent if nothing tells of them. */
  revision?(): number;
}

/** How many connections of a pool are for what writes, and how many for what only reads: half of them each, and one at least. */
export function shares(pool: number): { readonly writers: number; readonly readers: number } {
  const writers = Math.max(1, Math.floor(pool / 2));
  return { writers, readers: Math.max(1, pool - writers) };
}

/** Opens the connections of an engine. */
export async function connect(engine: Engine): Promise<void> {
  const { dataSource, readSource } = engine;
  if (!dataSource.isInitialized) await engine.locate?.();
  for (const source of new Set([dataSource, readSource])) if (!source.isInitialized) await source.initialize();
}

/** Closes those that are open. */
export async function disconnect({ dataSource, readSource }: Engine): Promise<void> {
  for (const source of new Set([readSource, dataSource])) if (source.isInitialized) await source.destroy();
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

/** Whether what the error says may be that the server is not the primary any more. */
export function isOfServer(failure: Failure | undefined): boolean {
  return failure === 'lost' || failure === 'unavailable';
}

/** The driver's error, out of TypeORM's. */
export function driverError(
  error: unknown,
): Partial<Record<'code' | 'errno' | 'fatal' | 'message' | 'where', unknown>> {
  return (error as { driverError?: object } | undefined)?.driverError ?? error ?? {};
}
