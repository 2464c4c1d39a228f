import type { ChildProcess } from 'node:child_process';
import cluster, { Worker } from 'node:cluster';
import type { Log } from '../adapters/log/log.js';
import type { Config } from '../config.js';
import { stopOnSignal } from './graceful-stop.js';

/** What tells a worker to stop in order. */
const STOP = 'stop';

/** How long to wait before a worker that served is replaced, in milliseconds: others may have ended with it. */
const PAUSE = 100;

/** How long to wait before another one is tried in place of one that ended before it served, in milliseconds. */
const LONG_PAUSE = 1_000;

/** How much more time for a stop than the workers the primary has, in milliseconds: they cut off by themselves, their logs written. */
const GRACE = 1_000;

/** Serves by several workers on one port until SIGTERM or SIGINT; `print` takes the greeting, once all of them serve. */
export async function supervise(config: Config, print: (line: string) => void): Promise<void> {
  const primary = new Primary(config, print);
  if (config.metrics) {
    const { MetricsServer } = await import('../adapters/metrics/metrics-server.js');
    const { metricsOf } = await import('../adapters/metrics/metrics-of-workers.js');
    await new MetricsServer(config.metrics, () => metricsOf(primary.serving)).open();
  }
  primary.fork();
}

/** Serves as one of the workers; tells the primary the greeting once it does. */
export async function work(config: Config): Promise<void> {
  const worker = cluster.worker as Worker;
  const { serve } = await import('./serve.js');
  const greeting: string[] = [];
  const stop = await serve(config, (line) => greeting.push(line));
  worker.on('message', (message) => message === STOP && stop());
  worker.on('disconnect', () => {
    // Else Node would end it at once where the primary is gone.
    worker.exitedAfterDisconnect = true;
    stop();
  });
  tell(worker, greeting);
}

/**
 * The process that starts the workers, hands them the connections and replaces those that end. It loads nothing of the service, so
 * that it is small and has nothing to fail by.
 */
class Primary {
  /** The workers that answer requests. */
  readonly serving = new Set<Worker>();
  private readonly workers = new Set<Worker>();
  private readonly stop: () => void;
  private greeting: readonly string[] | undefined;
  private port: number | undefined;
  private isOpen = false;
  private isStopping = false;
  private hasFailed = false;
  private log: Log | undefined;

  constructor(
    private readonly config: Config,
    private readonly print: (line: string) => void,
  ) {
    this.stop = stopOnSignal(
      () => this.close(),
      config.stopTimeout + GRACE,
      () => this.cutOff(),
    );
  }

  /** Starts a worker. The first one is alone until it serves: it prepares the database and makes the first key. */
  fork(): void {
    if (this.isStopping) return;
    // A port that was any free one is held by those that listen on it; where there are none, it has to be asked for.
    const worker = cluster.fork(this.port && this.serving.size === 0 ? { PORT: this.port } : {});
    this.workers.add(worker);
    closeUntaken(worker, () => this.isStopping);
    // What cannot be sent to it is told by its end.
    worker.on('error', () => undefined);
    worker.once('listening', ({ port }) => (this.port = port));
    worker.once('message', (greeting: string[]) => this.serves(worker, greeting));
    worker.once('exit', (code, signal) => void this.ended(worker, code, signal));
  }

  private serves(worker: Worker, greeting: readonly string[]): void {
    this.serving.add(worker);
    if (this.isStopping) return tell(worker, STOP);
    if (!this.greeting) {
      this.greeting = greeting;
      for (let i = 1; i < this.config.workers; i++) this.fork();
    }
    if (this.isOpen || this.serving.size < this.config.workers) return;
    this.isOpen = true;
    for (const line of this.greeting) this.print(line);
  }

  private async ended(worker: Worker, code: number, signal: string | null): Promise<void> {
    this.workers.delete(worker);
    const served = this.serving.delete(worker);
    if (this.isStopping) {
      if (served && code !== 0) this.hasFailed = true;
    } else if (served || this.isOpen) {
      setTimeout(() => this.fork(), served ? PAUSE : LONG_PAUSE);
      await this.warn(`A worker ended (${signal ?? `exit code ${code}`}) and is replaced.`);
    } else {
      // It has said what was wrong.
      this.hasFailed = true;
      this.stop();
    }
  }

  private async close(): Promise<void> {
    this.isStopping = true;
    for (const worker of this.serving) tell(worker, STOP);
    // Not by node:events' once(), which takes it for a failure where something cannot be sent to a worker.
    await Promise.all(Array.from(this.workers, (worker) => new Promise((exit) => worker.once('exit', exit))));
    await this.log?.close();
    if (this.hasFailed) throw new Error('A worker did not stop in order.');
  }

  private cutOff(): void {
    for (const worker of this.workers) worker.process.kill('SIGKILL');
    process.exit(1);
  }

  /** The log is loaded with the first thing that is worth a line. */
  private async warn(message: string): Promise<void> {
    const { Log } = await import('../adapters/log/log.js');
    this.log ??= new Log(this.config.log);
    this.log.warn(message, 'workers');
  }
}

/**
 * Node hands a worker one connection after the other. It holds for ever the one that a worker has not taken when it ends, and the one
 * that no worker takes any more in a stop: they are closed here, so that no client waits in vain. This looks at what passes inside of
 * Node; where that is done in another way one day, nothing else suffers.
 */
function closeUntaken(worker: Worker, isStopping: () => boolean): void {
  const channel: ChildProcess = worker.process;
  const send = channel.send.bind(channel) as (...args: unknown[]) => boolean;
  let untaken: { close(): void } | undefined;
  channel.send = (message: unknown, handle?: unknown, ...rest: unknown[]) => {
    if (isConnection(handle)) untaken = handle;
    return send(message, handle, ...rest);
  };
  channel.prependListener('internalMessage', (message: { ack?: number; accepted?: boolean }) => {
    if (message.ack === undefined) return;
    // Node closes one that was accepted, and keeps another for the next worker.
    if (isStopping()) message.accepted = true;
    untaken = undefined;
  });
  worker.once('exit', () => untaken?.close());
}

function isConnection(handle: unknown): handle is { close(): void } {
  return typeof handle === 'object' && handle !== null && 'close' in handle;
}

/** Sends a message, which gets lost where the other side has ended: that is told by its end. */
function tell(worker: Worker, message: string | readonly string[]): void {
  worker.send(message, () => undefined);
}
