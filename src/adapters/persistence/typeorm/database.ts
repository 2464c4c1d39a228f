import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailable } from '../../../application/errors.js';
import { Readiness } from '../../../application/readiness.port.js';
import { within } from '../../../application/within.js';
import type { Asker, Caller, DatabaseObserver } from './database-observer.js';
import { connect, disconnect, driverError, Engine, isUnavailable } from './engines/engine.js';
import { NotPrimary } from './engines/primary.js';
import { applySteps, requireEncoding, schemaSteps } from './schema-steps.js';

/** How long to pause between two attempts to reach a database that is not there, in milliseconds. */
const RETRY_PAUSE = 1_000;

/** How long to pause before asking again if another transaction is in the way, in milliseconds. */
const BUSY_PAUSE = 5;

/**
 * For how long to ask again in each turn of the event loop before that, in milliseconds: another process on the same file of SQLite takes less
 * for a commit, and two of them add a fifth more so.
 */
const BUSY_TURNS = 3;

/** How long to pause before what is repeatable is asked again if its connection was lost, in milliseconds: where one was cut, others are about to be. */
const REPEAT_PAUSES = [5, 25, 125];

/** How often to look whether the database is still the one that was opened, in milliseconds. */
const LOOK_INTERVAL = 500;

/** How long the database may take to say that it is there, in milliseconds. */
const READY_PATIENCE = 1_500;

/** How long the server may take to say what it is, in milliseconds. */
const SERVER_PATIENCE = 1_000;

/** The connection to the database: opened, migrated, kept, closed. What the repositories ask of it goes through `query`. */
export class Database implements Readiness {
  private ready = false;
  private closed = false;
  private retry: NodeJS.Timeout | undefined;
  private looking: NodeJS.Timeout | undefined;
  private astray: string | undefined;
  private lookUnderWay: Promise<void> | undefined;
  private checking: Promise<void> | undefined;
  private attempt: Promise<void> | undefined;
  private trouble = 'It was not asked yet.';

  /** How many requests wait. */
  private waiting = 0;

  /** The kinds of trouble that were reported. */
  private readonly troubles = new Set<string>();

  /**
   * `report` is told in a sentence when the database cannot be reached, and when it can again. A request waits for no longer than `patience`,
   * in milliseconds on the monotonic clock `now`.
   */
  constructor(
    private readonly engine: Engine,
    private readonly report: (message: string) => void,
    private readonly maxWaiting = Infinity,
    private readonly observer?: DatabaseObserver,
    private readonly patience = 8_000,
    private readonly now = () => performance.now(),
  ) {}

  /**
   * Connects and migrates. If the database cannot be reached it resolves all the same, and goes on trying until it can;
   * if it is reached and not as it should be, it rejects.
   */
  open(): Promise<void> {
    const { engine } = this;
    if (engine.pools && engine.serverState) {
      const server = () => within(SERVER_PATIENCE, engine.serverState!(), late);
      this.observer?.watch?.(() => engine.pools!(), server);
    }
    return (this.attempt = this.connect());
  }

  /**
   * Lets a request wait for the database until the deadline that it is handed, whatever it waits for; rejects with `StoreUnavailable` then, or
   * at once if too many wait, so that they do not fill the memory. What is given up counts for as long as it is under way.
   */
  admit<T>(wait: (deadline: number) => Promise<T>): Promise<T> {
    if (this.waiting >= this.maxWaiting)
      return Promise.reject(new StoreUnavailable('Too many requests wait for the database.'));
    this.waiting++;
    return new Promise((resolve, reject) => {
      const givingUp = setTimeout(() => reject(late()), this.patience).unref();
      const end = () => {
        this.waiting--;
        clearTimeout(givingUp);
      };
      wait(this.now() + this.patience).then(
        (value) => {
          end();
          resolve(value);
        },
        (error: Error) => {
          end();
          reject(error);
        },
      );
    });
  }

  /** Admits a request that waits for one query that writes, and runs it. */
  write<T>(summary: string, query: (engine: Engine) => Promise<T>): Promise<T> {
    return this.admit((deadline) => this.query(summary, query, deadline));
  }

  /** The same for one that only reads. */
  read<T>(summary: string, query: (engine: Engine) => Promise<T>): Promise<T> {
    return this.admit((deadline) => this.query(summary, query, deadline, true));
  }

  /** Throws `StoreUnavailable` if the deadline of a request has passed: nobody waits any more for what would be done for it. */
  checkDeadline(deadline: number): void {
    if (this.now() >= deadline) throw late();
  }

  /**
   * Runs a query, for requests that were admitted: again and again until their deadline if another transaction is in the way, and a few times
   * if its connection was lost and it `isRepeatable`, which is to say that it makes no difference if it was done before. Makes
   * `StoreUnavailable` of every error that says that the database cannot answer now. The observer is told the `summary`, such as `SELECT pet`, and
   * for whom the query is if it is for others than who calls.
   */
  query<T>(
    summary: string,
    query: (engine: Engine) => Promise<T>,
    deadline = this.now() + this.patience,
    isRepeatable = false,
    askers?: readonly Asker[],
  ): Promise<T> {
    if (!this.observer) return this.run(query, deadline, isRepeatable);
    return this.observer.query(summary, () => this.run(query, deadline, isRepeatable), askers);
  }

