import { setTimeout as delay } from 'node:timers/promises';
import type { Server } from 'node:net';
import { INestApplication } from '@nestjs/common';
import { listen } from '../adapters/net/listen.js';
import { Log } from '../adapters/log/log.js';
import { StoreUnavailable } from '../application/errors.js';
import { HealthService } from '../application/health.service.js';
import { ApiKeyService } from '../application/keys/api-key.service.js';
import { createApp } from '../app.js';
import { Config } from '../config.js';
import { stopOnSignal } from './graceful-stop.js';

/**
 * Serves until SIGTERM or SIGINT: then takes no connection any more, finishes what is under way, and closes the store. `print` takes
 * the greeting, line by line. Resolves, once it serves, to what stops it without a signal.
 */
export async function serve(config: Config, print: (line: string) => void): Promise<() => void> {
  const log = new Log(config.log);
  const app = await createApp(config, log);
  const close = async () => {
    await app.close();
    await log.close();
  };
  let address: string;
  try {
    address = await listen(app.getHttpServer() as Server, config, { port: 'PORT', host: 'HOST' });
  } catch (error) {
    // What is left open would keep the process.
    await close();
    throw error;
  }
  const stop = stopOnSignal(async () => {
    app.get(HealthService).beginStop();
    await delay(config.stopDelay);
    await close();
  }, config.stopTimeout);
  print(`The pet store is open at ${address}/v1`);
  print(`Docs: ${address}/docs`);
  if (!config.production) await greet(app, address, print);
  return stop;
}

/** Makes a first key if there is none, and shows how to use it: the only time that the text of a key is printed by a start. */
async function greet(app: INestApplication, address: string, print: (line: string) => void): Promise<void> {
  const command = '"npx petstore keys create --name NAME"';
  try {
    const key = await app.get(ApiKeyService).createFirst();
    if (key === undefined) return print(`Keys: those made before are valid; ${command} makes another.`);
    print(`Key:  ${key} (shown this once)`);
    print(`Try:  curl -i -H 'Authorization: Bearer ${key}' ${address}/v1/pets`);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    print(`Keys: none can be made before the database is there; then ${command} makes one.`);
  }
}
