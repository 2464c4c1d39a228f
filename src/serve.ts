import { INestApplication } from '@nestjs/common';
import { Log } from './adapters/log/log.js';
import { ApiKeyService } from './application/api-key.service.js';
import { createApp } from './app.js';
import { Config } from './config.js';

/** Within what time a second signal is the first one again, which npm passes on after the terminal sent it, in milliseconds. */
const SAME_SIGNAL = 500;

/** Serves until SIGTERM or SIGINT; `print` takes the greeting, line by line. */
export async function serve(config: Config, print: (line: string) => void): Promise<void> {
  const log = new Log(config.log);
  const app = await createApp(config, log);
  await app.listen(config.port, config.host);
  stopOnSignal(async () => {
    await app.close();
    await log.close();
  }, config.stopTimeout);
  const address = await app.getUrl();
  print(`The pet store is open at ${address}/v1`);
  print(`Docs: ${address}/docs`);
  if (!config.production) await greet(app, address, print);
}

/** Makes a first key where there is none, and shows how to use it: the only time that the text of a key is printed by a start. */
async function greet(app: INestApplication, address: string, print: (line: string) => void): Promise<void> {
  const key = await app.get(ApiKeyService).createFirst();
  if (key === undefined)
    return print('Keys: those made before are valid; "npx petstore keys create --name NAME" makes another.');
  print(`Key:  ${key} (shown this once)`);
  print(`Try:  curl -i -H 'Authorization: Bearer ${key}' ${address}/v1/pets`);
}

/**
 * Stops on SIGTERM or SIGINT: takes no connection any more, finishes what is under way, closes the store and exits with 0. What
 * is not finished in time, or when a second signal comes, is cut off, and the exit is 1.
 */
function stopOnSignal(close: () => Promise<void>, timeout: number): void {
  let stoppingSince: number | undefined;
  const cutOff = () => process.exit(1);
  const onSignal = () => {
    if (stoppingSince === undefined) {
      stoppingSince = Date.now();
      setTimeout(cutOff, timeout).unref();
      close().then(() => process.exit(0), cutOff);
    } else if (Date.now() - stoppingSince > SAME_SIGNAL) cutOff();
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
}
