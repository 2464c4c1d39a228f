import cluster from 'node:cluster';
import type { Server } from 'node:http';
import { Log } from '../adapters/log/log.js';
import { listen } from '../adapters/net/listen.js';
import { createApp } from '../app.js';
import { greetingOf, printGreeting } from './greeting.js';
import type { Settings } from '../settings.js';
import { shutdownOnSignal } from './shutdown.js';

/** Serves in this process, alone or as a worker of a cluster, until SIGTERM or SIGINT. */
export async function serve(settings: Settings): Promise<void> {
  const log = new Log(settings);
  const app = await createApp(settings, log);
  shutdownOnSignal(() => app.close(), settings.STOP_TIMEOUT);
  const address = await listen(app.getHttpServer() as Server, settings.PORT, settings.HOST, 'PORT or HOST');
  const greeting = await greetingOf(app, address, settings);
  if (cluster.worker) cluster.worker.send({ greeting });
  else printGreeting(greeting, settings, log);
}
