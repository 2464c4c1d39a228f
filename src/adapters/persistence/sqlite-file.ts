import { chownSync, closeSync, existsSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { quoted, UsageError } from '../../application/errors.js';
import { LastingUrl } from './database-url.js';

/**
 * Resolves the symbolic links of a SQLite database; any other URL stays as it is. Creates the file and its folder, for
 * the owner alone, unless it exists or must exist; throws `UsageError` if it cannot. Only before its first connection:
 * closing the file again would release the locks of all connections of this process
 * (https://www.sqlite.org/howtocorrupt.html, section 2.2).
 */
export function resolved<Url extends LastingUrl>(url: Url): Url {
  if (url.engine !== 'sqlite') return url;
  const { file, mustExist = false } = url;
  try {
    if (!mustExist) createFolder(dirname(resolve(file)));
    const isNew = !existsSync(file);
    closeSync(openSync(file, mustExist ? 'r' : 'a+', 0o600));
    const path = realpathSync(file);
    if (isNew) giveOwnerOf(dirname(path), path);
    return { ...url, file: path };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A relative path alone does not show that the command runs in the wrong folder.
    const missing = isAbsolute(file) ? 'does not exist' : `does not exist in ${process.cwd()}`;
    const problem = code === 'ENOENT' ? missing : `cannot be opened or created (${code})`;
    const wanted = mustExist ? 'a SQLite database' : 'a SQLite database or a new file';
    throw new UsageError(`${quoted(file)} must be ${wanted}; it ${problem}.`);
  }
}

/** Creates a folder, and what is missing of its path, each for the owner of the folder around it alone. */
export function createFolder(folder: string): void {
  if (existsSync(folder)) return;
  createFolder(dirname(folder));
  // Another process may create it at the same time.
  if (mkdirSync(folder, { recursive: true, mode: 0o700 })) giveOwnerOf(dirname(folder), folder);
}

/** Gives what root has created the owner of another file or folder: the service could not open it otherwise. */
export function giveOwnerOf(other: string, created: string): void {
  const { uid, gid } = statSync(other);
  if (process.getuid?.() === 0) chownSync(created, uid, gid);
}

/** Makes libsql close its connections: its `close` leaves one open until its last statement is garbage. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  // Finalizers run after this turn of the event loop.
  await setImmediate();
}
