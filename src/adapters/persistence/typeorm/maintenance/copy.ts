import { DataSource, EntityManager, EntityMetadata } from 'typeorm';
import { UsageError } from '../../../../application/errors.js';
import { PersistentUrl } from '../../database-url.js';
import { requireDatabase } from '../../sqlite-file.js';
import { about } from '../data-source.js';
import { insert } from '../dialects/dialect.js';
import { dialectOf, query } from '../dialects/dialects.js';
import { migrate, requireSchema, withDatabase } from '../schema.js';

/** How many rows are read and written at a time. */
const BATCH = 500;

type Row = Readonly<Record<string, string | bigint | number | null>>;

/** How many rows a database has. */
export interface Contents {
  readonly pets: number;
  readonly keys: number;
}

/**
 * Copies a whole database into an empty one, in one durable transaction. Rejects with `UsageError`, and copies nothing,
 * if the target is not empty, the source has another schema, or the numbers of rows differ in the end.
 */
export async function copyDatabase(from: PersistentUrl, to: PersistentUrl): Promise<Contents> {
  requireDatabase(from);
  const fill = (source: DataSource) =>
    withDatabase(to, async (target) => {
      await about(from, requireSchema(source, 'The source'));
      await migrate(target);
      // Its connection is closed with the target, which rolls back what was not committed.
      const { manager } = target.createQueryRunner();
      await manager.query(dialectOf(target).begin);
      // Of two copies into one database the second waits, and then finds it filled.
      await manager.query(dialectOf(target).lockSchema);
      for (const table of source.entityMetadatas) await copyTable(from, table, source.manager, manager);
      const contents = await contentsOf(manager);
      await manager.query('COMMIT');
      return contents;
    });
  return withDatabase(from, fill);
}

async function copyTable(
  from: PersistentUrl,
  table: EntityMetadata,
  source: EntityManager,
  target: EntityManager,
): Promise<void> {
  const { tableName, generatedColumns } = table;
  if ((await countRows(target, tableName)) > 0)
    throw new UsageError(
      `The target is not empty: its table ${tableName} has rows, maybe of another copy that has just ended. ` +
        'Nothing was copied. Start the service with it to see what it contains, or copy into another database.',
    );
  const lastId = () => source.query<Row[]>(dialectOf(source.dataSource).lastId(tableName));
  const [row] = generatedColumns.length > 0 ? await about(from, lastId()) : [];
  const last = BigInt(row?.last ?? 0);
  if (last > 0n) for (const sql of dialectOf(target.dataSource).continueIds(tableName, last)) await target.query(sql);
  for await (const rows of batches(from, source, table)) await query(target, (bind) => insert(tableName, rows, bind));
  const [read, written] = [await about(from, countRows(source, tableName)), await countRows(target, tableName)];
  if (read !== written)
    throw new UsageError(
      `Verification failed: table ${tableName} has ${read} rows in the source, ${written} in the target. ` +
        'Nothing was copied. Stop what writes to the source, then retry.',
    );
}

export async function contentsOf(manager: EntityManager): Promise<Contents> {
  return { pets: await countRows(manager, 'pet'), keys: await countRows(manager, 'api_key') };
}

async function countRows(manager: EntityManager, table: string): Promise<number> {
  const [row] = await manager.query<Row[]>(`SELECT count(*) AS count FROM ${table}`);
  return Number(row?.count);
}

/** The rows of a table in the order of its primary key. */
async function* batches(from: PersistentUrl, manager: EntityManager, table: EntityMetadata): AsyncGenerator<Row[]> {
  const columns = table.columns.map(({ databaseName }) => databaseName).join(', ');
  const key = table.primaryColumns.map(({ databaseName }) => databaseName);
  let last: Row | undefined;
  // After the last row come those that share all but the last column of the key with it, then those that share fewer:
  // `scope = 'b' AND token > 'x'`, then `scope > 'b'`. MariaDB would read too many rows for each batch if one condition
  // compared all columns, or if ORDER BY had the shared ones, too.
  for (let shared = 0; shared >= 0; shared--) {
    const compared = last ? key.slice(0, shared + 1) : [];
    const next = query<Row>(manager, (bind) => {
      // MariaDB would compare an int64 that comes as text in floating point.
      const value = (name: string) => bind(name === 'id' ? BigInt(last![name]!) : last![name]);
      const after = compared.map((name, i) => `AND ${name} ${i < shared ? '=' : '>'} ${value(name)}`);
      return `SELECT ${columns} FROM ${table.tableName} WHERE 1 = 1 ${after.join(' ')}
        ORDER BY ${key.slice(shared).join(', ')} LIMIT ${BATCH}`;
    });
    const rows = await about(from, next);
    if (rows.length === 0) continue;
    yield rows;
    last = rows.at(-1);
    shared = key.length;
  }
}
