import { DatabaseLimits, LastingUrl } from '../database-url.js';
import { StoreUnavailable } from '../../../application/errors.js';
import { Database, said } from './database.js';
import { DatabaseObserver, together } from './database-observer.js';
import { connect, disconnect, Engine, isUnavailable } from './engines/engine.js';

/**
 * The way to the database that the URL names; nothing is opened yet. Only the driver that it takes is loaded. Whoever is only `looking` leaves
 * no trace in a file, and may look at what is not the primary.
 */
export async function engineOf(url: LastingUrl, limits: DatabaseLimits, looking = false): Promise<Engine> {
  switch (url.engine) {
    case 'sqlite':
      return new (await import('./engines/sqlite.engine.js')).SqliteEngine(url.file, looking);
    case 'postgres':
      return new (await import('./engines/postgres.engine.js')).PostgresEngine(url, limits, looking);
    case 'mysql':
    case 'mariadb':
      return new (await import('./engines/mysql.engine.js')).MysqlEngine(url, limits, looking);
  }
}

/** Opens the database that the URL names; see `Database.open`. */
export async function openDatabase(
  url: LastingUrl,
  limits: DatabaseLimits,
  report: (message: string) => void,
  observers: readonly DatabaseObserver[] = [],
): Promise<Database> {
  const patience = limits.poolTimeout + limits.statementTimeout;
  const database = new Database(await engineOf(url, limits), report, limits.maxWaiting, together(observers), patience);
  try {
    await database.open();
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Lends the database that the URL names, its schema as it is found; rejects with `StoreUnavailable` if it cannot answer. */
export async function withEngine<T>(
  url: LastingUrl,
  limits: DatabaseLimits,
  use: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = await engineOf(url, limits);
  try {
    await connect(engine);
    return await use(engine);
  } catch (error) {
    if (!isUnavailable(engine.failure(error))) throw error;
    throw new StoreUnavailable(`The database cannot be used. ${said(error)}`, { cause: error });
  } finally {
    await disconnect(engine);
  }
}
