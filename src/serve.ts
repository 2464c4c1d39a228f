import { INestApplication } from '@nestjs/common';
import { ApiKeyService } from './application/api-key.service.js';
import { createApp } from './app.js';
import { Config } from './config.js';

/** Serves until SIGTERM or SIGINT; `print` takes the greeting, line by line. */
export async function serve(config: Config, print: (line: string) => void): Promise<void> {
  const app = await createApp(config);
  await app.listen(config.port, config.host);
  stopOnSignal(app);
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

function stopOnSignal(app: INestApplication): void {
  const stop = () => {
    process.once('SIGTERM', () => process.exit(1)).once('SIGINT', () => process.exit(1));
    app.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.once('SIGTERM', stop).once('SIGINT', stop);
}
