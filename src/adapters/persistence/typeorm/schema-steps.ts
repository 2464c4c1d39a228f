import { DataSource, MigrationExecutor, MigrationInterface, QueryRunner, Repository } from 'typeorm';
import { UsageError } from '../../../application/errors.js';
import { words } from '../../../application/finding.js';
import { Engine } from './engines/engine.js';
import { InstallationFact, InstallationSchema } from './installation/installation.schema.js';

/** A step that changes the schema. */
export interface SchemaStep {
  readonly name: string;
  readonly applied: boolean;
}

/**
 * A migration. One that only adds what a build of the release before can do without, a column that may be NULL say, is an addition: such a build
 * works on beside newer ones, and starts again.
 */
export interface Migration extends MigrationInterface {
  readonly isAddition?: boolean;
}

/** How the installation tells of a migration that is an addition: by the moment in its name. */
const ADDITION = 'addition_';

/** How long to try again if another process is at work on a SQLite file, in milliseconds, and how long to pause in between. */
const BUSY_PATIENCE = 10_000;
const BUSY_PAUSE = 20;

/**
 * The migrations, oldest first. Rejects with `UsageError` if a newer build than this one has changed the schema, by one that is no addition or by more
 * than one; by any if it must be `exactly` that of this build.
 */
export async function schemaSteps(dataSource: DataSource, exactly = false): Promise<SchemaStep[]> {
  const runner = dataSource.createQueryRunner();
  try {
    return await stepsSeenBy(runner, exactly);
  } finally {
    await runner.release();
  }
}

/** Rejects with `UsageError` if the database cannot hold every text exactly. */
export async function requireEncoding(engine: Engine): Promise<void> {
  const encoding = await engine.encoding();
  if (encoding.state === 'fail') throw new UsageError(words(encoding));
}

/** How often to begin again if another node of a cluster is at the same step, and for how long to pause at most in between, in milliseconds. */
const ATTEMPTS = 20;
const ATTEMPT_PAUSE = 250;

/** Applies the migrations that are not, and resolves to their names. Processes that do so at the same time take turns. See `requireEncoding`. */
export async function applySteps(engine: Engine): Promise<string[]> {
  await requireEncoding(engine);
  for (let attempt = 1; ; attempt++) {
    try {
      return await applyOnce(engine);
    } catch (error) {
      const failure = engine.failure(error);
      if ((failure !== 'duplicate' && failure !== 'busy') || attempt === ATTEMPTS) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, Math.random() * ATTEMPT_PAUSE));
  }
}

function applyOnce(engine: Engine): Promise<string[]> {
  return alone(engine, async (runner) => {
    if ((await stepsSeenBy(runner)).every(({ applied }) => applied)) return [];
    const applied = await new MigrationExecutor(runner.dataSource, runner).executePendingMigrations();
    for (const { name, instance } of applied)
      if (isAddition(instance)) await facts(runner).save({ name: additionOf(name), value: name });
    return applied.map(({ name }) => name);
  });
}

/** Takes the newest applied migration back, and resolves to its name; undefined if none is applied. */
export async function revertStep(engine: Engine): Promise<string | undefined> {
  return alone(engine, async (runner) => {
    const newest = (await stepsSeenBy(runner, true)).findLast(({ applied }) => applied)?.name;
    if (newest === undefined) return undefined;
    if (isAddition(runner.dataSource.migrations.find((each) => nameOf(each) === newest)))
      await facts(runner).delete({ name: additionOf(newest) });
    await new MigrationExecutor(runner.dataSource, runner).undoLastMigration();
    return newest;
  });
}

async function stepsSeenBy(runner: QueryRunner, exactly = false): Promise<SchemaStep[]> {
  const found: unknown = (await runner.hasTable('migrations')) ? await runner.query('SELECT name FROM migrations') : [];
  const applied = new Set((found as { name: string }[]).map(({ name }) => name));
  const names = runner.dataSource.migrations.map(nameOf);
  const steps = names.map((name) => ({ name, applied: applied.delete(name) }));
  const [unknown, ...more] = applied;
  if (unknown === undefined) return steps;
  const isNext = more.length === 0 && steps.every((step) => step.applied);
  if (exactly || !isNext || !(await facts(runner).existsBy({ name: additionOf(unknown) }))) {
    throw new UsageError(
      `The schema of the database is newer than this build, which does not know ${unknown}; run the build that made it, or a newer one.`,
    );
  }
  return steps;
}

/** A migration that gives itself no name is recorded under that of its class. */
function nameOf(migration: MigrationInterface): string {
  return migration.name ?? migration.constructor.name;
}

function isAddition(migration: Migration | undefined): boolean {
  return migration?.isAddition ?? false;
}

function facts(runner: QueryRunner): Repository<InstallationFact> {
  return runner.manager.getRepository(InstallationSchema);
}

function additionOf(migration: string): string {
  return ADDITION + migration.slice(-13);
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
