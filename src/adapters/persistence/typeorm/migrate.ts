import { setTimeout as delay } from 'node:timers/promises';
import { DataSource, DataSourceOptions, EntityManager, MigrationExecutor } from 'typeorm';
import { UsageError } from '../../../application/errors.js';
import { fail, Finding, ok, warn } from '../../../application/finding.js';
import { Progress } from '../../../application/progress.js';
import { PersistentUrl } from '../../../settings/database-url.js';
import { createDatabaseFile } from '../sqlite-file.js';
import { withDatabaseNamed, dataSourceOptions, withSource } from './data-source.js';
import { dialectOf } from './dialects/dialects.js';
import { failureOf, NotUsable, prepareConnection } from './failures.js';

/** For how long a migration tries to lock its tables, and lets requests pass in between; in milliseconds. */
const LOCK_TIMEOUT = 60_000;
const LOCK_PAUSE = 1_000;

/** How often a server is asked for its progress, in milliseconds. */
const ASK_PAUSE = 1_000;

/** Opens a database for a command, with its schema as it is. If it fails, rejects with `UsageError`, which names it. */
export async function withDatabase<T>(
  url: PersistentUrl,
  work: (source: DataSource) => Promise<T>,
  timeout?: number,
): Promise<T> {
  return withDatabaseNamed(url, withSource(dataSourceOptions(createDatabaseFile(url), 1, timeout), work));
}

/**
 * Applies the pending migrations, each in its own transaction, and calls `applied` with the name of each. Waits without
 * limit for other processes that migrate, so statements must have no timeout. Waits for the lock of a table two seconds
 * at a time, so that requests do not queue behind the migration; rejects with `UsageError` when it has tried for
 * `timeout` milliseconds.
 */
export async function migrate(
  source: DataSource,
  progress = new Progress(),
  applied: (name: string) => void = () => undefined,
  timeout = LOCK_TIMEOUT,
): Promise<void> {
  const ended = new AbortController();
  const asking = askServer(source, progress, ended.signal).catch(() => undefined);
  try {
    await applyPending(source, progress, applied, timeout);
  } finally {
    ended.abort();
    await asking;
  }
}

/** Asks a server every second, on a connection of its own, how far the statement of a migration is. */
async function askServer(source: DataSource, progress: Progress, ended: AbortSignal): Promise<void> {
  const { statementProgress } = dialectOf(source);
  if (!statementProgress) return;
  const pause = () => delay(ASK_PAUSE, undefined, { signal: ended });
  await pause();
  await withSource([source.options], async (other) => {
    while (true) {
      await pause();
      const [row] = await other.query<{ text: string | null }[]>(statementProgress);
      progress.note = row?.text ?? '';
    }
  });
}

async function applyPending(
  source: DataSource,
  progress: Progress,
  applied: (name: string) => void,
  timeout: number,
): Promise<void> {
  const dialect = dialectOf(source);
  const end = performance.now() + timeout;
  await prepareConnection(source.manager);
  if ((await compareMigrations(source.manager)).pending.length > 0) await requireMigrationRights(source);
  while (true) {
    try {
      const name = await source.transaction(async (manager) => {
        await manager.query(dialect.lockMigrations);
        const executor = new MigrationExecutor(source, manager.queryRunner);
        const [next] = await executor.getPendingMigrations();
        if (!next) return undefined;
        const ifInterrupted =
          `The schema is that before ${next.name} or, on MariaDB, partly that after it. ` +
          'Run "petstore migrate" again: it continues.';
        progress.begin({ name: `Applying ${next.name}`, ifInterrupted });
        manager.queryRunner!.data.progress = progress;
        return (await executor.executeMigration(next)).name;
      });
      if (name === undefined) return;
      applied(name);
    } catch (error) {
      const failure = failureOf(dialect, error);
      if (failure !== 'rowLocked' && failure !== 'conflict') throw error;
      if (performance.now() > end) {
        const [holder] = await source.query<{ text: string | null }[]>(dialect.lockHolder);
        const name = holder?.text ?? 'another transaction';
        throw new UsageError(`The migration cannot lock its tables, which ${name} may hold. End that, then retry.`);
      }
      await delay(LOCK_PAUSE);
    }
  }
}

