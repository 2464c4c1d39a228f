import { check } from '../../src/adapters/cli/check.command.js';
import { databaseUrl, PersistentUrl } from '../../src/settings/database-url.js';
import { collectGarbage } from '../../src/adapters/persistence/sqlite-file.js';
import { makeBackup, restoreBackup } from '../../src/adapters/persistence/typeorm/maintenance/backup.js';
import { Contents, copyDatabase } from '../../src/adapters/persistence/typeorm/maintenance/copy.js';
import { Progress } from '../../src/messages/progress.js';
import type { Finding } from '../../src/messages/finding.js';
import { SETTINGS } from '../../src/settings/settings.js';
import { fileOf } from './raw-query.js';

/** What `petstore check` finds of the database at a URL and the keys, with so many keys configured. */
export async function checkStore(url: string, configuredKeys = 0): Promise<Finding[]> {
  const keys = Array.from({ length: configuredKeys }, (_, i) => String(i).repeat(32));
  const findings = await check({ DATABASE_URL: url, API_KEYS: keys.join() });
  return findings.filter(({ name }) => !(name in SETTINGS));
}

/** `petstore copy` */
export function copy(from: string, to: string): Promise<Contents> {
  const [source, target] = [databaseUrl('--from', from), databaseUrl('--to', to)] as [PersistentUrl, PersistentUrl];
  return asCommand(copyDatabase(source, target, new Progress()));
}

/** `petstore backup` */
export function backup(url: string, target: string): Promise<Contents> {
  return asCommand(makeBackup(fileOf(url), target, new Progress()));
}

/** `petstore restore` */
export function restore(url: string, source: string): ReturnType<typeof restoreBackup> {
  return asCommand(restoreBackup(fileOf(url), source, new Progress()));
}

/** Closes the connections of a command, as the end of its process does. */
async function asCommand<T>(running: Promise<T>): Promise<T> {
  try {
    return await running;
  } finally {
    await collectGarbage();
  }
}
