import type { Server } from 'node:http';
import { Log } from '../adapters/log/log.js';
import { handTo, Listener, type ListenerSettings } from '../adapters/net/listener.js';
import { StoreUnavailable } from '../application/errors.js';
import { HealthService } from '../application/health.service.js';
import { ApiKeyService } from '../application/keys/api-key.service.js';
import { createApp } from '../app.js';
import type { Config } from '../config.js';
import { stopOnSignal } from './graceful-stop.js';
import { greet, type KeysFound, type Opening } from './greeting.js';

/** Where the connections of a process come from. */
export interface Source {
  /** Has them come to a server; resolves to the address that clients know, as `http://host:port`, and rejects with `UsageError` if there is none. */
  open(server: Server): Promise<string>;
  /** Resolves once none comes any more. */
  close(): Promise<void>;
}

/** Serves by this process alone until SIGTERM or SIGINT. */
export async function serve(config: Config): Promise<void> {
  const log = new Log(config.log);
  const { opening } = await open(config, log, new FromThePort(config));
  greet(opening, config, log);
}

/** The connections that a process takes by itself. */
export class FromThePort implements Source {
  private listener: Listener | undefined;

  constructor(private readonly settings: ListenerSettings) {}

  open(server: Server): Promise<string> {
    this.listener = new Listener(this.settings, (socket) => void (handTo(server, socket) || socket.destroy()));
    return this.listener.open();
  }

  async close(): Promise<void> {
    await this.listener?.close();
  }
}

/**
 * Serves until SIGTERM or SIGINT: then takes no connection any more, finishes what is under way, and closes the store. Resolves, once it
 * serves, to what there is to say of that, and to what stops it without a signal.
 */
export async function open(config: Config, log: Log, source: Source): Promise<{ opening: Opening; stop: () => void }> {
  const app = await createApp(config, log);
  // Connections may come before it is known that they do.
  const stop = stopOnSignal(async () => {
    app.get(HealthService).beginStop();
    await source.close();
    await app.close();
  }, config.stopTimeout);
  let address: string;
  try {
    address = await source.open(app.getHttpServer() as Server);
  } catch (error) {
    // What is left open would keep the process.
    await app.close();
    throw error;
  }
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
