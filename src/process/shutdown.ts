import cluster from 'node:cluster';
import type { Log } from '../adapters/log/log.js';

/** Calls `close` at the first SIGTERM or SIGINT, and exits with `process.exitCode` once it has resolved. */
export function shutdownOnSignal(log: Log, close: () => Promise<unknown>): void {
  let shutdown: Promise<void> | undefined;
  const shutDown = async () => {
    await close();
    if (cluster.isPrimary) log.info('The pet store is closed.', { code: process.exitCode ?? 0 });
    process.exit();
  };
  // Further signals are ignored: a terminal sends one to all processes, npm and the primary send another.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void (shutdown ??= shutDown()));
}
