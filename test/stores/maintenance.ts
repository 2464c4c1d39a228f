import { LastingUrl } from '../../src/adapters/persistence/database-url.js';
import { makeBackup, restoreBackup, RestoreReport } from '../../src/adapters/persistence/typeorm/backup-store.js';
import { copyStore, CopyReport } from '../../src/adapters/persistence/typeorm/copy-store.js';
import { inspectStore } from '../../src/adapters/persistence/typeorm/inspect-store.js';
import { Finding } from '../../src/application/finding.js';
import { readConfig } from '../../src/config.js';
import { fileOf } from './raw-query.js';

const { databaseLimits } = readConfig({});

const databaseAt = (url: string) => readConfig({ DATABASE_URL: url }).database;

/** What `petstore check` finds in the database at a URL, with so many keys configured besides. */
export function checkStore(url: string, configuredKeys = 0): Promise<Finding[]> {
  return inspectStore(databaseAt(url), databaseLimits, configuredKeys);
}

/** `petstore copy` */
export function copy(from: string, to: string): Promise<CopyReport> {
  return copyStore(databaseAt(from) as LastingUrl, databaseAt(to) as LastingUrl, databaseLimits, () => undefined);
}

/** `petstore backup` */
export function backup(url: string, target: string): Promise<CopyReport> {
  return makeBackup(fileOf(url), target, databaseLimits);
}

/** `petstore restore` */
export function restore(url: string, source: string): Promise<RestoreReport> {
  return restoreBackup(fileOf(url), source, databaseLimits);
}
