import { setTimeout as delay } from 'node:timers/promises';
import { DataSource, MigrationExecutor } from 'typeorm';
import { UsageError } from '../../../messages/usage-error.js';
import { Progress } from '../../../messages/progress.js';
import { withDataSource } from './data-source.js';
import { dialectOf } from './dialects/dialects.js';
import { failureOf, NotUsable, prepareConnection } from './failures.js';
import { compareMigrations } from './schema.js';

/** For how long a migration tries to lock its tables, and lets requests pass in between; in milliseconds. */
const LOCK_TIMEOUT = 60_000;
const LOCK_PAUSE = 1_000;

/** How often a server is asked for its progress, in milliseconds. */
const ASK_PAUSE = 1_000;

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
  await withDataSource([source.options], async (other) => {
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

/** Rejects, as `migrate` would, if the role may not apply pending migrations. Changes nothing. */
export async function requireMigrationRights(source: DataSource): Promise<void> {
  const problem = await dialectOf(source).migrationProblem?.((statement) => source.query(statement));
  if (problem) throw new NotUsable(problem);
}
