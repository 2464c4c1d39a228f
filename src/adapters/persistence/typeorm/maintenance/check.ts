import { statSync } from 'node:fs';
import { DataSource } from 'typeorm';
import { fail, Finding, ok, warn } from '../../../../application/finding.js';
import { keyFinding } from '../../../../application/keys/api-key.service.js';
import { DatabaseUrl, isOnThisMachine } from '../../database-url.js';
import { isEncrypted } from '../data-source.js';
import { dialectOf } from '../dialects/dialects.js';
import { prepareConnection } from '../failures.js';
import { ApiKeySchema } from '../keys/api-key.schema.js';
import { requireRights, schemaFinding, withDatabase } from '../schema.js';

const UNENCRYPTED = warn(
  'encryption',
  'The connection to another machine is not encrypted: the server has no TLS, or the URL disables it.',
  'Let the server have TLS; "Connection URL" in docs/databases.md says how the URL asks for it.',
);

/**
 * Checks the database that a URL names, and changes nothing: no file is created, and no schema. `timeout` is that of a
 * statement, in milliseconds; `configured` is how many keys are valid besides the stored ones.
 */
export async function inspectDatabase(url: DatabaseUrl, timeout: number, configured: number): Promise<Finding[]> {
  const noKeys = keyFinding([], configured);
  if (url.engine === 'memory') return [ok('database', 'memory, which is lost with the process'), noKeys];
  const inspect = async (source: DataSource) => {
    const { version } = await prepareConnection(source.manager);
    const schema = await schemaFinding(source);
    const isReadable = url.engine !== 'sqlite' && !isOnThisMachine(url) && !isEncrypted(source.options);
    const found = [ok('database', version), ...(isReadable ? [UNENCRYPTED] : []), schema];
    // Of a table with other columns nothing is known.
    if (schema.state === 'fail') return found;
    const keys = async () => keyFinding(await source.manager.find(ApiKeySchema), configured);
    // Before the first migration they have no table.
    if (schema.state === 'warn') return [...found, await keys().catch(() => noKeys)];
    await requireRights(source.manager);
    const { findings } = dialectOf(source);
    return [...found, ...(findings ? await source.query<Finding[]>(findings) : []), await keys()];
  };
  try {
    const isAbsent = url.engine === 'sqlite' && !statSync(url.file, { throwIfNoEntry: false })?.size;
    if (isAbsent) return [ok('database', 'none yet: the first start creates it'), noKeys];
    return await withDatabase(url, inspect, timeout);
  } catch (error) {
    return [fail('database', (error as Error).message)];
  }
}
