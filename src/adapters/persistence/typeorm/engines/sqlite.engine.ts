import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import Libsql from 'libsql';
import { DataSource, DataSourceOptions, QueryRunner } from 'typeorm';
import { fail, Finding, ok } from '../../../../application/finding.js';
import { isInt64 } from '../../../../domain/int64.js';
import { dataSourceOptions, entities } from '../data-source-options.js';
import { names, perTable, Row, Statement, Table } from '../table.js';
import { driverError, Engine, Failure, Script } from './engine.js';

/** What the result codes say that are no fault of the question (https://www.sqlite.org/rescode.html). */
const FAILURES = [
  [/^SQLITE_CONSTRAINT_(PRIMARYKEY|UNIQUE)/, 'duplicate'],
  [/^SQLITE_BUSY/, 'busy'],
  [/^SQLITE_(LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|PERM|AUTH|PROTOCOL)/, 'unavailable'],
] as const;

/** For how long at most to wait, in milliseconds, before looking whether two have closed the file at the same time. */
const CLOSE_PAUSE = 20;

/**
 * A connection whose writes ask for the lock before anything else, by a statement that is not kept. In libsql one that is kept and finds
 * the database locked stays under way until it is run again, and all that is read meanwhile is what was there when it began.
 */
class Connection extends Libsql {
  private readonly kept = new Map<string, Libsql.Statement<unknown[]>>();
  private readonly opened: string;
  private wasAstray = false;

  constructor(
    readonly file: string,
    options?: Libsql.Options,
  ) {
    super(file, options);
    try {
      this.begin();
      this.opened = identityOf(file);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Has what is written be on disk when a commit returns. */
  protected begin(): void {
    this.exec('PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL; SELECT 1 FROM sqlite_schema LIMIT 1');
  }

  /** Whether there is another file, or none, if this one was opened, or in the place of its log. */
  isAstray(): boolean {
    const isAstray = identityOf(this.file) !== this.opened;
    if (isAstray && !this.wasAstray) {
      try {
        // What was committed goes to the file, wherever that is now; a log with something in it would spoil the file in its place.
        this.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      } catch {
        // Somebody reads, or the disk is gone: there is nothing more to be done.
      }
    }
    this.wasAstray = isAstray;
    return isAstray;
  }

  /** The statement, prepared once. */
  keep(sql: string): Libsql.Statement<unknown[]> {
    let statement = this.kept.get(sql);
    if (!statement) {
      statement = this.prepare<unknown[]>(sql);
      // Not for the whole connection: TypeORM compares what the schema says of itself with numbers.
      statement.safeIntegers(true);
      if (statement.reader) statement.raw(true);
      this.kept.set(sql, statement);
    }
    return statement;
  }

  /** Has the statement be prepared anew if it is run again. */
  forget(sql: string): void {
    this.kept.delete(sql);
  }

  override close(): this {
    this.kept.clear();
    return super.close();
  }

  override prepare<Values extends unknown[] | object = unknown[]>(sql: string) {
    const prepared = super.prepare<Values>(sql);
    if (/^\s*(INSERT|UPDATE|DELETE)\b/i.test(sql)) {
      const statement = prepared as Libsql.Statement<unknown[]>;
      const [run, all] = [statement.run.bind(statement), statement.all.bind(statement)];
      statement.run = (...values) => this.write(() => run(...values));
      statement.all = (...values) => this.write(() => all(...values));
    }
    return prepared;
  }

  /** Does it in a transaction that may write, the one that is open or one of its own. */
  write<T>(work: () => T): T {
    // Asked once the connection is closed, libsql's `inTransaction` aborts the process.
    if (!this.open) throw new Error('The database connection is closed.');
    if (this.inTransaction) return work();
    this.refuseAstray();
    this.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.exec('COMMIT');
      // Nobody will find what went to a file that nobody finds.
      this.refuseAstray();
      return result;
    } catch (error) {
      if (this.open && this.inTransaction) this.exec('ROLLBACK');
      throw error;
    }
  }

  private refuseAstray(): void {
    // SQLite's own code for it, which it looks for with a rollback journal only.
    if (this.isAstray()) throw Object.assign(new Error('The file has moved.'), { code: 'SQLITE_READONLY_DBMOVED' });
  }
}

/** Rows to insert. */
interface Insertion extends Statement {
  readonly count: number;
  /** Asks for the highest id that the table has had, if it has any: the rows are given those that follow, as AUTOINCREMENT gives them. */
  readonly lastId?: Statement | undefined;
}

/** One statement for all of them takes half of the time that one for each does; without `RETURNING` a create is 2 to 8 % cheaper. */
const insertInto = perTable((table) => {
  const [id] = table.columns.filter(({ generated }) => generated);
  const values = table.given.map((_column, i) => `value ->> ${i}`);
  const [columns, selected] = id
    ? [
        [id, ...table.given],
        ['? + key', ...values],
      ]
    : [table.given, values];
  return {
    sql: `INSERT INTO ${table.name} (${names(columns)}) SELECT ${selected.join(', ')} FROM json_each(?)`,
    lastId: id && lastIdOf(table),
  };
});

/** Asks for the highest id that the table has had, 0 if none. What SQLite remembers of it somebody may have deleted. */
function lastIdOf({ name, key }: Table): Statement {
  return {
    sql: `SELECT coalesce(max(last), 0)
      FROM (SELECT seq AS last FROM sqlite_sequence WHERE name = ? UNION ALL SELECT max(${names(key)}) FROM ${name})`,
    values: [name],
  };
}

/** Tells a file, and the log beside it, from all others that ever come in their places while they are open. */
function identityOf(file: string): string {
  const identities = [file, `${file}-wal`].map((path) => {
    try {
      const { dev, ino } = statSync(path, { bigint: true });
      return `${dev}:${ino}`;
    } catch {
      return 'none';
    }
  });
  return identities.join();
}

/** A connection that is closed when it has been destroyed, and if it was the last one all is in the one file, with nothing beside it. */
class SqliteSource extends DataSource {
  override async destroy(): Promise<void> {
    const { databaseConnection: connection } = this.driver as unknown as { databaseConnection: Connection };
    const isAstray = connection.isAstray();
    await super.destroy();
    await collectGarbage();
    if (isAstray || !existsSync(`${connection.file}-wal`)) return;
    // Somebody else has it open; or closed it at the very same time, when each takes the other for one who stays.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * CLOSE_PAUSE));
    const last = new Libsql(connection.file);
    try {
      last.exec('SELECT 1 FROM sqlite_schema LIMIT 1');
    } catch {
      // It is locked by who is at work on it, and closes it in turn.
    } finally {
      last.close();
    }
  }
}

let collect: (() => void) | undefined;

/** Ends what nobody holds: a connection of libsql stays open for as long as one of its statements, which only the garbage collector ends. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  collect ??= runInNewContext('gc') as () => void;
  collect();
  // What was collected is finalised behind this turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
}

/**
 * A connection that only looks, and leaves no file behind: a file in WAL mode whose log is not there is opened as one that nobody changes.
 * (libsql takes no notice of `readonly`.)
 */
class Look extends Connection {
  constructor(file: string, options?: Libsql.Options) {
    super(`${pathToFileURL(file).href}?${existsSync(`${file}-wal`) ? 'mode=ro' : 'immutable=1'}`, options);
  }

