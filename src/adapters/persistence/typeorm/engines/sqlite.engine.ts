import Libsql from 'libsql';
import { DataSource } from 'typeorm';
import { NewPet } from '../../../../domain/pets/pet.js';
import { dataSourceOptions } from '../data-source-options.js';
import { Engine, Row } from './engine.js';

/** Result codes that say that the file cannot be used now (https://www.sqlite.org/rescode.html). */
const UNAVAILABLE = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|PERM|AUTH|PROTOCOL)/;

/**
 * SQLite, embedded, in one file. All requests share its one connection, whose calls return when they are done: whatever must
 * not be seen half done is done in one of them, or in one turn of the event loop.
 */
export class SqliteEngine implements Engine {
  readonly dataSource: DataSource;
  private readonly statements = new Map<string, Libsql.Statement<unknown[]>>();

  constructor(file: string) {
    this.dataSource = new DataSource({
      ...dataSourceOptions,
      type: 'better-sqlite3',
      driver: Libsql,
      database: file,
      enableWAL: true,
      // Never wait inside the driver, where the whole process would wait along.
      timeout: 0,
      prepareDatabase: (connection: Libsql.Database) => {
        connection.defaultSafeIntegers(true);
        connection.pragma('synchronous = FULL');
      },
    });
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- a rejection, not an exception, where the driver throws
  async rows(sql: string, values: readonly unknown[]): Promise<Row[]> {
    return this.statement(sql).all(...values) as Row[];
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- nothing may be read, written or rolled back in between
  async insertPets(pets: readonly NewPet[]): Promise<bigint[]> {
    this.statement('BEGIN IMMEDIATE').run();
    try {
      const insert = this.statement('INSERT INTO pet (name, category_id, status) VALUES (?, ?, ?) RETURNING id');
      const ids = pets.map((pet) => (insert.all(pet.name, pet.categoryId, pet.status)[0] as [bigint])[0]);
      this.statement('COMMIT').run();
      return ids;
    } catch (error) {
      if (this.connection.inTransaction) this.statement('ROLLBACK').run();
      throw error;
    }
  }

  isUnavailable(error: unknown): boolean {
    return UNAVAILABLE.test(codeOf(error));
  }

  isBusy(error: unknown): boolean {
    return codeOf(error).startsWith('SQLITE_BUSY');
  }

  revision(): number {
    return Number((this.statement('PRAGMA data_version').all()[0] as [bigint])[0]);
  }

  private get connection(): Libsql.Database {
    return (this.dataSource.driver as unknown as { databaseConnection: Libsql.Database }).databaseConnection;
  }

  private statement(sql: string): Libsql.Statement<unknown[]> {
    let statement = this.statements.get(sql);
    if (!statement) {
      statement = this.connection.prepare(sql);
      if (statement.reader) statement.raw(true);
      this.statements.set(sql, statement);
    }
    return statement;
  }
}

function codeOf(error: unknown): string {
  const { code } = ((error as { driverError?: unknown }).driverError ?? error) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
