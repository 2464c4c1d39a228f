import { setTimeout as delay } from 'node:timers/promises';
import { DataSource, EntityManager } from 'typeorm';
import { DatabaseUnavailable, late } from '../../../application/errors.js';
import { databaseTimeout, within } from '../../../application/within.js';
import { UNOBSERVED } from '../database-observer.js';
import { DatabaseLimits, LastingUrl } from '../database-url.js';
import { collectGarbage, resolved } from '../sqlite-file.js';
import { closing, dataSourceOptions, dialectOf, initialize, withSource } from './data-source.js';
import { connecting, Dialect, failureOf, NotWritable, prepare, said } from './dialects/dialect.js';
import { compareMigrations, migrate } from './schema.js';

/** How long to pause before work is retried, in milliseconds. */
const RETRY_PAUSE = { busy: 5, unavailable: 50 };

/** How often a read is retried after a connection has failed: others of the pool may fail too. */
const RETRIES = 3;

/** A `write` is one statement that commits by itself. */
export type WorkKind = 'read' | 'write' | 'transaction';

type Work<T> = (manager: EntityManager) => Promise<T>;

/** An open database. It bounds every wait, retries what may be retried, and throws `DatabaseUnavailable` otherwise. */
export class Database {
  readonly dialect: Dialect;
  /** Reads have connections of their own, which no write that waits for a lock can take. */
  private readonly reads: DataSource;
  private readonly writes: DataSource;
  private readonly prepared = new WeakSet<object>();
  private readonly url: LastingUrl;
  private readonly timeout: number;
  /** Set while it opens and once it is open. */
  private opening: Promise<void> | undefined;
  private isClosed = false;
  private lastWrite: Promise<unknown> = Promise.resolve();
  private pending = 0;
  private readVersion: (() => number) | undefined;
  private latestVersion: number | undefined;

  /** `report` receives sentences for the log. */
  constructor(
    url: LastingUrl,
    private readonly limits: DatabaseLimits,
    private readonly report: (message: string) => void,
    readonly observer = UNOBSERVED,
  ) {
    this.url = resolved(url);
    this.timeout = databaseTimeout(limits);
    const poolSize = url.engine === 'sqlite' ? 1 : Math.max(1, Math.floor(url.pool / 2));
    const options = dataSourceOptions(this.url, poolSize, limits.STATEMENT_TIMEOUT);
    this.writes = new DataSource(options);
    this.reads = new DataSource(options);
    this.dialect = dialectOf(this.writes);
  }

  /** Opens and migrates the database; rejects with `UsageError` if it is unsuitable. If it is down, requests retry. */
  async open(): Promise<void> {
    try {
      await this.connect();
    } catch (error) {
      // An unsuitable database ends the start. One that cannot be reached may come back.
      if (error instanceof NotWritable || !failureOf(this.dialect, error)) {
        await this.close();
        throw error;
      }
      this.report(`The database cannot be used. ${said(error)} Requests try again.`);
    }
  }

  /** Runs work of a request with a deadline; rejects at once if too many are pending, which would fill the memory. */
  admit<T>(work: (deadline: number) => Promise<T>): Promise<T> {
    if (this.pending >= this.limits.MAX_WAITING)
      return Promise.reject(new DatabaseUnavailable('Too many requests wait for the database.'));
    this.pending++;
    const running = work(performance.now() + this.timeout);
    const settled = () => void this.pending--;
    void running.then(settled, settled);
    return within(this.timeout, running);
  }

  /**
   * Runs work; again after a conflict or, if it is a read, after a failure. Without a deadline it is admitted as a
   * request of its own. The summary, such as `SELECT pet`, is for the observer.
   */
  run<T>(kind: WorkKind, summary: string, work: Work<T>, deadline?: number): Promise<T> {
    if (deadline === undefined) return this.admit((until) => this.run(kind, summary, work, until));
    return this.observer.query(summary, () => this.retry(kind, work, deadline));
  }