  /** Runs what commits pets together for these requests, and has the observer see it. */
  commit<T>(askers: readonly Asker[], commit: () => Promise<T>): Promise<T> {
    return this.observer ? this.observer.commit(askers, commit) : commit();
  }

  /** See `DatabaseObserver.callers`. */
  callers(): readonly Caller[] | undefined {
    return this.observer?.callers?.();
  }

  check(): Promise<void> {
    return (this.checking ??= this.ask().finally(() => (this.checking = undefined)));
  }

  /** See `Engine.concurrentWriters`. */
  get concurrentWriters(): boolean {
    return this.engine.concurrentWriters;
  }

  /** Whether reads cost a round trip, which they can share: see `Engine.together`. */
  get sharesReads(): boolean {
    return this.engine.together !== undefined;
  }

  /** See `Engine.revision`; undefined too if the database cannot say: whoever asks it anything else is told why. */
  revision(): number | undefined {
    try {
      return this.ready ? this.engine.revision?.() : undefined;
    } catch {
      return undefined;
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    this.ready = false;
    clearTimeout(this.retry);
    clearInterval(this.looking);
    await this.attempt?.catch(() => undefined);
    await disconnect(this.engine);
  }

  /** Tells those whose deadline has passed. One timer for all of them: one for each is a fiftieth of what a request costs that asks the database. */
  /** Takes a database that is no longer the one that was opened for one that is not there, until it is that one again. */
  private look(): Promise<void> {
    return (this.lookUnderWay ??= this.lookNow().finally(() => (this.lookUnderWay = undefined)));
  }

  private async lookNow(): Promise<void> {
    // A database that does not answer is told of by whatever else it is asked.
    const astray = await Promise.resolve(this.engine.astray?.()).catch(() => this.astray);
    if (astray === this.astray || this.closed) return;
    this.astray = astray;
    this.ready = astray === undefined;
    if (astray !== undefined) this.trouble = astray;
    this.report(astray ?? 'The database is the one that was opened again; the service is ready.');
  }

  private async run<T>(query: (engine: Engine) => Promise<T>, deadline: number, isRepeatable: boolean): Promise<T> {
    const repeats = isRepeatable ? [...REPEAT_PAUSES] : [];
    let busyUntil: number | undefined;
    if (!this.ready) throw new StoreUnavailable(`The database cannot be reached. ${this.trouble}`);
    this.checkDeadline(deadline);
    for (;;) {
      try {
        return await query(this.engine);
      } catch (error) {
        const failure = this.engine.failure(error);
        if (!isUnavailable(failure)) throw error;
        const failedAt = this.now();
        busyUntil ??= failedAt + BUSY_TURNS;
        const busyPause = failedAt < busyUntil ? 0 : BUSY_PAUSE;
        const pause = failure === 'busy' ? busyPause : failure === 'lost' ? repeats.shift() : undefined;
        if (pause === undefined || failedAt + pause >= deadline)
          throw new StoreUnavailable('The database cannot answer.', { cause: error });
        await (pause === 0 ? immediate() : delay(pause));
      }
    }
  }

  private async ask(): Promise<void> {
    try {
      await within(READY_PATIENCE, this.askNow(), () => new StoreUnavailable('The database does not answer in time.'));
    } catch (error) {
      throw error instanceof StoreUnavailable
        ? error
        : new StoreUnavailable('The database is not as it should be.', { cause: error });
    }
  }

  private async askNow(): Promise<void> {
    if (this.looking) await this.look();
    await this.read('SELECT pet', (engine) => engine.rows({ sql: 'SELECT id FROM pet LIMIT 1', values: [] }));
  }

  private async connect(): Promise<void> {
    try {
      await connect(this.engine);
      if (this.observer?.wait) this.engine.tellWaits?.((pool, duration) => this.observer?.wait?.(pool, duration));
      await requireEncoding(this.engine);
      const steps = await schemaSteps(this.engine.dataSource);
      if (steps.some(({ applied }) => !applied)) await applySteps(this.engine);
      if (this.retry) this.report('The database is there; the service is ready.');
      this.ready = !this.closed;
      if (this.ready && this.engine.astray) this.looking = setInterval(() => void this.look(), LOOK_INTERVAL).unref();
    } catch (error) {
      // Whoever starts the service is told what is wrong with the database; what has become wrong later may become right again.
      const isFatal = error instanceof NotPrimary || !isUnavailable(this.engine.failure(error));
      if (isFatal && !this.retry) throw error;
      this.trouble = said(error);
      const kind = (driverError(error).code as string | undefined) ?? this.trouble;
      const state = this.engine.dataSource.isInitialized ? 'used' : 'reached';
      if (!this.troubles.has(kind))
        this.report(`The database cannot be ${state}. ${this.trouble} Trying again every second.`);
      this.troubles.add(kind);
      if (!this.closed) this.retry = setTimeout(() => void (this.attempt = this.connect()), RETRY_PAUSE).unref();
    }
  }
}

function late(): StoreUnavailable {
  return new StoreUnavailable('The database did not answer in time.');
}

/** What an error says, as a sentence; its code if it says nothing, as it does when several addresses were tried in vain. */
export function said(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  const text = message || code || 'It gave no reason.';
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