  protected override begin(): void {
    this.exec('PRAGMA synchronous = FULL');
  }
}

/**
 * SQLite, embedded, in one file. All requests share its one connection, whose calls return when they are done: whatever must
 * not be seen half done is done in one of them, or in one turn of the event loop.
 */
export class SqliteEngine implements Engine {
  readonly dataSource: DataSource;
  readonly readSource: DataSource;
  readonly concurrentWriters = false;
  readonly writesInWith = false;
  readonly indexHint = (index: string) => `INDEXED BY ${index}`;
  private dataVersion: number | undefined;

  /** `looking` is for who changes nothing, the file not even by opening it. */
  constructor(
    private readonly file: string,
    looking = false,
  ) {
    this.dataSource = this.readSource = looking ? new DataSource(this.options(Look)) : this.schemaSource();
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a rejection, not an exception, if the driver throws
  async rows(statement: Statement): Promise<Row[]> {
    return this.all(statement);
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a rejection, not an exception, if the driver throws
  async row(statement: Statement): Promise<Row | undefined> {
    return this.first(statement);
  }

  write(statement: Statement): Promise<Row[]> {
    return this.rows(statement);
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- nothing may be read, written or rolled back in between
  async transaction<T>(script: () => Script<T>): Promise<T> {
    return this.connection.write(() => {
      const running = script();
      let step = running.next();
      while (!step.done) step = running.next(this.all(step.value));
      return step.value;
    });
  }

  insertion<Entity extends object>(table: Table<Entity>, entities: readonly Partial<Entity>[]): Insertion {
    const values = [JSON.stringify(entities.map((entity) => table.values(entity)))];
    return { ...insertInto(table), values, count: entities.length };
  }

  async lastId(table: Table): Promise<bigint> {
    const [last] = (await this.row(lastIdOf(table))) as [bigint];
    return last;
  }

  async continueIds({ name }: Table, above: bigint): Promise<void> {
    // SQLite keeps it above all that there are, and has a row of it once the table has had one.
    await this.write({
      sql: `INSERT INTO sqlite_sequence (name, seq) SELECT ?, 0
        WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?)`,
      values: [name, name],
    });
    await this.write({
      sql: 'UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?',
      values: [above, name],
    });
  }

  /** In UTF-8 or UTF-16, it has a place for every text. */
  async encoding(): Promise<Finding> {
    return ok('encoding', String(await this.value('PRAGMA encoding')));
  }

  async inspect(): Promise<Finding[]> {
    const synchronous = Number(await this.value('PRAGMA synchronous'));
    const journal = this.isInWal() ? 'journal_mode=wal' : 'journal_mode=delete, which the start makes wal';
    const durability = `${journal}, synchronous=${['OFF', 'NORMAL', 'FULL', 'EXTRA'][synchronous]}`;
    return [
      ok('version', `SQLite ${String(await this.value('SELECT sqlite_version()'))}`),
      synchronous >= 2
        ? ok('durability', durability)
        : fail('durability', `${durability}: a 201 is not on disk.`, 'synchronous must be FULL.'),
    ];
  }

  schemaSource(): DataSource {
    return new SqliteSource(this.options(Connection));
  }

  private options(driver: typeof Connection): DataSourceOptions {
    return {
      ...dataSourceOptions,
      // Only a column of this very type can be AUTOINCREMENT; it holds an int64 all the same.
      entities: entities('integer'),
      type: 'better-sqlite3',
      driver,
      database: this.file,
      // Never wait inside the driver, where the whole process would wait along.
      timeout: 0,
    };
  }

  async lockSchema(runner: QueryRunner): Promise<void> {
    // The first write of a transaction takes the lock, be it one that changes nothing.
    await runner.query('PRAGMA user_version = 0');
  }

  failure(error: unknown): Failure | undefined {
    const code = String(driverError(error).code);
    return FAILURES.find(([codes]) => codes.test(code))?.[1];
  }

  astray(): string | undefined {
    if (!this.connection.isAstray()) return undefined;
    return (
      `The file ${resolve(this.file)}, or its -wal, is not the one that was opened: it was deleted, moved or replaced below the service. ` +
      'Put it back, or stop the service, put the right one there and start it.'
    );
  }

  revision(): number {
    if (this.dataVersion === undefined) {
      this.dataVersion = Number((this.first({ sql: 'PRAGMA data_version', values: [] }) as [bigint])[0]);
      // One look serves what is handled together and runs on without a wait: all of that had arrived before.
      queueMicrotask(() => process.nextTick(() => (this.dataVersion = undefined)));
    }
    return this.dataVersion;
  }

  private async value(sql: string): Promise<unknown> {
    return (await this.row({ sql, values: [] }))?.[0];
  }

  /** What the head of the file says (https://www.sqlite.org/fileformat.html, section 1.3.3). */
  private isInWal(): boolean {
    const head = Buffer.alloc(20);
    const opened = openSync(this.file, 'r');
    readSync(opened, head);
    closeSync(opened);
    return head[18] === 2;
  }

  private all(statement: Statement): Row[] {
    const { sql, values } = statement;
    const prepared = this.connection.keep(sql);
    if (prepared.reader) return prepared.all(...values) as Row[];
    const { lastId, count = 0 }: Partial<Insertion> = statement;
    if (lastId) {
      return this.connection.write(() => {
        const [last] = this.first(lastId) as [bigint];
        if (!isInt64(last + BigInt(count))) throw Object.assign(new Error('No id is left.'), { code: 'SQLITE_FULL' });
        prepared.run(last + 1n, ...values);
        return Array.from({ length: count }, (_, i) => [last + BigInt(i + 1)]);
      });
    }
    prepared.run(...values);
    return [];
  }

  /** The first row; `get` costs half of what `all` does. */
  private first({ sql, values }: Statement): Row | undefined {
    try {
      return this.connection.keep(sql).get(values) as Row | undefined;
    } catch (error) {
      // After an error in `get`, libsql gives the same error for ever: the statement is prepared anew.
      this.connection.forget(sql);
      throw error;
    }
  }

  private get connection(): Connection {
    return (this.dataSource.driver as unknown as { databaseConnection: Connection }).databaseConnection;
  }
}
