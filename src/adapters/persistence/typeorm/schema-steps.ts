import { DataSource, MigrationExecutor, QueryRunner } from 'typeorm';
import { UsageError } from '../../../application/errors.js';
import { Engine } from './engines/engine.js';

/** A step that changes the schema. */
export interface SchemaStep {
  readonly name: string;
  readonly applied: boolean;
}

/** How long to try again if another process is at work on a SQLite file, in milliseconds, and how long to pause in between. */
const BUSY_PATIENCE = 10_000;
const BUSY_PAUSE = 20;

/** The migrations, oldest first; rejects with `UsageError` if a newer build than this one has changed the schema. */
export async function schemaSteps(dataSource: DataSource): Promise<SchemaStep[]> {
  const runner = dataSource.createQueryRunner();
  try {
    return await stepsSeenBy(runner);
  } finally {
    await runner.release();
  }
}

/** Applies the migrations that are not, and resolves to their names. Processes that do so at the same time take turns. */
export async function applySteps(engine: Engine): Promise<string[]> {
  return alone(engine, async (runner) => {
    await stepsSeenBy(runner);
    const applied = await new MigrationExecutor(runner.dataSource, runner).executePendingMigrations();
    return applied.map(({ name }) => name);
  });
}

/** Takes the newest applied migration back, and resolves to its name; undefined if none is applied. */
export async function revertStep(engine: Engine): Promise<string | undefined> {
  return alone(engine, async (runner) => {
    const newest = (await stepsSeenBy(runner)).findLast(({ applied }) => applied);
    if (newest) await new MigrationExecutor(runner.dataSource, runner).undoLastMigration();
    return newest?.name;
  });
}

async function stepsSeenBy(runner: QueryRunner): Promise<SchemaStep[]> {
  const found: unknown = (await runner.hasTable('migrations')) ? await runner.query('SELECT name FROM migrations') : [];
  const applied = new Set((found as { name: string }[]).map(({ name }) => name));
  // A migration that gives itself no name is recorded under that of its class.
  const names = runner.dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name);
  const steps = names.map((name) => ({ name, applied: applied.delete(name) }));
  const [unknown] = applied;
  if (unknown !== undefined) {
    throw new UsageError(
      `The schema of the database is newer than this build, which does not know ${unknown}; run the build that made it, or a newer one.`,
    );
  }
  return steps;
}

/** Works on the schema in one transaction, if the engine can, while nobody else does. */
async function alone<T>(engine: Engine, work: (runner: QueryRunner) => Promise<T>): Promise<T> {
  const dataSource = await engine.schemaSource().initialize();
  const runner = dataSource.createQueryRunner();
  try {
    await lock(engine, runner);
    const result = await work(runner);
    await runner.commitTransaction();
    return result;
  } catch (error) {
    // What went wrong is worth more than what went wrong after it.
    if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
    throw error;
  } finally {
    await runner.release();
    await dataSource.destroy();
  }
}

async function lock(engine: Engine, runner: QueryRunner): Promise<void> {
  const deadline = performance.now() + BUSY_PATIENCE;
  for (;;) {
    await runner.startTransaction();
    try {
      return await engine.lockSchema(runner);
    } catch (error) {
      await runner.rollbackTransaction();
      if (engine.failure(error) !== 'busy' || performance.now() >= deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE));
  }
}
