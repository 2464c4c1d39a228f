import cluster from 'node:cluster';
import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Log } from '../adapters/observability/log.js';
import { listen } from '../adapters/runtime/listen.js';
import { allWorkersListen } from './cluster.js';
import { greet } from './greeting.js';
import type { Settings } from '../settings/settings.js';
import { shutdownOnSignal } from './shutdown.js';

/** Serves in this process, alone or as a worker of a cluster, until SIGTERM or SIGINT. */
export async function serve(settings: Settings): Promise<void> {
  const log = new Log(settings);
  // While the service starts there is nothing to close.
  let close = (): Promise<void> => Promise.resolve();
  // The server has cut off all responses before: this limits the time for the database, the traces and the log.
  shutdownOnSignal(log, settings, () => Promise.race([close(), delay(settings.STOP_TIMEOUT)]));
  // Takes half a second, so the handlers of signals come first: process 1 of a container ignores a signal without one.
  const { createApp } = await import('../app.js');
  const app = await createApp(settings, log);
  close = () => app.close();
  const allListen = cluster.worker && allWorkersListen();
  const address = await listen(app.getHttpServer() as Server, settings.PORT, settings.HOST, 'PORT or HOST');
  // Resolves in one worker only: the others print no greeting.
  await allListen;
  await greet(app, address, settings, log);
}
