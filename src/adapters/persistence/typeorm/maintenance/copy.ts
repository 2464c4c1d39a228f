import { DataSource, EntityMetadata } from 'typeorm';
import { UsageError } from '../../../../messages/usage-error.js';
import type { Progress } from '../../../../messages/progress.js';
import { locationOf, PersistentUrl } from '../../../../settings/database-url.js';
import { requireDatabase } from '../../sqlite-file.js';
import { withDataSourceAt, asUsageErrors } from '../data-source.js';
import { Dialect, insertSql } from '../dialects/dialect.js';
import { dialectOf, query } from '../dialects/dialects.js';
import { countRows, rowsIn, rowsOf, Run } from '../rows.js';
import { migrate } from '../migrate.js';
import { requireSchema } from '../schema.js';

/** How many rows a database has. */
export interface Contents {
  readonly pets: number;
  readonly keys: number;
}

/**
 * Copies a whole database into an empty one, in one durable transaction. Rejects with `UsageError`, and copies nothing,
 * if the target is not empty, the source has another schema, or the numbers of rows differ in the end.
 */
export async function copyDatabase(from: PersistentUrl, to: PersistentUrl, progress: Progress): Promise<Contents> {
  requireDatabase(from);
  if (locationOf(from) === locationOf(to))
    throw new UsageError(`The source and the target must be two databases; both are ${locationOf(to)}.`);
  const fill = (source: DataSource) =>
    withDataSourceAt(to, async (target) => {
      await asUsageErrors(from, requireSchema(source, 'The source'));
      await migrate(target, progress);
      await requireSchema(target, 'The target');
      // Its connection is closed with the target, which rolls back what was not committed.
      const { manager } = target.createQueryRunner();
      await manager.query(dialectOf(target).begin);
      // Of two copies into one database the second waits, and then finds it filled.
      await manager.query(dialectOf(target).lockMigrations);
      const onSource: Run = (statement) => asUsageErrors(from, query(source.manager, statement));
      const onTarget: Run = (statement) => query(manager, statement);
      const tables = source.entityMetadatas;
      const amount = await rowsIn(onSource, ...tables.map(({ tableName }) => tableName));
      const ifInterrupted = 'Nothing was copied: the target has the schema and no rows. Run the same command again.';
      progress.begin({ name: 'Copying', amount, ifInterrupted });
      for (const table of tables) await copyTable(table, onSource, onTarget, dialectOf(target), progress);
      progress.begin({ name: 'Verifying', ifInterrupted });
      for (const { tableName } of tables) await verifyTable(tableName, onSource, onTarget);
      const contents = await contentsOf(onTarget);
      const isUnknown =
        'Whether it was copied is not known. Run the same command again: it says if the target has rows.';
      progress.begin({ name: 'Committing', ifInterrupted: isUnknown });
      await manager.query('COMMIT');
      return contents;
    });
  return withDataSourceAt(from, fill);
}

async function copyTable(
  table: EntityMetadata,
  onSource: Run,
  onTarget: Run,
  target: Dialect,
  progress: Progress,
): Promise<void> {
  const { tableName, generatedColumns } = table;
  if ((await countRows(onTarget, tableName)) > 0)
    throw new UsageError(
      `The target is not empty: its table ${tableName} has rows, maybe of another copy that has just ended. ` +
        'Nothing was copied. Start the service with it to see what it contains, or copy into another database.',
    );
  const [row] = generatedColumns.length > 0 ? await onSource((_bind, dialect) => dialect.lastId(tableName)) : [];
  const last = BigInt(row?.last ?? 0);
  if (last > 0n) for (const statement of target.continueIds(tableName, last)) await onTarget(() => statement);
  const columns = table.columns.map(({ databaseName }) => databaseName);
  const key = table.primaryColumns.map(({ databaseName }) => databaseName);
  for await (const rows of rowsOf(onSource, tableName, columns, key)) {
    await onTarget((bind) => insertSql(tableName, rows, bind));
    await progress.advance(rows.length);
  }
}

async function verifyTable(tableName: string, onSource: Run, onTarget: Run): Promise<void> {
  const [read, written] = [await countRows(onSource, tableName), await countRows(onTarget, tableName)];
  if (read !== written)
    throw new UsageError(
      `Verification failed: table ${tableName} has ${read} rows in the source, ${written} in the target. ` +
        'Nothing was copied. Stop what writes to the source, then retry.',
    );
}

export async function contentsOf(run: Run): Promise<Contents> {
  return { pets: await countRows(run, 'pet'), keys: await countRows(run, 'api_key') };
}
