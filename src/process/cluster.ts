import cluster, { type Worker } from 'node:cluster';
import { Log } from '../adapters/observability/log.js';
import type { Settings } from '../settings/settings.js';
import { ACCEPTS_STOP, shutdownOnSignal, STOP } from './shutdown.js';

/** The pause before a worker that exited is replaced, in milliseconds: doubled each time until a worker listens. */
const MIN_BACKOFF = 100;
const MAX_BACKOFF = 10_000;

/** The message that makes a worker print the greeting: the primary sends it to the one that listens last. */
const ALL_LISTEN = 'all workers listen';

/** Resolves in the worker of the cluster that listens last. */
export function allWorkersListen(): Promise<void> {
  return new Promise((resolve) => process.on('message', (message) => message === ALL_LISTEN && resolve()));
}

/**
 * Serves with several workers on one port until SIGTERM or SIGINT, and replaces workers that exit. Each worker starts
 * when the one before it listens: the first migrates the database.
 */
export async function supervise(settings: Settings): Promise<void> {
  const { WEB_CONCURRENCY, STOP_TIMEOUT, METRICS_PORT, METRICS_HOST } = settings;
  const log = new Log(settings);
  /** How often a worker has begun to listen, those that replace others included. */
  let listened = 0;
  let backoff = MIN_BACKOFF;
  let isStopping = false;

  const startLater = (why: string) => {
    log.warn(`${why}; another starts in ${backoff / 1_000} s.`, 'cluster');
    setTimeout(() => isStopping || fork(), backoff);
    backoff = Math.min(2 * backoff, MAX_BACKOFF);
  };
  const fork = () => {
    let why = 'no process';
    try {
      const worker = cluster.fork();
      // A message to a worker that has just exited fails; 'exit' follows.
      worker.on('error', () => undefined);
      if (worker.isConnected()) return;
      delete cluster.workers?.[worker.id];
    } catch (error) {
      why = (error as Error).message;
    }
    // Too many processes or open files: no 'exit' follows.
    startLater(`A worker could not be started (${why})`);
  };

  const workers = () => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);

  cluster.on('listening', (worker) => {
    backoff = MIN_BACKOFF;
    listened++;
    if (listened === WEB_CONCURRENCY) worker.send(ALL_LISTEN);
    if (listened < WEB_CONCURRENCY && !isStopping) fork();
  });
  cluster.on('message', (worker, message) => {
    if (message === ACCEPTS_STOP && isStopping) worker.send(STOP);
  });
  cluster.on('exit', (worker: Worker, code: number | null, signal: string | null) => {
    if (isStopping) {
      if (code || (signal && signal !== 'SIGTERM' && signal !== 'SIGINT')) process.exitCode = 1;
      return;
    }
    const what = `Worker ${worker.process.pid} exited (${signal ?? `exit code ${code}`})`;
    // Unless it was killed, the first worker has written why it could not start.
    if (listened === 0 && signal) log.error(`${what} before it listened.`, 'cluster');
    if (listened === 0) process.exit(1);
    startLater(what);
  });
  shutdownOnSignal(log, settings, () => {
    isStopping = true;
    workers().forEach((worker) => worker.send(STOP));
    // Workers exit by themselves at STOP_TIMEOUT, which begins later for them.
    setTimeout(() => workers().forEach((worker) => worker.process.kill('SIGKILL')), STOP_TIMEOUT + 500);
    return Promise.all(workers().map((worker) => new Promise((resolve) => worker.once('exit', resolve))));
  });
  if (METRICS_PORT !== undefined) {
    const { clusterMetrics, serveMetrics } = await import('../adapters/observability/metrics-server.js');
    await serveMetrics(METRICS_PORT, METRICS_HOST, clusterMetrics, (error) => log.error(error, 'metrics'));
  }
  fork();
}
