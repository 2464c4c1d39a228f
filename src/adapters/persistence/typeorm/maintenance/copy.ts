import { EntityManager, EntityMetadata } from 'typeorm';
import { UsageError } from '../../../../application/errors.js';
import { existing, LastingUrl } from '../../database-url.js';
import { dialectOf } from '../data-source.js';
import { insert, query } from '../dialects/dialect.js';
import { migrate, requireSchema, withDataSource } from '../schema.js';

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
export async function copyDatabase(from: LastingUrl, to: LastingUrl): Promise<Contents> {
  return withDataSource(existing(from), (source) =>
    withDataSource(to, async (target) => {
      await requireSchema(source, 'The source');
      await migrate(target);
      // Its connection is closed with the target, which rolls back what was not committed.
      const { manager } = target.createQueryRunner();
      await manager.query(dialectOf(target).begin);
      // Of two copies into one database the second waits, and then finds it filled.
      await manager.query(dialectOf(target).lockSchema);
      for (const table of source.entityMetadatas) await copyTable(table, source.manager, manager);
      const contents = await contentsOf(manager);
      await manager.query('COMMIT');
      return contents;
    }),
  );
}

async function copyTable(table: EntityMetadata, source: EntityManager, target: EntityManager): Promise<void> {
  const { tableName, generatedColumns } = table;
  if ((await countRows(target, tableName)) > 0)
    throw new UsageError(
      `The target is not empty: its table ${tableName} has rows, maybe of another copy that has just ended. ` +
        'Nothing was copied. Start the service with it to see what it contains, or copy into another database.',
    );
  const [row] =
    generatedColumns.length > 0 ? await source.query<Row[]>(dialectOf(source.dataSource).lastId(tableName)) : [];
  const last = BigInt(row?.last ?? 0);
  if (last > 0n) for (const sql of dialectOf(target.dataSource).continueIds(tableName, last)) await target.query(sql);
  for await (const rows of batches(source, table)) await query(target, (add) => insert(tableName, rows, add));
  const [from, to] = [await countRows(source, tableName), await countRows(target, tableName)];
  if (from !== to)
    throw new UsageError(
      `Verification failed: table ${tableName} has ${from} rows in the source, ${to} in the target. ` +
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

/** The rows of a table in the order of its primary key, each batch after the last row of the previous one. */
async function* batches(manager: EntityManager, table: EntityMetadata): AsyncGenerator<Row[]> {
  const columns = table.columns.map(({ databaseName }) => databaseName).join(', ');
  const key = table.primaryColumns.map(({ databaseName }) => databaseName);
  let last: Row | undefined;
  do {
    const rows: Row[] = await query<Row>(manager, (add) => {
      // MariaDB would compare an int64 that comes as text in floating point.
      const value = (name: string) => add(name === 'id' ? BigInt(last![name]!) : last![name]);
      const after = last ? `WHERE (${key.join(', ')}) > (${key.map(value).join(', ')})` : '';
      return `SELECT ${columns} FROM ${table.tableName} ${after} ORDER BY ${key.join(', ')} LIMIT ${BATCH}`;
    });
    if (rows.length > 0) yield rows;
    last = rows.at(-1);
  } while (last);
}
