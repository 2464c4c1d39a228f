import { statSync } from 'node:fs';
import { DataSource } from 'typeorm';
import { fail, Finding, ok, warn } from '../../../../application/finding.js';
import { ApiKey, keyState, retiredName } from '../../../../domain/keys/api-key.js';
import { DatabaseLimits, DatabaseUrl, existing } from '../../database-url.js';
import { dialectOf } from '../data-source.js';
import { examine, said } from '../dialects/dialect.js';
import { ApiKeySchema } from '../keys/api-key.schema.js';
import { schemaFinding, withDataSource } from '../schema.js';

/** Within what time the end of a key is near, in milliseconds. */
const SOON = 30 * 86_400_000;

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
    ...keyFindings(keys, configured),
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
  const { version, settings, problem, fault, risk } = await examine(dialectOf(source), source.manager);
  if (fault !== null) return [ok('version', version), fail('durability', `${settings}: a 201 is not on disk.`, fault)];
  return [
    ok('version', version),
    risk === null
      ? ok('durability', settings)
      : warn('durability', `${settings}: a crash of the machine can do damage.`, risk),
    problem === null ? ok('writing', 'exact and durable') : fail('writing', problem, ''),
  ];
}

function keyFindings(stored: readonly ApiKey[], configured: number): Finding[] {
  const now = Date.now();
  const left = ({ expiresAt }: ApiKey) => (expiresAt ? expiresAt.getTime() - now : Infinity);
  const valid = stored.filter((key) => keyState(key) === 'valid');
  const create = '"petstore keys create --name NAME" creates one.';
  const rotate = '"petstore keys rotate NAME --overlap 7d" replaces it.';
  const replaced = new Set(valid.map(({ name }) => retiredName(name)));
  const ending = valid.filter((key) => left(key) <= SOON && !replaced.has(key.name));
  return [
    valid.length + configured > 0
      ? ok('API keys', `${valid.length} stored, ${configured} configured`)
      : warn('API keys', 'There is no valid key, and so every request is 401.', create),
    ...ending.map(({ name, expiresAt }) =>
      warn('API keys', `The key "${name}" expires on ${expiresAt?.toISOString()}.`, rotate),
    ),
  ];
}
