import { existsSync } from 'node:fs';
import { locationOf, type PersistentUrl } from '../../settings/database-url.js';
import { configuredDatabase, readSetting } from '../../settings/settings.js';
import type { Progress } from '../../messages/progress.js';
import type { Repositories } from '../persistence/persistence.module.js';
import { requireDatabase } from '../persistence/sqlite-file.js';
import type { Output } from './output.js';
import { withProgress } from './progress.js';

/**
 * Opens the database for as long as `use` takes. To `change` or `read` it, it must exist on SQLite. To read it changes
 * nothing; the others migrate it, which may be long work, and say which one it is.
 */
export async function withRepositories<T>(
  access: 'create' | 'change' | 'read',
  output: Output,
  use: (database: Repositories, progress: Progress) => Promise<T>,
  quiet?: boolean,
): Promise<T> {
  const url = configuredDatabase();
  if (access !== 'create') requireDatabase(url);
  if (access !== 'read') noteDatabase(output, url);
  const { openRepositories } = await import('../persistence/persistence.module.js');
  const STATEMENT_TIMEOUT = readSetting('STATEMENT_TIMEOUT');
  return withProgress(quiet, async (progress) => {
    const limits = { STATEMENT_TIMEOUT, MAX_WAITING: Infinity, readsOnly: access === 'read', progress };
    const database = await openRepositories(url, limits, () => undefined);
    try {
      return await use(database, progress);
    } finally {
      await database.close();
    }
  });
}

/** Says which database a command is about to create or change. */
export function noteDatabase(output: Output, url: PersistentUrl): void {
  const isNew = url.engine === 'sqlite' && !existsSync(url.file);
  output.note(`${isNew ? 'New database' : 'Database'}: ${locationOf(url)}`);
}
