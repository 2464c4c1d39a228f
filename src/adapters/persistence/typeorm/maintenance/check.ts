import { statSync } from 'node:fs';
import { DataSource } from 'typeorm';
import { fail, Finding, ok, warn } from '../../../../application/finding.js';
import { ApiKey, keyState } from '../../../../domain/keys/api-key.js';
import { DatabaseUrl, existing } from '../../database-url.js';
import { dialectOf } from '../data-source.js';
import { prepare, said } from '../dialects/dialect.js';
import { ApiKeySchema } from '../keys/api-key.schema.js';
import { schemaFinding, withDataSource } from '../schema.js';

/**
 * Checks the database that a URL names, and changes nothing: no file is created, and no schema. `timeout` is that of a
 * statement, in milliseconds; `configured` is how many keys are valid besides the stored ones.
 */
export async function inspectDatabase(url: DatabaseUrl, timeout: number, configured: number): Promise<Finding[]> {
  const noKeys = keyFinding([], configured);
  if (url.engine === 'memory') return [ok('database', 'memory, which is lost with the process'), noKeys];
  if (url.engine === 'sqlite' && !statSync(url.file, { throwIfNoEntry: false })?.size)
    return [ok('database', 'none yet: the first start creates it'), noKeys];
  const inspect = async (source: DataSource) => {
    const { version, risk } = await prepare(dialectOf(source), source.manager);
    const loss = `${version}: a crash of the machine can lose data.`;
    const database = risk === null ? ok('database', version) : warn('database', loss, risk);
    const schema = await schemaFinding(source);
    // Before the first migration they have no table.
    const keys = await source.manager.find(ApiKeySchema).catch(() => []);
    return [database, schema, keyFinding(keys, configured)];
  };
  return withDataSource(existing(url), inspect, timeout).catch((error: unknown) => [
    fail('database', said(error), 'DATABASE_URL must lead to one that can be used.'),
  ]);
}

function keyFinding(stored: readonly ApiKey[], configured: number): Finding {
  const valid = stored.filter((key) => keyState(key) === 'valid').length;
  return valid + configured > 0
    ? ok('API keys', `${valid} stored, ${configured} configured`)
    : warn(
        'API keys',
        'There is no valid key, and so every request is 401.',
        '"petstore keys create --name NAME" creates one.',
      );
}
