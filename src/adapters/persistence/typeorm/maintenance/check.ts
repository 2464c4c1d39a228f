import fs from 'node:fs';
import { DataSource } from 'typeorm';
import { fail, Finding, ok, warn } from '../../../../application/finding.js';
import { keyState } from '../../../../domain/keys/api-key.js';
import { DatabaseUrl, isOnThisMachine } from '../../../../settings/database-url.js';
import { isEncrypted } from '../data-source.js';
import { quoted } from '../../../../application/texts.js';
import { requireWritable } from '../../sqlite-file.js';
import { dialectOf } from '../dialects/dialects.js';
import { prepareConnection } from '../failures.js';
import { ApiKeySchema } from '../keys/api-key.schema.js';
import { requireRights, schemaFinding, withDatabase } from '../migrate.js';

const UNENCRYPTED = warn(
  'encryption',
  'The connection to another machine is not encrypted: the server has no TLS, or the URL disables it.',
  'Let the server have TLS; "Connection URL" in docs/databases.md says how the URL asks for it.',
);

/** On which locks or shared memory of SQLite are known to fail, by the type that statfs(2) gives on Linux. */
const UNSAFE_FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xfe534d42: 'SMB',
  0xff534d42: 'SMB',
  0x01021997: '9p',
  0x65735546: 'FUSE, such as virtiofs',
};

/** In bytes: below the first the disk is full; the second is what the log of a busy database may need. */
const FULL = 2 ** 20;
const ALMOST_FULL = 2 ** 26;

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
    if (url.engine !== 'sqlite') return await withDatabase(url, inspect, timeout);
    const disk = diskFindings(requireWritable(url));
    const isAbsent = !fs.statSync(url.file, { throwIfNoEntry: false })?.size;
    if (isAbsent) return [ok('database', 'none yet: the first start creates it'), ...disk, noKeys];
    return [...(await withDatabase(url, inspect, timeout)), ...disk];
  } catch (error) {
    return [fail('database', (error as Error).message)];
  }
}

/** Whether a folder is on a file system that SQLite can use, and that has room. */
function diskFindings(folder: string): Finding[] {
  const { type, bavail, bsize } = fs.statfsSync(folder);
  const free = bavail * bsize;
  const unsafe = UNSAFE_FILE_SYSTEMS[type];
  const found = `${Math.floor(free / 2 ** 20)} MiB free`;
  const room = `The disk of ${quoted(folder)} is ${free < FULL ? '' : 'almost '}full: ${found}.`;
  return [
    free >= ALMOST_FULL ? ok('disk', found) : (free < FULL ? fail : warn)('disk', room, 'Creates fail on a full disk.'),
    ...(unsafe
      ? [warn('file system', `${quoted(folder)} is on ${unsafe}.`, 'SQLite can lose data there: use a local disk.')]
      : []),
  ];
}

/** Whether any API key is valid, stored or configured. */
function keyFinding(stored: readonly Parameters<typeof keyState>[0][], configured: number): Finding {
  const valid = stored.filter((key) => keyState(key) === 'valid').length;
  if (valid + configured > 0) return ok('API keys', `${valid} stored, ${configured} configured`);
  const advice = '"petstore keys create --name NAME" creates one.';
  return warn('API keys', 'There is no valid key, and so every request is 401.', advice);
}
