import cluster from 'node:cluster';
import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Log } from '../adapters/log/log.js';
import { listen } from '../adapters/net/listen.js';
import { HealthService } from '../application/health.service.js';
import { createApp } from '../app.js';
import { greetingOf, printGreeting } from './greeting.js';
import type { Settings } from '../settings.js';
import { shutdownOnSignal } from './shutdown.js';

/** Serves in this process, alone or as a worker of a cluster, until SIGTERM or SIGINT. */
export async function serve(settings: Settings): Promise<void> {
  const log = new Log(settings);
  const app = await createApp(settings, log);
  shutdownOnSignal(async () => {
    app.get(HealthService).beginStop();
    await delay(settings.STOP_DELAY);
    await app.close();
  }, settings.STOP_TIMEOUT);
  const address = await listen(app.getHttpServer() as Server, settings.PORT, settings.HOST, 'PORT or HOST');
  const greeting = await greetingOf(app, address, settings);
  if (cluster.worker) cluster.worker.send({ greeting });
  else printGreeting(greeting, settings, log);
}
