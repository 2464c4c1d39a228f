import type { INestApplicationContext } from '@nestjs/common';
import type { Log } from '../adapters/log/log.js';
import { DatabaseUnavailable } from '../application/errors.js';
import { ApiKeyService } from '../application/keys/api-key.service.js';
import type { Settings } from '../settings.js';
import packageJson from '../../package.json' with { type: 'json' };

/** What is printed when the service is ready. */
export interface Greeting {
  /** Where it listens, as `http://host:port`. */
  readonly address: string;
  /** The text of the first key, if it has just been created. */
  readonly firstKey?: string | undefined;
  /** Whether it is known that no key exists. */
  readonly hasNoKey?: boolean;
}

const CREATE_KEY = '"npx petstore keys create --name NAME"';

/** Creates the first key unless one exists. In production no key is created, because no key is printed. */
export async function greetingOf(
  app: INestApplicationContext,
  address: string,
  { NODE_ENV, API_KEYS, API_KEYS_FILE }: Settings,
): Promise<Greeting> {
  if (API_KEYS.length + API_KEYS_FILE.length > 0) return { address };
  const keys = app.get(ApiKeyService);
  try {
    if (NODE_ENV === 'production') return { address, hasNoKey: (await keys.list()).length === 0 };
    return { address, firstKey: await keys.createFirst() };
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return { address };
    throw error;
  }
}

/** Prints that the service is ready, as text or, in production, as lines of the log. */
export function printGreeting({ address, firstKey: key, hasNoKey }: Greeting, { NODE_ENV }: Settings, log: Log): void {
  const [base, docs] = [`${address}/v1`, `${address}/docs`];
  if (NODE_ENV === 'production') {
    log.info('The pet store is open.', { version: packageJson.version, address: base, docs, pid: process.pid });
    process.prependOnceListener('exit', (code) => log.info('The pet store is closed.', { code }));
    if (hasNoKey) {
      log.warn(`No API key exists, so every request is rejected. Create one with ${CREATE_KEY}, or set API_KEYS_FILE.`);
    }
    return;
  }
  log.print(`The pet store is open at ${base}`);
  log.print(`Docs: ${docs}`);
  if (key === undefined) {
    log.print(`Keys: "npx petstore keys list" lists them, ${CREATE_KEY} creates another.`);
  } else {
    log.print(`Key:  ${key} (shown only once)`);
    log.print(`Keep: export KEY=${key}`);
    log.print(`Try:  curl -i -H 'Authorization: Bearer ${key}' ${base}/pets`);
  }
}
