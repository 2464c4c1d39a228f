import { DataSource, DataSourceOptions, MigrationExecutor } from 'typeorm';
import { DatabaseUnavailable, UsageError } from '../../../application/errors.js';
import { fail, Finding, ok, warn, words } from '../../../application/finding.js';
import { DatabaseLimits, LastingUrl } from '../database-url.js';
import { resolved } from '../sqlite-file.js';
import { dataSourceOptions, dialectOf, withSource } from './data-source.js';
import { Dialect, failureOf, prepare, said } from './dialects/dialect.js';

/** Opens a database for a command, with its schema as it is. Rejects with `DatabaseUnavailable` if it cannot answer. */
export async function withDataSource<T>(
  url: LastingUrl,
  work: (source: DataSource, dialect: Dialect, url: LastingUrl) => Promise<T>,
  limits?: DatabaseLimits,
): Promise<T> {
  const dialect = dialectOf(url);
  const found = resolved(url);
  const options = dataSourceOptions(found, { ...limits, poolSize: 1 });
  try {
    return await withSource(options, (source) => work(source, dialect, found));
  } catch (error) {
    if (error instanceof UsageError || !failureOf(dialect, error)) throw error;
    throw new DatabaseUnavailable(`The database cannot be used. ${said(error)}`, { cause: error });
  }
}

/**
 * Applies the pending migrations on a connection without time limits, and resolves to their names. Processes that start
 * together wait for each other.
 */
export function migrate(url: LastingUrl, report: (message: string) => void = () => undefined): Promise<string[]> {
  return withSource(dataSourceOptions(url), async (source) => {
    const { pending, unknown } = await compareMigrations(source);
    if (unknown.length > 0) report(migratedByNewer(unknown));
    if (pending.length === 0) return [];
    const dialect = dialectOf(url);
    const runner = source.createQueryRunner();
    try {
      await prepare(dialect, runner.manager);
      await runner.startTransaction();
      await runner.query(dialect.lockSchema);
      const applied = await new MigrationExecutor(source, runner).executePendingMigrations();
      await runner.commitTransaction();
      return applied.map(({ name }) => name);
    } finally {
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      await runner.release();
    }
  });
}

/** The names of the migrations that are not applied to a database, and of those that this build does not know. */
async function compareMigrations(source: DataSource): Promise<Record<'pending' | 'unknown', string[]>> {
  const known = source.migrations.map((each) => each.name ?? each.constructor.name);
  const executed = await new MigrationExecutor(source).getExecutedMigrations();
  // It lists the newest first.
  const applied = executed.map(({ name }) => name).reverse();
  return {
    pending: known.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !known.includes(name)),
  };
}

/** Rejects with `UsageError`, one line that begins with `name`, unless the database has the schema of this release. */
export async function requireSchema(source: DataSource, dialect: Dialect, name: string): Promise<void> {
  const finding = await schemaFinding(source, dialect);
  if (finding.state !== 'ok')
    throw new UsageError(`${name} does not have the schema of this release. ${words(finding)}`);
}

/** Whether a database has the schema that the migrations create; indexes may be added. */
export async function schemaFinding(source: DataSource, dialect: Dialect): Promise<Finding> {
  const { pending, unknown } = await compareMigrations(source);
  if (pending.length > 0) {
    const advice = '"petstore migrate" applies them, as the next start does.';
    return warn('schema', `Pending: ${pending.join(', ')}.`, advice);
  }
  if (unknown.length > 0) return warn('schema', migratedByNewer(unknown), 'Run that release.');
  const difference = await schemaDifference(source.options, dialect);
  if (difference === undefined) return ok('schema', 'that of this release');
  return fail('schema', difference, 'The schema must be the one that the migrations create.');
}

function schemaDifference(options: DataSourceOptions, dialect: Dialect): Promise<string | undefined> {
  // TypeORM's own work on a schema expects integers of SQLite that are numbers.
  return withSource({ ...options, prepareDatabase: undefined } as DataSourceOptions, async (source) => {
    const { upQueries } = await source.driver.createSchemaBuilder().log();
    const changes = upQueries.filter(({ query }) => !query.startsWith('DROP INDEX'));
    const names = source.entityMetadatas.map(({ tableName }) => tableName);
    // Names the tables, not TypeORM's statements: an operator who ran those could lose data.
    const tables = names.filter((name) => changes.some(({ query }) => new RegExp(`\\b${name}\\b`).test(query)));
    if (changes.length > 0) return `Columns, keys or indexes are not those of the migrations: ${tables.join(', ')}.`;
    const [trigger] = await source.query<{ name: string }[]>(dialect.triggers);
    return trigger && `The trigger or rule ${trigger.name} can change or discard what is written.`;
  });
}

function migratedByNewer(unknown: readonly string[]): string {
  return `A newer release has migrated the database: ${unknown.join(', ')}.`;
}
