import { resolve } from 'node:path';
import { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { DatabaseUnavailable, databaseTimedOut } from '../../../application/errors.js';
import { UsageError } from '../../../messages/usage-error.js';
import type { Progress } from '../../../messages/progress.js';
import { quoted } from '../../../messages/texts.js';
import { databaseTimeout, withTimeout } from '../timeout.js';
import type { Settings } from '../../../settings/settings.js';
import { OncePerTurn } from '../../runtime/event-loop.js';
import { locationOf, PersistentUrl, SqliteUrl } from '../../../settings/database-url.js';
import { collectGarbage, createDatabaseFile, OpenFiles } from '../sqlite-file.js';
import { dataSourceOptions, openDataSource, untilClosed, withDataSource } from './data-source.js';
import { DatabaseState } from './database-state.js';
import type { Dialect } from './dialects/dialect.js';
import { DIALECTS } from './dialects/dialects.js';
import { asConnectFailure, failureMessage, failureOf, NotUsable, prepareConnection } from './failures.js';
import { migrate } from './migrate.js';
import { compareMigrations, requireRights } from './schema.js';

/** How often what SQLite has committed is moved from its log into its file, in milliseconds. */
const CHECKPOINT_INTERVAL = 60_000;

export type DatabaseSettings = Pick<Settings, 'STATEMENT_TIMEOUT' | 'MAX_WAITING'> & {
  /** Whether only reads follow: then the schema stays as it is, and must be that of this release. */
  readonly readsOnly?: boolean;
  /** What migrations tell how far they are. */
  readonly progress?: Progress;
};

export type WorkKind = 'read' | 'autocommit' | 'transaction';

type Work<T> = (manager: EntityManager) => Promise<T>;

/** A database that is opened on demand: two pools of connections, and the state that says whether it is usable. */
export class Database {
  readonly dialect: Dialect;
  /** Separate pools: writes that wait for locks must not block reads. Set by `connect`. */
  private reads: DataSource | undefined;
  private writes: DataSource | undefined;
  /** Connections of which it is known that the service can use their server. */
  private prepared = new WeakSet<object>();
  private readonly url: PersistentUrl;
  private readonly timeout: number;
  private readonly state: DatabaseState;
  private lastWrite: Promise<unknown> = Promise.resolve();
  /** Of SQLite. To read it takes a tenth of the time of a cached response. */
  private latestVersion: OncePerTurn<number> | undefined;
  /** Those of SQLite. */
  private readonly files: OpenFiles | undefined;
  private areFilesMoved = false;
  private checkpointTimer: NodeJS.Timeout | undefined;

  /** `report` receives sentences for the log. */
  constructor(
    url: PersistentUrl,
    private readonly limits: DatabaseSettings,
    private readonly report: (message: string) => void,
  ) {
    this.state = new DatabaseState(() => this.connect().catch((error) => this.failToConnect(error)), report);
    this.url = createDatabaseFile(url);
    // The given path may be a symbolic link, which may be changed.
    if (url.engine === 'sqlite') this.files = new OpenFiles(resolve(url.file), (this.url as SqliteUrl).file);
    this.timeout = databaseTimeout(limits);
    this.dialect = DIALECTS[url.engine];
  }

  /**
   * Opens and migrates the database. Rejects with `UsageError` if only its operator can make it usable. If it is down
   * or busy, resolves all the same: requests open it later.
   */
  async open(): Promise<void> {
    try {
      await this.state.open();
    } catch (error) {
      const failure = failureOf(this.dialect, error);
      const needsOperator = !failure || failure === 'misconfigured' || error instanceof NotUsable;
      if (!needsOperator) return this.state.logFailure(this.unavailable(error));
      await this.close();
      throw failure ? new UsageError(failureMessage(this.url, error)) : error;
    }
  }

  /**
   * Runs work on a connection; on SQLite a write runs after the writes before it. On a server the connection is closed
   * at the deadline, on the clock of `performance.now()`; the statement may still be executed.
   */
  async run<T>(kind: WorkKind, work: Work<T>, deadline: number): Promise<T> {
    await this.state.open();
    if (kind === 'read' || this.dialect.isServer) return this.runOnConnection(kind, work, deadline);
    // One write after the other, as all share one connection.
    const running = this.lastWrite.then(() => this.runOnConnection(kind, work, deadline));
    this.lastWrite = running.catch(() => undefined);
    return running;
  }

  /** The error with which a request fails; its message, for the log, names the database and repeats what that said. */
  unavailable(error: unknown): DatabaseUnavailable {
    return new DatabaseUnavailable(failureMessage(this.url, error));
  }

  /** See `DatabaseState.logFailure`. */
  logFailure(error: DatabaseUnavailable): void {
    this.state.logFailure(error);
  }

  /** See `PetRepository.version`. */
  version(): number | undefined {
    try {
      return this.latestVersion?.get();
    } catch {
      // The read that follows rejects with the reason.
      return undefined;
    }
  }

  /** Throws `DatabaseUnavailable` if a commit would be lost with a SQLite file that was moved, deleted or replaced. */
  requireFiles(): void {
    const moved = this.files?.moved();
    this.areFilesMoved = moved !== undefined;
    if (moved !== undefined)
      throw new DatabaseUnavailable(
        `${this.url.name}: ${quoted(moved)} was moved, deleted or replaced while the service had it open. ` +
          'Nothing is stored until it is moved back or the service is restarted.',
      );
  }

  /** Moves what SQLite has committed from its log into its file, so that a copy of that has everything. */
  async checkpoint(): Promise<void> {
    clearTimeout(this.checkpointTimer);
    this.checkpointTimer = undefined;
    if (this.dialect.isServer || this.limits.readsOnly) return;
    const run = () => this.writes?.query<{ busy: bigint }[]>('PRAGMA wal_checkpoint(TRUNCATE)');
    const running = this.lastWrite.then(run).catch(() => undefined);
    this.lastWrite = running;
    // Another process reads or writes.
    if ((await running)?.[0]?.busy !== 0n) this.checkpointLater();
  }

  async close(): Promise<void> {
    await this.state.close();
    await this.checkpoint();
    clearTimeout(this.checkpointTimer);
    this.latestVersion = undefined;
    for (const source of [this.reads, this.writes]) if (source) await untilClosed(source.destroy());
    if (!this.dialect.isServer) await collectGarbage();
  }

  private async runOnConnection<T>(kind: WorkKind, work: Work<T>, deadline: number): Promise<T> {
    const runner = (kind === 'read' ? this.reads : this.writes)!.createQueryRunner();
    const connection = (await asConnectFailure(runner.connect()).catch((error) => this.failToConnect(error))) as object;
    const { discard } = this.dialect;
    // Waiting for the connection may have used up the time.
    if (performance.now() >= deadline) {
      await runner.release();
      throw databaseTimedOut();
    }
    try {
      const running = this.execute(connection, runner, kind, work);
      return await (discard ? withTimeout(deadline - performance.now(), running) : running);
    } catch (error) {
      if (failureOf(this.dialect, error) === 'unavailable') discard?.(connection);
      // The other connections lead to the same server.
      if (error instanceof NotUsable) this.prepared = new WeakSet();
      throw error;
    } finally {
      await runner.release();
    }
  }

  /**
   * Runs work, in a transaction if it is to have one. TypeORM's `transaction` is not used: if its ROLLBACK fails, the
   * transaction stays open, and later writes of SQLite's only connection for writes would join it, acknowledged and
   * never committed.
   */
  private async execute<T>(connection: object, runner: QueryRunner, kind: WorkKind, work: Work<T>): Promise<T> {
    if (!this.prepared.has(connection)) {
      await prepareConnection(runner.manager);
      this.prepared.add(connection);
    }
    if (kind !== 'transaction') return work(runner.manager);
    if (this.areFilesMoved) this.requireFiles();
    try {
      await runner.query(this.dialect.begin);
      const result = await work(runner.manager);
      await runner.query('COMMIT');
      // After the commit, since the files may be moved at any time before it.
      this.requireFiles();
      this.checkpointLater();
      return result;
    } catch (error) {
      const { discard } = this.dialect;
      const failure = failureOf(this.dialect, error);
      if (!discard || failure !== 'unavailable') await runner.query('ROLLBACK').catch(() => discard?.(connection));
      // On SQLite BEGIN meets an open transaction if an earlier ROLLBACK failed; this one has ended that.
      throw error;
    }
  }

  /** A timer that runs already stays: a service that is never idle is checkpointed, too. */
  private checkpointLater(): void {
    if (!this.dialect.isServer)
      this.checkpointTimer ??= setTimeout(() => void this.checkpoint(), CHECKPOINT_INTERVAL).unref();
  }

  /** Rethrows an error of connecting. If only the operator can mend it, pauses further attempts. */
  private failToConnect(error: unknown): never {
    if (failureOf(this.dialect, error) === 'misconfigured') this.state.pause(this.unavailable(error));
    throw error;
  }

  private async connect(): Promise<void> {
    this.reads ??= await this.openPool();
    this.writes ??= await this.openPool();
    const isPending = async (manager: EntityManager) => {
      const { pending, newer } = await compareMigrations(manager);
      if (newer) this.report(newer);
      if (pending.length === 0) await requireRights(manager);
      else if (this.limits.readsOnly)
        throw new UsageError(
          `${this.url.name} (${locationOf(this.url)}): the schema is not that of this release; ` +
            `pending: ${pending.join(', ')}. "petstore migrate" or the next start of the service applies them.`,
        );
      return pending.length > 0;
    };
    const deadline = performance.now() + this.timeout;
    // Migrations run on a connection of their own, whose statements have no time limit.
    if (await this.runOnConnection('autocommit', isPending, deadline))
      await withDataSource(dataSourceOptions(this.url), (source) => migrate(source, this.limits.progress));
    await this.checkpoint();
    if (this.url.engine === 'sqlite') {
      // At the latest with its first read a connection opens the log, which stays the same as long as it is open.
      await this.reads.query('SELECT 1 FROM sqlite_schema');
      this.files?.add(`${this.url.file}-wal`, `${this.url.file}-shm`);
    }
    // On SQLite's only connection for reads: commits on the same one would not change the version. It need not be
    // released, since it comes from no pool.
    if (this.dialect.versionOf)
      this.latestVersion = new OncePerTurn(this.dialect.versionOf(await this.reads.createQueryRunner().connect()));
  }

  private async openPool(): Promise<DataSource> {
    const poolSize = this.url.engine === 'sqlite' ? 1 : Math.max(1, Math.floor(this.url.pool / 2));
    // A statement of SQLite that waits for a lock would block the event loop.
    const statements = this.dialect.isServer ? [] : ['PRAGMA busy_timeout = 0'];
    if (!this.dialect.isServer && !this.limits.readsOnly) statements.unshift('PRAGMA journal_mode = WAL');
    return openDataSource(dataSourceOptions(this.url, poolSize, this.limits.STATEMENT_TIMEOUT), ...statements);
  }
}
