import { setTimeout as delay } from 'node:timers/promises';
import type { Server } from 'node:net';
import { Log } from '../adapters/log/log.js';
import type { StopStep } from '../adapters/net/stop-step.js';
import { listen } from '../adapters/net/listen.js';
import { StoreUnavailable } from '../application/errors.js';
import { HealthService } from '../application/health.service.js';
import { ApiKeyService } from '../application/keys/api-key.service.js';
import { createApp } from '../app.js';
import type { Config } from '../config.js';
import { stopOnSignal } from './graceful-stop.js';
import { greet, type KeysFound, type Opening } from './greeting.js';

/** Serves by this process alone until SIGTERM or SIGINT. */
export async function serve(config: Config): Promise<void> {
  const log = new Log(config.log);
  const { opening } = await open(config, log);
  greet(opening, config, log);
}

/**
 * Serves until SIGTERM or SIGINT: then takes no connection any more, finishes what is under way, and closes the store. Resolves, once it
 * serves, to what there is to say of that, and to what stops it without a signal.
 */
export async function open(
  config: Config,
  log: Log,
  together?: (step: StopStep) => Promise<void>,
): Promise<{ opening: Opening; stop: () => void }> {
  const app = await createApp(config, log, together);
  let address: string;
  try {
    address = await listen(app.getHttpServer() as Server, config, { port: 'PORT', host: 'HOST' });
  } catch (error) {
    // What is left open would keep the process.
    await app.close();
    throw error;
  }
  const stop = stopOnSignal(async () => {
    app.get(HealthService).beginStop();
    await delay(config.stopDelay);
    await app.close();
  }, config.stopTimeout);
  return { opening: { address, keys: await keysFound(config, app.get(ApiKeyService)) }, stop };
}

/** Makes a first key if there is none, outside production: there, no start prints the text of a key. */
async function keysFound({ apiKeys, production }: Config, keys: ApiKeyService): Promise<KeysFound> {
  if (apiKeys.length > 0) return 'configured';
  try {
    if (production) return (await keys.list()).length > 0 ? 'stored' : 'none';
    const made = await keys.createFirst();
    return made === undefined ? 'stored' : { made };
  } catch (error) {
    if (error instanceof StoreUnavailable) return 'unknown';
    throw error;
  }
}
