import cluster, { Worker } from 'node:cluster';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Log } from '../adapters/log/log.js';
import { handTo, Listener } from '../adapters/net/listener.js';
import { UsageError } from '../application/errors.js';
import { within } from '../application/within.js';
import type { Config } from '../config.js';
import { Distribution, type Offer, type Reply, tell } from './distribution.js';
import { stopOnSignal } from './graceful-stop.js';
import { greet, type Opening } from './greeting.js';
import type { Source } from './serve.js';

/** What tells a worker to stop in order. */
const STOP = 'stop';

/** What a worker tells the primary. */
interface FromWorker extends Reply {
  /** It could serve, and wants connections. */
  readonly isReady?: boolean;
  /** It serves. */
  readonly opening?: Opening;
  /** It stops, and wants to be told when no connection comes any more. */
  readonly leaves?: boolean;
}

/** What the primary tells a worker. */
interface FromPrimary extends Offer {
  /** Where connections are taken for it. */
  readonly address?: string;
  /** Why none can be. */
  readonly complaint?: string;
  /** No connection comes any more. */
  readonly isClosed?: boolean;
}

/** How long to wait before a worker is replaced, in milliseconds: others may have ended with it. */
const FIRST_PAUSE = 100;

/** Within what time the signal that stopped a worker comes to the primary, if it does, in milliseconds. */
const SIGNAL_TO_ALL = 100;

/** The longest pause, in milliseconds; each one is twice the one before for as long as no worker comes to serve. */
const LONGEST_PAUSE = 10_000;

/** Which part of the time behind the delay of a stop the workers have: they cut off by themselves, and write their logs then. */
const SHARE = 0.95;

/** Serves by several workers on one port until SIGTERM or SIGINT. */
export async function supervise(config: Config): Promise<void> {
  const primary = new Primary(config);
  if (config.metrics) {
    const { MetricsServer } = await import('../adapters/metrics/metrics-server.js');
    const { metricsOf } = await import('../adapters/metrics/metrics-of-workers.js');
    await new MetricsServer(config.metrics, () => metricsOf(primary.serving)).open();
  }
  if (config.counting.isUsed) {
    const { MemoryCounts } = await import('../adapters/counting/memory-counts.js');
    const { countFor } = await import('../adapters/counting/primary-counts.js');
    const counts = new MemoryCounts();
    cluster.on('fork', (worker) => countFor(worker, counts));
  }
  primary.fork();
}

/** Serves as one of the workers; tells the primary once it does. */
export async function work(config: Config): Promise<void> {
  const worker = cluster.worker as Worker;
  const { open } = await import('./serve.js');
  const { stopDelay } = config;
  const stopTimeout = stopDelay + SHARE * (config.stopTimeout - stopDelay);
  const { opening, stop } = await open(
    { ...config, stopTimeout },
    new Log(config.log),
    new FromThePrimary(worker, config),
  );
  worker.on('message', (message) => message === STOP && stop());
  worker.on('disconnect', () => {
    // Else Node would end it at once if the primary is gone.
    worker.exitedAfterDisconnect = true;
    stop();
  });
  tell(worker, { opening });
}

/** The connections of a worker, which its primary takes. */
class FromThePrimary implements Source {
  constructor(
    private readonly worker: Worker,
    private readonly config: Config,
  ) {}

  async open(server: Server): Promise<string> {
    let latest: number | undefined;
    this.worker.on('message', ({ offered, sought }: FromPrimary, socket?: Socket) => {
      if (offered !== undefined) {
        latest = offered;
        tell(this.worker, socket && handTo(server, socket) ? { taken: offered } : { refused: offered });
      } else if (sought !== undefined && sought !== latest) tell(this.worker, { refused: sought });
    });
    const { address, complaint } = await this.ask({ isReady: true }, (told) => told.address ?? told.complaint);
    if (address === undefined) throw new UsageError(String(complaint));
    return address;
  }

  async close(): Promise<void> {
    const { worker } = this;
    if (!worker.isConnected()) return;
    const { stopDelay, http } = this.config;
    const gone = new Promise((resolve) => worker.once('disconnect', resolve));
    const closed = this.ask({ leaves: true }, ({ isClosed }) => isClosed);
    const tooLate = () => new Error('The primary takes too long.');
    await within(stopDelay + http.closeTimeout, Promise.race([closed, gone]), tooLate).catch(() => {
      // Connections that have come may be left without an answer.
      process.exitCode = 1;
    });
  }

  private ask(message: FromWorker, isAnswer: (told: FromPrimary) => unknown): Promise<FromPrimary> {
    return new Promise((resolve) => {
      this.worker.on('message', (told: FromPrimary) => isAnswer(told) && resolve(told));
      tell(this.worker, message);
    });
  }
}

/**
 * The process that starts the workers, takes the connections and hands them over, and replaces the workers that end. It loads nothing of the
 * service, so that it is small and has nothing to fail by.
 */
