import Libsql from 'libsql';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { query } from '../support/sql.js';

/** The path in the URL of a SQLite database. */
export function fileOf(url: string): string {
  return url.replace(/^sqlite:/, '');
}

/** Runs one statement on a connection of its own, beside those of the service; resolves to the rows as arrays. */
export async function rawQuery(url: string, sql: string): Promise<unknown[][]> {
  if (!url.startsWith('sqlite:')) return query(url, sql);
  const rows = querySqlite(fileOf(url), sql);
  // libsql closes a connection only when its statements are garbage collected; until then the file stays locked.
  collectGarbage({ type: 'minor' });
  return rows;
}

function querySqlite(file: string, sql: string): unknown[][] {
  const connection = new Libsql(file);
  try {
    const statement = connection.prepare(sql);
    if (statement.reader) return statement.raw().all() as unknown[][];
    statement.run();
    return [];
  } finally {
    connection.close();
  }
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as (options: { type: 'minor' }) => void;

/** Values as they are in the database, before any column transformer; each as a text. */
export type RawTables = Record<string, unknown[][]>;

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
}

/** Every column of every table that is copied; found in the database, so that no column can be forgotten here. */
export async function columnsOf(url: string): Promise<Map<string, Column[]>> {
  const sql = url.startsWith('sqlite:')
    ? `SELECT m.name, c.name, c.type FROM sqlite_master m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY m.name, c.cid`
    : `SELECT table_name, column_name, data_type FROM information_schema.columns
        WHERE table_schema = ${url.startsWith('postgres') ? 'current_schema()' : 'DATABASE()'}
        ORDER BY table_name, ordinal_position`;
  const columns = (await rawQuery(url, sql)) as [string, string, string][];
  // TypeORM's own table: the migrations fill it on the target.
  const copied = columns.filter(([table]) => table !== 'migrations');
  const all = copied.map(([table, name, type]): Column => ({ table, name, type }));
  return new Map(all.map(({ table }) => [table, all.filter((column) => column.table === table)]));
}

/** Fills every column of every table of a migrated database, without NULL, with values that differ from one another. */
export async function fillEveryColumn(url: string): Promise<void> {
  for (const [table, columns] of await columnsOf(url)) {
    await rawQuery(url, `DELETE FROM ${table}`);
    for (const row of [1, 2]) {
      const values = columns.map((column, i) => valueFor(column, row, i));
      const names = columns.map(({ name }) => name).join(', ');
      await rawQuery(url, `INSERT INTO ${table} (${names}) VALUES (${values.join(', ')})`);
    }
  }
}

function valueFor({ name, type }: Column, row: number, i: number): string {
  if (/int/i.test(type)) return String(row * 100 + i);
  if (name.endsWith('_at')) return `'2026-11-20T12:00:0${row}.${100 + i}Z'`;
  return name === 'status' ? `'${['sold', 'pending'][row - 1]}'` : `'${row} of ${i}'`;
}

/** Everything that is copied, comparable between kinds of databases: int64s are texts, NULL is an empty text. */
export async function everyColumn(url: string): Promise<RawTables> {
  const tables: RawTables = {};
  for (const [table, columns] of await columnsOf(url)) {
    const names = columns.map(({ name }) => name).sort();
    const rows = await rawQuery(url, `SELECT ${names.map((name) => `concat(${name}, '')`).join(', ')} FROM ${table}`);
    tables[table] = [names, ...rows.map((row) => row.map(String)).sort()];
  }
  return tables;
}
