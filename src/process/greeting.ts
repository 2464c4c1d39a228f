import type { Log } from '../adapters/log/log.js';
import packageJson from '../../package.json' with { type: 'json' };

/** What there is to say once the service is open. */
export interface Opening {
  /** Where it is, as `http://host:port`. */
  readonly address: string;
  readonly keys: KeysFound;
}

/** Which API keys there are when the service opens: the text of the first one, if it was just made, or where those that are there come from. */
export type KeysFound = { readonly made: string } | 'configured' | 'stored' | 'none' | 'unknown';

const CREATE_KEY = '"npx petstore keys create --name NAME"';

/** Tells who started the service that it is open: by lines for people, or in production by one for programs, and by one at the end. */
export function greet({ address, keys }: Opening, { production }: { production: boolean }, log: Log): void {
  const [base, docs] = [`${address}/v1`, `${address}/docs`];
  if (production) {
    log.info('The pet store is open.', { version: packageJson.version, address: base, docs, pid: process.pid });
    process.prependOnceListener('exit', (code) => log.info('The pet store is closed.', { code }));
  } else {
    log.print(`The pet store is open at ${base}`);
    log.print(`Docs: ${docs}`);
    for (const line of aboutKeys(keys, base)) log.print(line);
  }
  if (keys === 'none') {
    log.warn(`There is no API key, and every request is refused; ${CREATE_KEY}, API_KEYS or API_KEYS_FILE gives one.`);
  }
}

function aboutKeys(keys: KeysFound, base: string): string[] {
  switch (keys) {
    case 'configured':
      return [`Keys: those in API_KEYS and API_KEYS_FILE are valid; ${CREATE_KEY} makes another.`];
    case 'stored':
      return [`Keys: "npx petstore keys list" shows those made before; ${CREATE_KEY} makes another.`];
    case 'none':
      return [];
    case 'unknown':
      return [`Keys: none can be made before the database is there; then ${CREATE_KEY} makes one.`];
    default:
      return [
        `Key:  ${keys.made} (shown this once)`,
        `Keep: export KEY=${keys.made}`,
        `Try:  curl -i -H 'Authorization: Bearer ${keys.made}' ${base}/pets`,
      ];
  }
}