class Primary {
  /** The workers that answer requests. */
  readonly serving = new Set<Worker>();
  private readonly workers = new Set<Worker>();
  private readonly distribution: Distribution;
  private readonly listener: Listener;
  private address: Promise<string> | undefined;
  private closed: Promise<void> | undefined;
  private readonly log: Log;
  private readonly stop: () => void;
  private opening: Opening | undefined;
  private isOpen = false;
  private isStopping = false;

  /** Whether no connection comes any more, and none waits. */
  private isClosed = false;
  private hasFailed = false;
  private allLeft: (() => void) | undefined;

  constructor(private readonly config: Config) {
    this.log = new Log(config.log);
    this.distribution = new Distribution(config.workers * config.http.maxConnections);
    this.listener = new Listener(config, (socket) => this.distribution.hand(socket));
    this.stop = stopOnSignal(
      () => this.close(),
      config.stopTimeout,
      () => this.cutOff(),
    );
  }

  /**
   * Starts a worker; `pause` is how long to wait before another one if it does not come to serve. The first worker is alone until it
   * serves: it prepares the database and makes the first key.
   */
  fork(pause = FIRST_PAUSE): void {
    if (!this.isWanted) return;
    let worker: Worker;
    try {
      worker = cluster.fork();
    } catch (error) {
      return this.notStarted(error as Error, pause);
    }
    this.workers.add(worker);
    worker.on('error', (error) => {
      // What cannot be sent to a worker is told by its end; one that could not be started has none.
      if (worker.process.pid !== undefined) return;
      delete cluster.workers?.[worker.id];
      this.left(worker);
      this.notStarted(error, pause);
    });
    worker.on('message', ({ isReady, opening, leaves }: FromWorker) => {
      // What a worker has said may come behind its end.
      if (!this.workers.has(worker)) return;
      if (isReady) void this.listenFor(worker);
      if (opening) this.serves(worker, opening);
      if (leaves) void this.leaves(worker);
    });
    worker.once('exit', (code, signal: string | null) => {
      const served = this.left(worker);
      if (this.isStopping && served && code !== 0) this.hasFailed = true;
      this.replace(`ended (${signal ?? `exit code ${code}`})`, served ? FIRST_PAUSE : pause);
    });
  }

  private async listenFor(worker: Worker): Promise<void> {
    if (this.isClosed) return;
    try {
      this.address ??= this.listener.open();
      tell(worker, { address: await this.address });
      this.distribution.add(worker);
    } catch (error) {
      tell(worker, { complaint: (error as Error).message });
    }
  }

  private serves(worker: Worker, opening: Opening): void {
    this.serving.add(worker);
    if (this.isStopping) return tell(worker, STOP);
    if (!this.opening) {
      this.opening = opening;
      for (let i = 1; i < this.config.workers; i++) this.fork();
    }
    if (this.isOpen || this.serving.size < this.config.workers) return;
    this.isOpen = true;
    greet(this.opening, this.config, this.log);
  }

  private notStarted(error: Error, pause: number): void {
    if (!this.opening) process.stderr.write(`No worker could be started: ${error.message}\n`);
    this.replace(`could not be started (${error.message})`, pause);
  }

  private replace(how: string, pause: number): void {
    if (!this.isWanted) return;
    if (this.opening) {
      setTimeout(() => this.fork(Math.min(2 * pause, LONGEST_PAUSE)), pause);
      this.log.warn(`A worker ${how} and is replaced in ${pause / 1_000} s.`, 'workers');
    } else {
      // It has been said what was wrong.
      this.hasFailed = true;
      this.stop();
    }
  }

  /** Forgets a worker, and tells whether it served. */
  private left(worker: Worker): boolean {
    this.workers.delete(worker);
    const served = this.serving.delete(worker);
    if (this.workers.size === 0) this.allLeft?.();
    return served;
  }

  private async leaves(worker: Worker): Promise<void> {
    // A signal to all processes may come to this one last.
    if (!this.closed) await delay(SIGNAL_TO_ALL);
    if (!this.closed) this.distribution.remove(worker);
    await this.closed;
    tell(worker, { isClosed: true });
  }

  /** Whether another worker is: in a stop, for connections that nobody else can take. */
  private get isWanted(): boolean {
    return !this.isStopping || (!this.isClosed && !this.distribution.hasWorkers);
  }

  private async close(): Promise<void> {
    this.isStopping = true;
    for (const worker of this.serving) tell(worker, STOP);
    this.closed = this.listener.close().then(() => this.distribution.done());
    if (!this.isWanted) this.endStarting();
    await this.closed;
    this.isClosed = true;
    this.endStarting();
    if (this.workers.size > 0) await new Promise<void>((resolve) => (this.allLeft = resolve));
    if (this.hasFailed) throw new Error('A worker did not stop in order.');
  }

  private endStarting(): void {
    for (const worker of this.workers) if (!this.serving.has(worker)) worker.process.kill();
  }

  private cutOff(): void {
    for (const worker of this.workers) worker.process.kill('SIGKILL');
    process.exit(1);
  }
}
