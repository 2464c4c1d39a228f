import { databaseUrl, PersistentUrl } from '../../src/settings/database-url.js';
import { collectGarbage } from '../../src/adapters/persistence/sqlite-file.js';
import { makeBackup, restoreBackup } from '../../src/adapters/persistence/typeorm/maintenance/backup.js';
import { Contents, copyDatabase } from '../../src/adapters/persistence/typeorm/maintenance/copy.js';
import { inspectDatabase } from '../../src/adapters/persistence/typeorm/maintenance/check.js';
import { Finding } from '../../src/application/finding.js';
import { readSettings } from '../../src/settings/settings.js';
import { fileOf } from './raw-query.js';

const { STATEMENT_TIMEOUT } = readSettings({});

const ignore: (line: string) => void = () => undefined;

const databaseAt = (url: string) => readSettings({ DATABASE_URL: url }).DATABASE_URL;

/** What `petstore check` finds in the database at a URL, with so many keys configured besides. */
export function checkStore(url: string, configuredKeys = 0): Promise<Finding[]> {
  return inspectDatabase(databaseAt(url), STATEMENT_TIMEOUT, configuredKeys);
}

/** `petstore copy` */
export function copy(from: string, to: string): Promise<Contents> {
  const [source, target] = [databaseUrl('--from', from), databaseUrl('--to', to)] as [PersistentUrl, PersistentUrl];
  return asCommand(copyDatabase(source, target));
}

/** `petstore backup` */
export function backup(url: string, target: string, print = ignore): Promise<Contents> {
  return asCommand(makeBackup(fileOf(url), target, print));
}

/** `petstore restore` */
export function restore(url: string, source: string, print = ignore): ReturnType<typeof restoreBackup> {
  return asCommand(restoreBackup(fileOf(url), source, print));
}

/** Closes the connections of a command, as the end of its process does. */
async function asCommand<T>(running: Promise<T>): Promise<T> {
  try {
    return await running;
  } finally {
    await collectGarbage();
  }
}
