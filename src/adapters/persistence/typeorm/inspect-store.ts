import { existsSync, statSync } from 'node:fs';
import { UsageError } from '../../../application/errors.js';
import { fail, Finding, ok, warn } from '../../../application/finding.js';
import { ApiKey, retiredName } from '../../../domain/keys/api-key.js';
import { DatabaseLimits, DatabaseUrl } from '../database-url.js';
import { sqliteFileFindings } from '../file-findings.js';
import { noFile, SQLITE_FILE } from '../sqlite-file.js';
import { said } from './database.js';
import { connect, disconnect, Engine } from './engines/engine.js';
import { ApiKeySchema } from './keys/api-key.schema.js';
import { engineOf } from './open-database.js';
import { schemaSteps } from './schema-steps.js';
import { Table } from './table.js';

/** Within what time the end of a key is near, in milliseconds. */
const SOON = 30 * 86_400_000;

const keyTable = new Table(ApiKeySchema);

/**
 * Looks at the store that a URL names, and changes nothing: no file is made, and no schema. `configured` is how many keys are valid besides
 * the stored ones.
 */
export async function inspectStore(url: DatabaseUrl, limits: DatabaseLimits, configured: number): Promise<Finding[]> {
  if (url.engine === 'memory') {
    return [ok('database', 'memory, which is gone with the process'), ...keyFindings([], configured)];
  }
  const trouble = url.engine === 'sqlite' ? noFile(url.file) : undefined;
  if (trouble !== undefined) return [fail('database', `${trouble}.`, `DATABASE_URL must be ${SQLITE_FILE}.`)];
  const files = url.engine === 'sqlite' ? sqliteFileFindings(url.file) : [];
  if (url.engine === 'sqlite' && (!existsSync(url.file) || statSync(url.file).size === 0)) {
    return [ok('database', 'none yet: the first start makes it'), ...files, ...keyFindings([], configured)];
  }
  const engine = await engineOf(url, limits, true);
  try {
    try {
      await connect(engine);
    } catch (error) {
      const found = `The database cannot be reached. ${said(error)}`;
      return [
        fail('database', found, 'DATABASE_URL must name one that answers.'),
        ok('API keys', `${configured} configured, the stored ones are not known`),
        ...files,
      ];
    }
    return [ok('database', 'reached'), ...(await findingsOf(engine, configured)), ...files];
  } finally {
    await disconnect(engine);
  }
}

async function findingsOf(engine: Engine, configured: number): Promise<Finding[]> {
  const parts: readonly (readonly [name: string, look: () => Promise<Finding[]>])[] = [
    ['database', () => engine.inspect()],
    ['encoding', async () => [await engine.encoding()]],
    ['schema', async () => [await schemaFinding(engine)]],
    ['API keys', async () => keyFindings(await storedKeys(engine), configured)],
  ];
  const findings: Finding[] = [];
  for (const [name, look] of parts) {
    try {
      findings.push(...(await look()));
    } catch (error) {
      findings.push(fail(name, said(error), 'The database must answer.'));
    }
  }
  return findings;
}

async function schemaFinding(engine: Engine): Promise<Finding> {
  try {
    const steps = await schemaSteps(engine.readSource);
    const missing = steps.filter(({ applied }) => !applied).map(({ name }) => name);
    if (missing.length === 0) return ok('schema', 'that of this build');
    const found = `${missing.length} of ${steps.length} migrations are not applied: ${missing.join(', ')}.`;
    return warn('schema', found, '"petstore migrate run" applies them, and so does the next start.');
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return fail('schema', error.message, 'An older build must not work on it.');
  }
}

async function storedKeys(engine: Engine): Promise<ApiKey[]> {
  const runner = engine.readSource.createQueryRunner();
  try {
    if (!(await runner.hasTable(keyTable.name))) return [];
  } finally {
    await runner.release();
  }
  const rows = await engine.rows({ sql: `SELECT ${keyTable.select} FROM ${keyTable.name}`, values: [] });
  return rows.map((row) => keyTable.entity(row));
}

function keyFindings(stored: readonly ApiKey[], configured: number): Finding[] {
  const now = Date.now();
  // What is NULL in the row is absent here.
  const left = ({ expiresAt }: ApiKey) => (expiresAt ? expiresAt.getTime() - now : Infinity);
  const valid = stored.filter((key) => !key.revokedAt && left(key) > 0);
  const found = `${valid.length} stored, ${configured} configured`;
  const all =
    valid.length + configured > 0
      ? ok('API keys', found)
      : warn(
          'API keys',
          'There is no valid key, and so every request is 401.',
          '"petstore keys create --name NAME" makes one.',
        );
  const rotate = '"petstore keys rotate NAME --overlap 7d" puts another in its place.';
  const replaced = new Set(valid.map(({ name }) => retiredName(name)));
  const ending = valid
    .filter((key) => left(key) <= SOON && !replaced.has(key.name))
    .map(({ name, expiresAt }) => warn('API keys', `The key "${name}" ends on ${expiresAt?.toISOString()}.`, rotate));
  return [all, ...ending];
}
