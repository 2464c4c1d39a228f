import { DataSource } from 'typeorm';

/** A step that changes the schema. */
export interface SchemaStep {
  readonly name: string;
  readonly applied: boolean;
}

/** The migrations, oldest first. */
export async function schemaSteps(dataSource: DataSource): Promise<SchemaStep[]> {
  const table = dataSource.options.migrationsTableName ?? 'migrations';
  const runner = dataSource.createQueryRunner();
  try {
    const rows = (await runner.hasTable(table))
      ? ((await runner.query(`SELECT name FROM ${table}`)) as { name: string }[])
      : [];
    const applied = new Set(rows.map(({ name }) => name));
    // A migration that gives itself no name is recorded under that of its class.
    const names = dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name);
    return names.map((name) => ({ name, applied: applied.has(name) }));
  } finally {
    await runner.release();
  }
}

/** Applies the migrations that are not, and resolves to their names. */
export async function applySteps(dataSource: DataSource): Promise<string[]> {
  return (await dataSource.runMigrations()).map(({ name }) => name);
}

/** Takes the newest applied migration back, and resolves to its name; undefined where none is applied. */
export async function revertStep(dataSource: DataSource): Promise<string | undefined> {
  const newest = (await schemaSteps(dataSource)).findLast(({ applied }) => applied);
  if (newest) await dataSource.undoLastMigration();
  return newest?.name;
}
