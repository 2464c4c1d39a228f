import Libsql from 'libsql';
import { DataSource, QueryRunner } from 'typeorm';
import { Added, MARK_LIFETIME } from '../../../../application/pets/pet-repository.port.js';
import { NewPet } from '../../../../domain/pets/pet.js';
import { dataSourceOptions, entities } from '../data-source-options.js';
import { Row } from '../rows.js';
import { Addition, driverError, Engine, FIND_MARK, ListStatements, replay, SELECT_PET } from './engine.js';

const LISTS: ListStatements = {
  all: `${SELECT_PET} ORDER BY id DESC LIMIT ?`,
  allBelow: `${SELECT_PET} WHERE id < ? ORDER BY id DESC LIMIT ?`,
  ofStatus: `${SELECT_PET} INDEXED BY pet_status_id WHERE status = ? ORDER BY id DESC LIMIT ?`,
  ofStatusBelow: `${SELECT_PET} INDEXED BY pet_status_id WHERE status = ? AND id < ? ORDER BY id DESC LIMIT ?`,
};

/**
 * Adds the animals of a JSON array, each an array of its values, with ids that increase in their order. One statement for all of a
 * commit takes half of the time that one for each of them does.
 */
const INSERT_PETS = `INSERT INTO pet (name, category_id, status)
  SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) ORDER BY key RETURNING id`;

const KEEP_MARK =
  'INSERT OR REPLACE INTO idempotency_key (scope, token, fingerprint, pet_id, created_at) VALUES (?, ?, ?, ?, ?)';

const FORGET_MARKS = `DELETE FROM idempotency_key
  WHERE rowid IN (SELECT rowid FROM idempotency_key WHERE created_at < ? ORDER BY created_at LIMIT ?)`;

/** Result codes that say that the file cannot be used now (https://www.sqlite.org/rescode.html). */
const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|PERM|AUTH|PROTOCOL)/;

/**
 * A connection whose writes ask for the lock before anything else, by a statement that is not kept. In libsql one that is kept and finds
 * the database locked stays under way until it is run again, and all that is read meanwhile is what was there when it began.
 */
class Connection extends Libsql {
  override prepare<Values extends unknown[] | object = unknown[]>(sql: string) {
    const prepared = super.prepare<Values>(sql);
    if (/^\s*(INSERT|UPDATE|DELETE)\b/i.test(sql)) {
      const statement = prepared as Libsql.Statement<unknown[]>;
      const run = statement.run.bind(statement);
      statement.run = (...values) => (this.inTransaction ? run(...values) : this.write(() => run(...values)));
    }
    return prepared;
  }

  /** Does it in a transaction that may write. */
  write<T>(work: () => T): T {
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
 * SQLite, embedded, in one file. All requests share its one connection, whose calls return when they are done: whatever must
 * not be seen half done is done in one of them, or in one turn of the event loop.
 */
export class SqliteEngine implements Engine {
  readonly dataSource: DataSource;
  private dataVersion: number | undefined;
  readonly lists = LISTS;
  readonly twinsWait = false;
  private readonly statements = new Map<string, Libsql.Statement<unknown[]>>();

  constructor(private readonly file: string) {
    this.dataSource = this.schemaSource();
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a rejection, not an exception, where the driver throws
  async rows(sql: string, values: readonly unknown[]): Promise<Row[]> {
    const statement = this.statement(sql);
    if (statement.reader) return statement.all(...values) as Row[];
    statement.run(...values);
    return [];
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a rejection, not an exception, where the driver throws
  async row(sql: string, values: readonly unknown[]): Promise<Row | undefined> {
    return this.first(sql, values);
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- nothing may be read, written or rolled back in between
  async addPets(additions: readonly Addition[]): Promise<(Added | Error)[]> {
    return this.connection.write(() =>
      additions.some(({ once }) => once)
        ? additions.map((addition) => this.addOne(addition))
        : this.addAll(additions.map(({ pet }) => pet)),
    );
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a rejection, not an exception, where the driver throws
  async forgetMarks(before: string, most: number): Promise<number> {
    return this.statement(FORGET_MARKS).run(before, most).changes;
  }

  async continueIds(): Promise<void> {
    // An id that is given moves the counter on.
  }

  schemaSource(): DataSource {
    return new DataSource({
      ...dataSourceOptions,
      // Only a column of this very type can be AUTOINCREMENT; it holds an int64 all the same.
      entities: entities('integer'),
      type: 'better-sqlite3',
      driver: Connection,
      database: this.file,
      enableWAL: true,
      // Never wait inside the driver, where the whole process would wait along.
      timeout: 0,
      prepareDatabase: (connection: Libsql.Database) => void connection.pragma('synchronous = FULL'),
    });
  }

  async lockSchema(runner: QueryRunner): Promise<void> {
    // The first write of a transaction takes the lock, be it one that changes nothing.
    await runner.query('PRAGMA user_version = 0');
  }

  isUnavailable(error: unknown): boolean {
    return UNAVAILABLE.test(codeOf(error));
  }

  isBusy(error: unknown): boolean {
    return codeOf(error).startsWith('SQLITE_BUSY');
  }

  revision(): number {
    if (this.dataVersion === undefined) {
      this.dataVersion = Number((this.first('PRAGMA data_version', []) as [bigint])[0]);
      // One look serves what is handled together and runs on without a wait: all of that had arrived before.
      queueMicrotask(() => process.nextTick(() => (this.dataVersion = undefined)));
    }
    return this.dataVersion;
  }

  private addOne({ pet, once }: Addition): Added | Error {
    if (once) {
      const since = new Date(once.at.getTime() - MARK_LIFETIME).toISOString();
      const mark = this.first(FIND_MARK, [once.scope, once.key, since]);
      if (mark) return replay(mark, once);
    }
    const [added] = this.addAll([pet]) as [Added];
    if (once)
      this.statement(KEEP_MARK).run(once.scope, once.key, once.fingerprint, added.pet.id, once.at.toISOString());
    return added;
  }

  private addAll(pets: readonly NewPet[]): Added[] {
    const values = pets.map(({ name, categoryId, status }) => `[${JSON.stringify(name)},${categoryId},"${status}"]`);
    const ids = (this.statement(INSERT_PETS).all([`[${values.join()}]`]) as [bigint][]).map(([id]) => id);
    // The order of the rows that an INSERT returns is not promised; that of the ids is.
    ids.sort((one, other) => (one < other ? -1 : 1));
    return pets.map((pet, i) => ({ pet: { id: ids[i] as bigint, ...pet }, replayed: false }));
  }

  /** The first row; `get` costs half of what `all` does. */
  private first(sql: string, values: readonly unknown[]): Row | undefined {
    try {
      return this.statement(sql).get(values) as Row | undefined;
    } catch (error) {
      // After an error in `get`, libsql gives the same error for ever: the statement is prepared anew.
      this.statements.delete(sql);
      throw error;
    }
  }

  private get connection(): Connection {
    return (this.dataSource.driver as unknown as { databaseConnection: Connection }).databaseConnection;
  }

  private statement(sql: string): Libsql.Statement<unknown[]> {
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

function codeOf(error: unknown): string {
  const { code } = driverError(error);
  return typeof code === 'string' ? code : '';
}
