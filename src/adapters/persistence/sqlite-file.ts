import { closeSync, constants, existsSync, fstatSync, mkdirSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { quoted, UsageError } from '../../application/errors.js';

/** How a SQLite database begins (https://www.sqlite.org/fileformat.html, section 1.3). */
const MAGIC = 'SQLite format 3\0';

/** What a setting takes that names a SQLite database, be it there or not. */
export const SQLITE_FILE = 'sqlite:FILE, a file that is a database or can be made';

/**
 * Makes the file of a SQLite database, and its folder, the owner's alone, if they are not there. Throws `UsageError`, one line that
 * begins with the setting's `name`, if there can be no database at this path.
 */
export function makeSqliteFile(name: string, file: string): void {
  const trouble = troubleOf(file, true);
  if (trouble !== undefined) throw new UsageError(`${name} must be ${SQLITE_FILE}; ${trouble}.`);
}

/** Throws `UsageError`, one line that begins with the `name` of what names the file, if it is no SQLite database; makes nothing. */
export function findSqliteFile(name: string, file: string): void {
  const trouble = troubleOf(file, false);
  if (trouble !== undefined) throw new UsageError(`${name} must name a SQLite database that is there; ${trouble}.`);
}

/** What is wrong with a path at which something is that is no file, and that nothing may take the place of; undefined if a file is there, or nothing. */
export function noFile(path: string): string | undefined {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === false ? `${quoted(path)} is no file` : undefined;
}

const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDONLY, O_RDWR } = constants;

function troubleOf(file: string, mayMake: boolean): string | undefined {
  const shown = quoted(file);
  try {
    if (mayMake) makeFolder(dirname(resolve(file)));
    // A pipe is not waited for.
    const opened = openSync(file, O_NONBLOCK | (mayMake ? O_RDWR | O_APPEND | O_CREAT : O_RDONLY), 0o600);
    try {
      if (!fstatSync(opened).isFile()) return `${shown} is no file`;
      const head = Buffer.alloc(MAGIC.length);
      const length = readSync(opened, head, 0, MAGIC.length, 0);
      return length > 0 && head.toString('latin1') !== MAGIC ? `${shown} is no SQLite database` : undefined;
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    return `${shown} cannot be ${syscall === 'mkdir' ? 'made, nor its folder' : 'opened'} (${code})`;
  }
}

/** Makes a folder, and those it is in, the owner's alone. Not by mkdir's `recursive`, which tries for ever if a folder cannot be made in one that is there, as in /proc. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, 0o700);
  } catch (error) {
    // Another process was quicker.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