  /** See `PetRepository.version`. */
  version(): number | undefined {
    try {
      // Read once per turn of the event loop: a read costs a tenth of a cached response.
      if (this.latestVersion === undefined && this.readVersion) setImmediate(() => (this.latestVersion = undefined));
      return (this.latestVersion ??= this.readVersion?.());
    } catch {
      // The read that follows rejects with the reason.
      return undefined;
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.allSettled([this.opening, this.lastWrite]);
    this.readVersion = undefined;
    if (this.url.engine === 'sqlite' && this.writes.isInitialized)
      await this.writes.query('PRAGMA wal_checkpoint(TRUNCATE)').catch(() => undefined);
    for (const source of [this.reads, this.writes]) if (source.isInitialized) await closing(source.destroy());
    if (this.url.engine === 'sqlite') await collectGarbage();
  }

  private async retry<T>(kind: WorkKind, work: Work<T>, deadline: number): Promise<T> {
    let retries = kind === 'read' ? RETRIES : 0;
    while (true) {
      if (this.isClosed) throw new DatabaseUnavailable('The database is closed.');
      try {
        await this.connect();
        return await this.attempt(kind, work, deadline);
      } catch (error) {
        const failure = failureOf(this.dialect, error);
        if (failure === undefined || failure === 'duplicate') throw error;
        const isRetried = failure === 'busy' || (failure === 'unavailable' && retries-- > 0);
        if (!isRetried || performance.now() + RETRY_PAUSE[failure] >= deadline)
          throw new DatabaseUnavailable('The database cannot answer.', { cause: error });
        await delay(RETRY_PAUSE[failure]);
      }
    }
  }

  private attempt<T>(kind: WorkKind, work: Work<T>, deadline: number): Promise<T> {
    if (kind === 'read' || this.dialect.isServer) return this.runOnce(kind, work, deadline);
    // One write after the other, as all share one connection.
    const running = this.lastWrite.then(() => this.runOnce(kind, work, deadline));
    this.lastWrite = running.catch(() => undefined);
    return running;
  }

  /**
   * Runs work on a connection. TypeORM's `transaction` is not used: if its ROLLBACK fails, the transaction stays open,
   * and later writes of SQLite's only connection for writes would join it, acknowledged and never committed.
   */
  private async runOnce<T>(kind: WorkKind, work: Work<T>, deadline: number): Promise<T> {
    const runner = (kind === 'read' ? this.reads : this.writes).createQueryRunner();
    const connection = (await connecting(runner.connect())) as object;
    const { discard } = this.dialect;
    try {
      // Waiting for the connection may have used up the time.
      if (performance.now() >= deadline) throw late();
      if (!this.prepared.has(connection)) {
        await prepare(this.dialect, runner.manager);
        this.prepared.add(connection);
      }
      if (kind !== 'transaction') return await work(runner.manager);
      try {
        // On SQLite this fails if an earlier ROLLBACK failed; the ROLLBACK below ends that transaction.
        await runner.query(this.dialect.begin);
        const result = await work(runner.manager);
        await runner.query('COMMIT');
        return result;
      } catch (error) {
        if (!discard || failureOf(this.dialect, error) !== 'unavailable')
          await runner.query('ROLLBACK').catch(() => discard?.(connection));
        throw error;
      }
    } catch (error) {
      if (failureOf(this.dialect, error) === 'unavailable') discard?.(connection);
      throw error;
    } finally {
      if (kind !== 'read') this.latestVersion = undefined;
      await runner.release();
    }
  }

  /** Connects and migrates, unless that is done or under way; after a failure, again. */
  private connect(): Promise<void> {
    return (this.opening ??= this.connectAll().catch((error: Error) => {
      this.opening = undefined;
      throw error;
    }));
  }

  private async connectAll(): Promise<void> {
    for (const source of [this.reads, this.writes]) {
      if (!source.isInitialized) await initialize(source);
      // A statement of SQLite that waits for a lock would block the event loop.
      if (this.url.engine === 'sqlite') await source.query('PRAGMA busy_timeout = 0');
    }
    const limited = dataSourceOptions(this.url, 1, this.limits.STATEMENT_TIMEOUT);
    const { pending, newer } = await withSource(limited, compareMigrations);
    if (newer) this.report(newer);
    // On a connection whose statements have no time limit.
    if (pending.length > 0) await withSource(dataSourceOptions(this.url), migrate);
    // SQLite's only connection for reads: it comes from no pool, so it need not be released.
    if (this.dialect.versionOf)
      this.readVersion = this.dialect.versionOf(await this.reads.createQueryRunner().connect());
  }
}
