import fs from 'node:fs';
import { DataSource } from 'typeorm';
import { DatabaseUnavailable } from '../../../../application/errors.js';
import { UsageError } from '../../../../messages/usage-error.js';
import { fail, Finding, ok, warn } from '../../../../messages/finding.js';
import { keyState } from '../../../../domain/keys/api-key.js';
import { DatabaseUrl, isOnThisMachine, PersistentUrl } from '../../../../settings/database-url.js';
import { isEncrypted, withDataSourceAt } from '../data-source.js';
import { quoted } from '../../../../messages/texts.js';
import { requireWritable } from '../../sqlite-file.js';
import { dialectOf } from '../dialects/dialects.js';
import { prepareConnection } from '../failures.js';
import { ApiKeySchema } from '../keys/api-key.schema.js';
import { requireMigrationRights } from '../migrate.js';
import { compareMigrations, requireRights, schemaFinding } from '../schema.js';

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

/** What is known of a database. */
export interface Inspection {
  readonly findings: readonly Finding[];
  /** How many stored API keys are valid; undefined if that cannot be read. */
  readonly validKeys?: number;
}

/**
 * Checks the database that a URL names, and changes nothing: no file is created, and no schema. `timeout` is that of a
 * statement, in milliseconds.
 */
export async function inspectDatabase(url: DatabaseUrl, timeout: number): Promise<Inspection> {
  if (url.engine === 'memory')
    return { findings: [ok('database', 'memory, which is lost with the process')], validKeys: 0 };
  try {
    if (url.engine !== 'sqlite') return await withDataSourceAt(url, (source) => inspect(source, url), timeout);
    const disk = diskFindings(requireWritable(url));
    const isAbsent = !fs.statSync(url.file, { throwIfNoEntry: false })?.size;
    if (isAbsent) return { findings: [ok('database', 'none yet: the first start creates it'), ...disk], validKeys: 0 };
    const { findings, validKeys } = await withDataSourceAt(url, (source) => inspect(source, url), timeout);
    return { findings: [...findings, ...disk], validKeys };
  } catch (error) {
    // The operator can mend these. Any other error is a fault of the program, which `main.ts` prints with its stack.
    if (!(error instanceof UsageError || error instanceof DatabaseUnavailable || 'syscall' in (error as Error)))
      throw error;
    return { findings: [fail('database', (error as Error).message)] };
  }
}

async function inspect(source: DataSource, url: PersistentUrl): Promise<Inspection> {
  const { version } = await prepareConnection(source.manager);
  const schema = await schemaFinding(source);
  const isUnencrypted = url.engine !== 'sqlite' && !isOnThisMachine(url) && !isEncrypted(source.options);
  const findings = [ok('database', version), ...(isUnencrypted ? [UNENCRYPTED] : []), schema];
  // Of a table with other columns nothing is known.
  if (schema.state === 'fail') return { findings };
  // Those of any release: it may be one before `owner`.
  const columns = { digest: true, expiresAt: true, revokedAt: true } as const;
  const validKeys = async () =>
    (await source.manager.find(ApiKeySchema, { select: columns })).filter((key) => keyState(key) === 'valid').length;
  const { pending } = await compareMigrations(source.manager);
  if (pending.length > 0) await requireMigrationRights(source);
  // Before the first migration they have no table.
  if (schema.state === 'warn') return { findings, validKeys: await validKeys().catch(() => 0) };
  await requireRights(source.manager);
  const { findings: ofEngine } = dialectOf(source);
  const others = ofEngine ? await source.query<Finding[]>(ofEngine) : [];
  return { findings: [...findings, ...others], validKeys: await validKeys() };
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
