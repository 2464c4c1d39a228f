import { DataSource } from 'typeorm';
import { DatabaseUrl } from '../database-url.js';
import { Database, DatabaseObserver } from './database.js';
import { Engine } from './engines/engine.js';
import { SqliteEngine } from './engines/sqlite.engine.js';

/** A URL of a database that outlives the process. */
export type LastingUrl = Exclude<DatabaseUrl, { engine: 'memory' }>;

/** The way to the database that the URL names; nothing is opened yet. */
export function engineOf(url: LastingUrl): Engine {
  return new SqliteEngine(url.file);
}

/** Opens the database that the URL names; see `Database.open`. */
export async function openDatabase(
  url: LastingUrl,
  report: (message: string) => void,
  observer?: DatabaseObserver,
): Promise<Database> {
  const database = new Database(engineOf(url), report, observer);
  await database.open();
  return database;
}

/** Lends a connection to the database that the URL names, its schema as it is found. */
export async function withDataSource<T>(url: LastingUrl, use: (dataSource: DataSource) => Promise<T>): Promise<T> {
  const dataSource = await engineOf(url).dataSource.initialize();
  try {
    return await use(dataSource);
  } finally {
    await dataSource.destroy();
  }
}
