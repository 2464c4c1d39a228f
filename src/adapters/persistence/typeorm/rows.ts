import type { Amount } from '../../../messages/progress.js';
import type { WriteSql } from './dialects/dialects.js';

/** How many rows are read at a time. */
export const ROWS_AT_A_TIME = 500;

export type StoredRow = Readonly<Record<string, string | bigint | number | null>>;

/** Runs a statement on a database. */
export type Run = (writeSql: WriteSql) => Promise<StoredRow[]>;

const countOf = (table: string) => `SELECT count(*) AS count FROM ${table}`;

export async function countRows(run: Run, table: string): Promise<number> {
  const [row] = await run(() => countOf(table));
  return Number(row?.count);
}

/** How many rows tables have, by the statistics of a server: to count them can take minutes. */
export async function rowsIn(run: Run, ...tables: string[]): Promise<Amount> {
  let [total, isEstimate] = [0, false];
  for (const table of tables) {
    const [row] = await run((_bind, dialect) => {
      isEstimate = dialect.isServer;
      return dialect.estimate?.(table) ?? countOf(table);
    });
    total += Number(row?.count ?? 0);
  }
  return { unit: 'rows', total, isEstimate };
}

/** The rows of a table, some at a time, in the order of its primary key. */
export async function* rowsOf(
  run: Run,
  table: string,
  columns: readonly string[],
  key: readonly string[],
): AsyncGenerator<StoredRow[]> {
  let rows: StoredRow[] = [];
  do {
    const last = rows.at(-1);
    rows = await run((bind) => {
      // MariaDB would compare an int64 that comes as text in floating point.
      const value = (name: string) => bind(name === 'id' ? BigInt(last![name]!) : last![name]);
      const after = (name: string, i: number) =>
        [...key.slice(0, i).map((shared) => `${shared} = ${value(shared)}`), `${name} > ${value(name)}`].join(' AND ');
      // The same condition twice: SQLite and PostgreSQL walk the index by the first form, MariaDB by the second.
      const rest = () => `WHERE (${key.join()}) > (${key.map(value).join()}) AND (${key.map(after).join(' OR ')})`;
      const order = `ORDER BY ${key.join()} LIMIT ${ROWS_AT_A_TIME}`;
      return `SELECT ${columns.join(', ')} FROM ${table} ${last ? rest() : ''} ${order}`;
    });
    if (rows.length > 0) yield rows;
  } while (rows.length === ROWS_AT_A_TIME);
}
