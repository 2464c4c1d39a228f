import { statSync } from 'node:fs';
import { DataSource } from 'typeorm';
import { fail, Finding, ok, warn } from '../../../../application/finding.js';
import { ApiKey, keyState } from '../../../../domain/keys/api-key.js';
import { DatabaseLimits, DatabaseUrl, existing } from '../../database-url.js';
import { dialectOf } from '../data-source.js';
import { examine, said } from '../dialects/dialect.js';
import { ApiKeySchema } from '../keys/api-key.schema.js';
import { schemaFinding, withDataSource } from '../schema.js';

/**
 * Checks the database that a URL names, and changes nothing: no file is created, and no schema. `configured` is how
 * many keys are valid besides the stored ones.
 */
export async function inspectDatabase(
  url: DatabaseUrl,
  limits: DatabaseLimits,
  configured: number,
): Promise<Finding[]> {
  const found = (database: string, keys: readonly ApiKey[] = []) => [
    ok('database', database),
    keyFinding(keys, configured),
  ];
  if (url.engine === 'memory') return found('memory, which is lost with the process');
  if (url.engine === 'sqlite' && !statSync(url.file, { throwIfNoEntry: false })?.size)
    return found('none yet: the first start creates it');
  const inspect = async (source: DataSource) => {
    const server = await serverFindings(source);
    const schema = await schemaFinding(source);
    // Before the first migration they have no table.
    const keys = await source.manager.find(ApiKeySchema).catch(() => []);
    return [...found('reached', keys), ...server, schema];
  };
  return withDataSource(existing(url), inspect, limits).catch((error: unknown) => [
    fail('database', said(error), 'DATABASE_URL must lead to one that can be used.'),
  ]);
}

async function serverFindings(source: DataSource): Promise<Finding[]> {
  const { version, settings, problem, risk } = await examine(dialectOf(source), source.manager);
  return [
    ok('version', version),
    risk === null
      ? ok('durability', settings)
      : warn('durability', `${settings}: a crash of the machine can lose data.`, risk),
    problem === null ? ok('writing', 'exact and durable') : fail('writing', problem, ''),
  ];
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
