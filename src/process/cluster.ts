import cluster, { type Worker } from 'node:cluster';
import { Log } from '../adapters/log/log.js';
import { type Greeting, printGreeting } from './greeting.js';
import type { Settings } from '../settings.js';
import { shutdownOnSignal } from './shutdown.js';

/** The pause before a worker that exited is replaced, in milliseconds: doubled each time until a worker is ready. */
const MIN_BACKOFF = 100;
const MAX_BACKOFF = 10_000;

/**
 * Serves with several workers on one port until SIGTERM or SIGINT, and replaces workers that exit. The first worker
 * starts alone: it migrates the database and creates the first key.
 */
export async function supervise(settings: Settings): Promise<void> {
  const log = new Log(settings);
  const ready = new Set<Worker>();
  let greeting: Greeting | undefined;
  let hasGreeted = false;
  let backoff = MIN_BACKOFF;
  let isStopping = false;

  const workers = () => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
  const killAll = (signal: NodeJS.Signals) => workers().forEach((worker) => worker.process.kill(signal));

  cluster.on('message', (worker, message: { greeting?: Greeting }) => {
    if (!message.greeting) return;
    ready.add(worker);
    backoff = MIN_BACKOFF;
    if (!greeting) for (let i = 1; i < settings.WEB_CONCURRENCY; i++) cluster.fork();
    greeting ??= message.greeting;
    if (hasGreeted || ready.size < settings.WEB_CONCURRENCY) return;
    hasGreeted = true;
    printGreeting(greeting, settings, log);
  });
  // A message to a worker that has just exited fails; 'exit' follows.
  cluster.on('fork', (worker) => worker.on('error', () => undefined));
  cluster.on('exit', (worker, code, signal: string | null) => {
    ready.delete(worker);
    if (isStopping) {
      if (code) process.exitCode = 1;
      return;
    }
    // The first worker has written why it could not start.
    if (!greeting) process.exit(1);
    const how = signal ?? `exit code ${code}`;
    log.warn(`Worker ${worker.process.pid} exited (${how}); another starts in ${backoff / 1_000} s.`, 'cluster');
    setTimeout(() => isStopping || cluster.fork(), backoff);
    backoff = Math.min(2 * backoff, MAX_BACKOFF);
  });
  shutdownOnSignal(
    async () => {
      isStopping = true;
      const exits = workers().map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
      killAll('SIGTERM');
      await Promise.all(exits);
    },
    settings.STOP_TIMEOUT,
    () => {
      killAll('SIGKILL');
      process.exitCode = 1;
    },
  );
  const { METRICS_PORT, METRICS_HOST, RATE_LIMIT, AUTH_FAILURE_LIMIT } = settings;
  if (METRICS_PORT !== undefined) {
    const { clusterMetrics, serveMetrics } = await import('../adapters/metrics/metrics-server.js');
    await serveMetrics(METRICS_PORT, METRICS_HOST, clusterMetrics);
  }
  if (RATE_LIMIT ?? AUTH_FAILURE_LIMIT) {
    const { RateLimiterClusterMaster } = await import('rate-limiter-flexible');
    new RateLimiterClusterMaster();
  }
  cluster.fork();
}
