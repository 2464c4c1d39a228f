import { DataSource, DataSourceOptions, EntityManager, MigrationExecutor } from 'typeorm';
import { UsageError } from '../../../messages/usage-error.js';
import { fail, Finding, ok, warn } from '../../../messages/finding.js';
import { withDataSource } from './data-source.js';
import { dialectOf } from './dialects/dialects.js';
import { prepareConnection } from './failures.js';

/** Rejects, with the error of the database, if the role lacks a right on a table that requests need. */
export async function requireRights(manager: EntityManager): Promise<void> {
  const { dataSource } = manager;
  for (const { tableName, columns } of dataSource.entityMetadatas) {
    const names = columns.map(({ databaseName }) => databaseName).join();
    for (const statement of dialectOf(dataSource).rights?.(tableName, names) ?? []) await manager.query(statement);
  }
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
  const { upQueries } = await withDataSource([plain], async (source) => {
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
