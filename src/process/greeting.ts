import type { INestApplicationContext } from '@nestjs/common';
import { OutputFailed } from '../adapters/cli/output.js';
import type { Log } from '../adapters/observability/log.js';
import { DatabaseUnavailable } from '../application/errors.js';
import { ApiKeyService } from '../application/keys/api-key.service.js';
import { Authenticator } from '../application/keys/authenticator.js';
import type { Settings } from '../settings/settings.js';
import { standardOutput } from './standard-output.js';
import packageJson from '../../package.json' with { type: 'json' };

const CREATE_KEY = 'petstore keys create --name NAME';

/**
 * Says that the service is ready, in the log or, outside production, as text. Outside production it creates and prints
 * the first key, unless one exists or keys are configured.
 */
export async function greet(app: INestApplicationContext, address: string, settings: Settings, log: Log) {
  const [base, docs] = [`${address}/v1`, `${address}/docs`];
  const keys = app.get(Authenticator).hasConfigured ? undefined : app.get(ApiKeyService);
  if (settings.NODE_ENV === 'production') {
    log.info('The pet store is open.', { version: packageJson.version, address: base, docs });
    const stored = await keys?.list().catch(ignoreUnavailable);
    if (stored?.every(({ state }) => state !== 'valid'))
      log.warn(
        `No valid API key exists, so every request is rejected. Create one with "${CREATE_KEY}", or set API_KEYS_FILE.`,
      );
    return;
  }
  const opening = `The pet store is open at ${base}\nDocs: ${docs}`;
  try {
    // Its lines are printed once requests can use it, but these before it is stored: a key that nobody can see is not.
    const issued = await keys?.createFirst(() => standardOutput.printSecret(opening)).catch(ignoreUnavailable);
    if (issued === undefined)
      return await standardOutput.print(`${opening}\nKeys: npx --no petstore keys list\n      npx --no ${CREATE_KEY}`);
    const { text } = issued;
    await standardOutput.print(
      [
        `Key:  ${text} (shown only once)`,
        `Keep: export KEY=${text}`,
        // In a second terminal, behind the line above; with the key itself it would have more than 80 columns.
        `Try:  curl -i -H "Authorization: Bearer $KEY" ${base}/pets`,
      ].join('\n'),
    );
  } catch (error) {
    // Whoever reads the output may go.
    if (!(error instanceof OutputFailed)) throw error;
  }
}

/** A database that cannot answer is no reason to end the start: requests will say so. */
function ignoreUnavailable(error: unknown): undefined {
  if (!(error instanceof DatabaseUnavailable)) throw error;
}
