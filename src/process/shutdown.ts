import cluster from 'node:cluster';
import type { Log } from '../adapters/observability/log.js';
import type { Settings } from '../settings/settings.js';

/** From when on, after the first signal, a SIGINT ends the process, in milliseconds. npm sends copies at once. */
const HURRY = 1_000;

/** The message that stops a worker: on Windows a signal from another process would kill it. */
export const STOP = 'stop';

/** The message of a worker that accepts `STOP` from now on: one that was sent before is lost. */
export const ACCEPTS_STOP = 'accepts stop';

/**
 * Calls `close` at the first SIGTERM, SIGINT or `STOP`, and exits with `process.exitCode` once it has resolved, or with
 * 1 if it rejects. A SIGINT a second or more later exits at once, with 130.
 */
export function shutdownOnSignal(log: Log, settings: Settings, close: () => Promise<unknown>): void {
  let begunAt: number | undefined;
  const shutDown = async (signal: NodeJS.Signals) => {
    if (cluster.isPrimary) announce(signal, log, settings);
    try {
      await close();
    } catch (error) {
      process.exitCode = 1;
      log.error(error, 'shutdown');
    }
    if (cluster.isPrimary) log.info('The pet store is closed.', { code: process.exitCode ?? 0 });
    process.exit();
  };
  const stop = (signal: NodeJS.Signals) => {
    if (signal === 'SIGINT' && begunAt !== undefined && performance.now() - begunAt >= HURRY) process.exit(130);
    if (begunAt === undefined) void shutDown(signal);
    begunAt ??= performance.now();
  };
  // A terminal sends a signal to all processes, and npm another.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
  cluster.worker?.on('message', (message) => message === STOP && stop('SIGTERM'));
  // Fails if the primary has just ended; this worker then ends, too.
  cluster.worker?.send(ACCEPTS_STOP, () => undefined);
}

/** Says what is waited for, in the log or, outside production, as text. */
function announce(signal: NodeJS.Signals, log: Log, { NODE_ENV, STOP_TIMEOUT }: Settings): void {
  const hint = signal === 'SIGINT' ? ' Press Ctrl-C again to stop at once.' : '';
  const line = `Stopping: waiting at most ${STOP_TIMEOUT / 1_000} s for responses in flight.${hint}`;
  if (NODE_ENV === 'production') log.info(line, { signal });
  else process.stdout.write(`${line}\n`);
}