/** Rejects, with the error of the database, if the role lacks a right on a table that requests need. */
export async function requireRights(manager: EntityManager): Promise<void> {
  const { dataSource } = manager;
  for (const { tableName, columns } of dataSource.entityMetadatas) {
    const names = columns.map(({ databaseName }) => databaseName).join();
    for (const statement of dialectOf(dataSource).rights?.(tableName, names) ?? []) await manager.query(statement);
  }
}

/** Rejects, as `migrate` would, if the role may not apply pending migrations. Changes nothing. */
export async function requireMigrationRights(source: DataSource): Promise<void> {
  const problem = await dialectOf(source).migrationProblem?.((statement) => source.query(statement));
  if (problem) throw new NotUsable(problem);
}

/** The pending migrations, and a sentence if a newer release has applied others. */
export async function compareMigrations(manager: EntityManager): Promise<{ pending: string[]; newer: string | false }> {
  const { dataSource, queryRunner } = manager;
  const known = dataSource.migrations.map((each) => each.name ?? each.constructor.name);
  const executed = await new MigrationExecutor(dataSource, queryRunner).getExecutedMigrations();
  const applied = executed.map(({ name }) => name);
  const unknown = applied.filter((name) => !known.includes(name));
  return {
    pending: known.filter((name) => !applied.includes(name)),
    newer: unknown.length > 0 && `A newer release has migrated the database: ${unknown.join(', ')}.`,
  };
}

/** Rejects with `UsageError`, one line that begins with `name`, unless the database has the schema of this release. */
export async function requireSchema(source: DataSource, name: string): Promise<void> {
  await prepareConnection(source.manager);
  const { state, found } = await schemaFinding(source);
  // Without its advice: it is not for the source of a copy, which stays as it is.
  if (state !== 'ok') throw new UsageError(`${name} must have the schema of this release. ${found}`);
}

/** Rejects the same unless the database is one of any release: the schema of another release is not compared. */
export async function requireAnyRelease(source: DataSource, name: string): Promise<void> {
  await prepareConnection(source.manager);
  const { pending } = await compareMigrations(source.manager);
  if (pending.length === source.migrations.length)
    throw new UsageError(`${name} must be a database of the pet store. It has none of its migrations.`);
  const { state, found } = await schemaFinding(source);
  if (state === 'fail') throw new UsageError(`${name} must have the schema of its release. ${found}`);
}

/** Whether a database has the schema that the migrations create; indexes may be added. */
export async function schemaFinding(source: DataSource): Promise<Finding> {
  const { pending, newer } = await compareMigrations(source.manager);
  if (pending.length > 0)
    return warn('schema', `Pending: ${pending.join(', ')}.`, '"petstore migrate" or the next start applies them.');
  if (newer) return warn('schema', newer, 'Run that release.');
  const tables = await differentTables(source);
  if (tables.length === 0) return ok('schema', 'that of this release');
  const found = `Columns, keys or indexes are not those of the migrations: ${tables.join(', ')}.`;
  return fail('schema', found, 'The schema must be the one that the migrations create.');
}

/** The names, not TypeORM's statements: an operator who ran those could lose data. */
async function differentTables({ options, entityMetadatas }: DataSource): Promise<string[]> {
  // TypeORM's own work on a schema expects integers of SQLite that are numbers.
  const plain = { ...options, prepareDatabase: undefined } as DataSourceOptions;
  const { upQueries } = await withSource([plain], async (source) => {
    const { driver } = source;
    await prepareConnection(source.manager);
    // As the server spells it, which may be in lower case only (lower_case_table_names): TypeORM compares the letters.
    if (options.type === 'mariadb')
      driver.database = (await source.query<{ name: string }[]>('SELECT DATABASE() AS name'))[0]?.name;
    return driver.createSchemaBuilder().log();
  });
  const changes = upQueries.map(({ query }) => query).filter((query) => !query.startsWith('DROP INDEX'));
  const names = entityMetadatas.map(({ tableName }) => tableName);
  return names.filter((name) => changes.some((query) => new RegExp(`\\b${name}\\b`).test(query)));
}
