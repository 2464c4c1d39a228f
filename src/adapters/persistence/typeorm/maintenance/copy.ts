import { createHash } from 'node:crypto';
import { EntityManager, EntityMetadata } from 'typeorm';
import { UsageError } from '../../../../application/errors.js';
import { existing, LastingUrl } from '../../database-url.js';
import { dialectOf } from '../data-source.js';
import { insert, prepare, query } from '../dialects/dialect.js';
import { migrate, requireSchema, withDataSource } from '../schema.js';

/** How many rows are read and written at a time. */
const BATCH = 500;

type Row = Readonly<Record<string, string | bigint | number | null>>;

/** What a database contains; the same on both sides of a copy. */
export interface Contents {
  readonly pets: number;
  readonly keys: number;
  /** The sum of the SHA-256 hashes of all rows, in whatever order, as 64 hexadecimal digits. */
  readonly checksum: string;
}

/**
 * Copies a whole database into an empty one, in one durable transaction that is only committed once both were read
 * again and are the same. Rejects with `UsageError`, and copies nothing, if the target is not empty, the source has
 * another schema, or something writes to it.
 */
export async function copyDatabase(from: LastingUrl, to: LastingUrl): Promise<Contents> {
  return withDataSource(existing(from), (source) =>
    withDataSource(to, async (target) => {
      await prepare(dialectOf(source), source.manager);
      await requireSchema(source, 'The source');
      await migrate(target);
      // Its connection is closed with the target, which rolls back what was not committed.
      const runner = target.createQueryRunner();
      await runner.query(dialectOf(target).begin);
      const contents = await copyInto(runner.manager, source.manager);
      await runner.query('COMMIT');
      return contents;
    }),
  );
}

async function copyInto(target: EntityManager, source: EntityManager): Promise<Contents> {
  const [dialect, targetDialect] = [dialectOf(source.dataSource), dialectOf(target.dataSource)];
  // Of two copies into one database the second waits, and then finds it filled.
  await target.query(targetDialect.lockSchema);
  for (const table of source.dataSource.entityMetadatas) {
    const { tableName, generatedColumns } = table;
    if ((await target.query<Row[]>(`SELECT 1 FROM ${tableName} LIMIT 1`)).length > 0)
      throw new UsageError(
        `The target is not empty: its table ${tableName} has rows, maybe of another copy that has just ended. ` +
          'Nothing was copied. Start the service with it to see what it contains, or copy into another database.',
      );
    const [row] = generatedColumns.length > 0 ? await source.query<Row[]>(dialect.lastId(tableName)) : [];
    const last = BigInt(row?.last ?? 0);
    if (last > 0n) for (const sql of targetDialect.continueIds(tableName, last)) await target.query(sql);
    for await (const rows of batches(source, table)) await insert(target, tableName, rows);
  }
  // Also detects what was written to the source meanwhile.
  const [from, to] = [await contentsOf(source), await contentsOf(target)];
  if (from.checksum === to.checksum) return to;
  throw new UsageError(
    `Verification failed: the source has ${from.pets} pets and ${from.keys} keys, ` +
      `the target ${to.pets} and ${to.keys}, ` +
      'or their rows differ. Nothing was copied. Stop what writes to the source, then retry.',
  );
}

/** Reads a whole database, and resolves to what it contains. */
export async function contentsOf(manager: EntityManager): Promise<Contents> {
  let hash = 0n;
  const counts: Record<string, number> = {};
  for (const table of manager.dataSource.entityMetadatas) {
    const { tableName } = table;
    for await (const rows of batches(manager, table)) {
      counts[tableName] = (counts[tableName] ?? 0) + rows.length;
      for (const row of rows) {
        // An int64 is a bigint on one database and a string on another.
        const values = table.columns.map(({ databaseName }) => row[databaseName]?.toString() ?? null);
        const text = JSON.stringify([tableName, ...values]);
        hash += BigInt(`0x${createHash('sha256').update(text).digest('hex')}`);
      }
    }
  }
  const checksum = BigInt.asUintN(256, hash).toString(16).padStart(64, '0');
  return { pets: counts.pet ?? 0, keys: counts.api_key ?? 0, checksum };
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
