import cluster, { Worker } from 'node:cluster';
import { Log } from '../adapters/log/log.js';
import type { StopStep } from '../adapters/net/stop-step.js';
import type { Config } from '../config.js';
import { stopOnSignal } from './graceful-stop.js';
import { greet, type Opening } from './greeting.js';
import { closeUntaken } from './untaken-connections.js';

/** What tells a worker to stop in order. */
const STOP = 'stop';

/** What primary and workers tell each other. */
interface Message {
  /** The worker serves. */
  readonly opening?: Opening;
  /** The step of a stop that the worker has come to. */
  readonly reached?: StopStep;
  /** The step that all workers have come to. */
  readonly passed?: StopStep;
}

/** How long to wait before a worker is replaced, in milliseconds: others may have ended with it. */
const FIRST_PAUSE = 100;

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
  const together = (step: StopStep) =>
    new Promise<void>((resolve) => {
      if (!worker.isConnected()) return resolve();
      worker.on('message', ({ passed }: Message) => passed === step && resolve());
      tell(worker, { reached: step });
    });
  const { opening, stop } = await open({ ...config, stopTimeout }, new Log(config.log), together);
  worker.on('message', (message) => message === STOP && stop());
  worker.on('disconnect', () => {
    // Else Node would end it at once if the primary is gone.
    worker.exitedAfterDisconnect = true;
    stop();
  });
  tell(worker, { opening });
}

/**
 * The process that starts the workers, hands them the connections and replaces those that end. It loads nothing of the service, so
 * that it is small and has nothing to fail by.
 */
class Primary {
  /** The workers that answer requests. */
  readonly serving = new Set<Worker>();
  private readonly workers = new Set<Worker>();

  /** Those of them that listen. */
  private readonly listening = new Set<Worker>();

  /** The step of a stop that each worker has come to, and what it does behind it. */
  private readonly reached = new Map<Worker, StopStep | 'closing' | 'ending'>();
  private readonly log: Log;
  private readonly stop: () => void;
  private opening: Opening | undefined;
  private port: number | undefined;
  private isOpen = false;
  private isStopping = false;
  private hasFailed = false;
  private allLeft: (() => void) | undefined;

  constructor(private readonly config: Config) {
    this.log = new Log(config.log);
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
    if (this.isStopping) return;
    let worker: Worker;
    try {
      // If any free port would do, those that listen on the one that was found hold it; if none does, it has to be asked for.
      worker = cluster.fork(this.port && this.serving.size === 0 ? { PORT: this.port } : {});
    } catch (error) {
      return this.notStarted(error as Error, pause);
    }
    this.workers.add(worker);
    worker.once('online', () => closeUntaken(worker, this.listening));
    worker.on('error', (error) => {
      // What cannot be sent to a worker is told by its end; one that could not be started has none.
      if (worker.process.pid !== undefined) return;
      delete cluster.workers?.[worker.id];
      this.left(worker);
      this.notStarted(error, pause);
    });
    worker.once('listening', ({ port }) => (this.port = port));
    worker.on('message', ({ opening, reached }: Message) => {
      if (opening) this.serves(worker, opening);
      if (reached) this.reaches(worker, reached);
    });
    worker.once('exit', (code, signal: string | null) => {
      const served = this.left(worker);
      if (this.isStopping && served && code !== 0) this.hasFailed = true;
      this.replace(`ended (${signal ?? `exit code ${code}`})`, served ? FIRST_PAUSE : pause);
    });
  }

  private serves(worker: Worker, opening: Opening): void {
    this.serving.add(worker);
    this.listening.add(worker);
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
    if (this.isStopping) return;
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
    this.listening.delete(worker);
    this.reached.delete(worker);
    this.tellPassed();
    if (this.workers.size === 0) this.allLeft?.();
    return served;
  }

  private reaches(worker: Worker, step: StopStep): void {
    if (step === 'closed') this.listening.delete(worker);
    this.reached.set(worker, step);
    // One that is stopped by itself has nobody to wait for.
    if (this.isStopping) this.tellPassed();
    else this.pass(worker, step);
  }

  private pass(worker: Worker, step: StopStep): void {
    this.reached.set(worker, step === 'quiet' ? 'closing' : 'ending');
    tell(worker, { passed: step });
  }

  /**
   * Has the workers go on with their stop, once all of them have come so far: but for one, all close, which takes what those that are closed do not
   * take; then that one; and then all of them answer.
   */
  private tellPassed(): void {
    const those = (at?: StopStep | 'closing') => [...this.serving].filter((worker) => this.reached.get(worker) === at);
    if (those().length + those('closing').length > 0) return;
    const quiet = those('quiet');
    for (const worker of quiet.length > 1 ? quiet.slice(1) : quiet) this.pass(worker, 'quiet');
    if (quiet.length === 0) for (const worker of those('closed')) this.pass(worker, 'closed');
  }

  private async close(): Promise<void> {
    this.isStopping = true;
    for (const worker of this.workers) {
      if (this.serving.has(worker)) tell(worker, STOP);
      else worker.process.kill();
    }
    if (this.workers.size > 0) await new Promise<void>((resolve) => (this.allLeft = resolve));
    if (this.hasFailed) throw new Error('A worker did not stop in order.');
  }

  private cutOff(): void {
    for (const worker of this.workers) worker.process.kill('SIGKILL');
    process.exit(1);
  }
}

/** Sends a message. If the other side has ended, it gets lost, and the `exit` event tells of that end. */
function tell(worker: Worker, message: string | Message): void {
  worker.send(message, () => undefined);
}
