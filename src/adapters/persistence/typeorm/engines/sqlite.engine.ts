import Libsql from 'libsql';
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { DataSource, QueryRunner } from 'typeorm';
import { fail, Finding, ok } from '../../../../application/finding.js';
import { dataSourceOptions, entities } from '../data-source-options.js';
import { names, Row, Statement, Table } from '../table.js';
import { driverError, Engine, Failure, Script } from './engine.js';

/** What the result codes say that are no fault of the question (https://www.sqlite.org/rescode.html). */
const FAILURES = [
  [/^SQLITE_CONSTRAINT_(PRIMARYKEY|UNIQUE)/, 'duplicate'],
  [/^SQLITE_BUSY/, 'busy'],
  [/^SQLITE_(LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|PERM|AUTH|PROTOCOL)/, 'unavailable'],
] as const;

/**
 * A connection whose writes ask for the lock before anything else, by a statement that is not kept. In libsql one that is kept and finds
 * the database locked stays under way until it is run again, and all that is read meanwhile is what was there when it began.
 */
class Connection extends Libsql {
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
    if (this.inTransaction) return work();
    this.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.exec('COMMIT');
      return result;
    } catch (error) {
      if (this.inTransaction) this.exec('ROLLBACK');
      throw error;
    }
  }
}

/**
 * A connection that only looks, and leaves no file behind: a file in WAL mode whose log is not there is opened as one that nobody changes.
 * (libsql takes no notice of `readonly`.)
 */
class Look extends Connection {
  constructor(file: string, options?: Libsql.Options) {
    super(`${pathToFileURL(file).href}?${existsSync(`${file}-wal`) ? 'mode=ro' : 'immutable=1'}`, options);
  }
}

/**
 * SQLite, embedded, in one file. All requests share its one connection, whose calls return when they are done: whatever must
 * not be seen half done is done in one of them, or in one turn of the event loop.
 */
export class SqliteEngine implements Engine {
  readonly dataSource: DataSource;
  readonly concurrentWriters = false;
  readonly writesInWith = false;
  readonly indexHint = (index: string) => `INDEXED BY ${index}`;
  private dataVersion: number | undefined;
  private readonly statements = new Map<string, Libsql.Statement<unknown[]>>();

  /** `looking` is for who changes nothing, the file not even by opening it. */
  constructor(
    private readonly file: string,
    looking = false,
  ) {
    this.dataSource = looking ? this.source(Look, false) : this.schemaSource();
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a rejection, not an exception, if the driver throws
  async rows(statement: Statement): Promise<Row[]> {
    return this.all(statement);
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a rejection, not an exception, if the driver throws
  async row(statement: Statement): Promise<Row | undefined> {
    return this.first(statement);
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

  /** One statement for all of them takes half of the time that one for each does. */
  insertion<Entity extends object>(table: Table<Entity>, entities: readonly Partial<Entity>[]): Statement {
    const values = table.given.map((_column, i) => `value ->> ${i}`);
    return {
      sql: `INSERT INTO ${table.name} (${names(table.given)})
        SELECT ${values.join(', ')} FROM json_each(?) ORDER BY key RETURNING ${names(table.key)}`,
      values: [JSON.stringify(entities.map((entity) => table.values(entity)))],
    };
  }

  async lastId({ name }: Table): Promise<bigint> {
    const [last] = (await this.row({ sql: 'SELECT max(seq) FROM sqlite_sequence WHERE name = ?', values: [name] })) as [
      bigint | null,
    ];
    return last ?? 0n;
  }

  async continueIds({ name }: Table, above: bigint): Promise<void> {
    // SQLite keeps it above all that there are, and has a row of it once the table has had one.
    await this.rows({
      sql: `INSERT INTO sqlite_sequence (name, seq) SELECT ?, 0
        WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?)`,
      values: [name, name],
    });
    await this.rows({
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
    return this.source(Connection, true);
  }

  private source(driver: typeof Connection | typeof Look, enableWAL: boolean): DataSource {
    return new DataSource({
      ...dataSourceOptions,
      // Only a column of this very type can be AUTOINCREMENT; it holds an int64 all the same.
      entities: entities('integer'),
      type: 'better-sqlite3',
      driver,
      database: this.file,
      enableWAL,
      // Never wait inside the driver, where the whole process would wait along.
      timeout: 0,
      prepareDatabase: (connection: Libsql.Database) => void connection.pragma('synchronous = FULL'),
    });
  }

  async lockSchema(runner: QueryRunner): Promise<void> {
    // The first write of a transaction takes the lock, be it one that changes nothing.
    await runner.query('PRAGMA user_version = 0');
  }

  failure(error: unknown): Failure | undefined {
    const code = String(driverError(error).code);
    return FAILURES.find(([codes]) => codes.test(code))?.[1];
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

  private all({ sql, values }: Statement): Row[] {
    const statement = this.prepared(sql);
    if (statement.reader) return statement.all(...values) as Row[];
    statement.run(...values);
    return [];
  }

  /** The first row; `get` costs half of what `all` does. */
  private first({ sql, values }: Statement): Row | undefined {
    try {
      return this.prepared(sql).get(values) as Row | undefined;
    } catch (error) {
      // After an error in `get`, libsql gives the same error for ever: the statement is prepared anew.
      this.statements.delete(sql);
      throw error;
    }
  }

  private get connection(): Connection {
    return (this.dataSource.driver as unknown as { databaseConnection: Connection }).databaseConnection;
  }

  private prepared(sql: string): Libsql.Statement<unknown[]> {
    let statement = this.statements.get(sql);
    if (!statement) {
      statement = this.connection.prepare(sql);
      // Not for the whole connection: TypeORM compares what the schema says of itself with numbers.
      statement.safeIntegers(true);
      if (statement.reader) statement.raw(true);
      this.statements.set(sql, statement);
    }
    return statement;
  }
}
