import { closeSync, fstatSync, mkdirSync, openSync, readSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { quoted, UsageError } from '../../application/errors.js';
import { LastingUrl } from './database-url.js';

/** How a SQLite database begins (https://www.sqlite.org/fileformat.html, section 1.3). */
const MAGIC = 'SQLite format 3\0';

/**
 * Resolves the symbolic links of a SQLite database; any other URL stays as it is. Creates the file and its folder, for
 * the owner alone, unless it exists or must exist; throws `UsageError` if it cannot be a database. Only before its
 * first connection: closing the file again would release the locks of all connections of this process
 * (https://www.sqlite.org/howtocorrupt.html, section 2.2).
 */
export function resolved<Url extends LastingUrl>(url: Url): Url {
  if (url.engine !== 'sqlite') return url;
  const { file, mustExist = false } = url;
  let problem = 'is not a SQLite database';
  try {
    if (!mustExist) mkdirSync(dirname(resolve(file)), { recursive: true, mode: 0o700 });
    const opened = openSync(file, mustExist ? 'r' : 'a+', 0o600);
    const head = Buffer.alloc(MAGIC.length);
    const length = fstatSync(opened).isFile() ? readSync(opened, head) : undefined;
    closeSync(opened);
    if (length === 0 || head.toString('latin1') === MAGIC) return { ...url, file: realpathSync(file) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A relative path alone does not show that the command runs in the wrong folder.
    const missing = isAbsolute(file) ? 'does not exist' : `does not exist in ${process.cwd()}`;
    problem = code === 'ENOENT' ? missing : `cannot be opened or created (${code})`;
  }
  throw new UsageError(`${quoted(file)} must be a SQLite database${mustExist ? '' : ' or a new file'}; it ${problem}.`);
}
