import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import Libsql from 'libsql';
import { quoted, StoreUnavailable, UsageError } from '../../../application/errors.js';
import { DatabaseLimits } from '../database-url.js';
import { makeFolder, noFile, SQLITE_FILE } from '../sqlite-file.js';
import { contentsOf, CopyReport, requireSchema } from './copy-store.js';
import { said } from './database.js';
import { withEngine } from './open-database.js';

/** What SQLite may have beside a file, by what its name ends in. */
const BESIDE = ['-wal', '-shm', '-journal'];

/** What a restored backup holds, and the path under which the store that was there is kept; undefined if there was none. */
export interface RestoreReport extends CopyReport {
  readonly kept: string | undefined;
}

/**
 * Makes a backup of the SQLite store in `file`, whoever writes to it meanwhile: all that was committed when it begins is in it. The backup
 * is checked and on disk before it has its name. Rejects with `UsageError` if there is something of this name, or the check fails.
 */
export async function makeBackup(file: string, target: string, limits: DatabaseLimits): Promise<CopyReport> {
  if (existsSync(target)) throw alreadyThere(target);
  makeFolder(dirname(resolve(target)));
  return inFolderBeside(target, async (made) => {
    await withEngine({ engine: 'sqlite', file }, limits, async (engine) => {
      await requireSchema(engine, 'The store');
      // It copies the counter of the ids too.
      await engine.write({ sql: 'VACUUM INTO ?', values: [made] });
    });
    const report = await check(made, 'The backup', limits);
    try {
      linkSync(made, target);
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? alreadyThere(target) : error;
    }
    sync(dirname(resolve(target)));
    return report;
  });
}

/**
 * Puts a copy of a backup in the place of the SQLite store in `file`, which is kept under another name, with all that is beside it. Rejects
 * with `UsageError`, and changes nothing, if the backup is not sound, or anybody has the store open.
 */
export async function restoreBackup(file: string, backup: string, limits: DatabaseLimits): Promise<RestoreReport> {
  const trouble = noFile(file);
  if (trouble !== undefined) throw new UsageError(`DATABASE_URL must be ${SQLITE_FILE}; ${trouble}.`);
  makeFolder(dirname(resolve(file)));
  return inFolderBeside(file, async (made) => {
    copyFileSync(backup, made);
    // A file that somebody has copied while it was open.
    if (existsSync(`${backup}-wal`)) copyFileSync(`${backup}-wal`, `${made}-wal`);
    const report = await check(made, quoted(backup), limits);
    return { ...report, kept: replace(file, made) };
  });
}

/**
 * Lends a path in a folder of its own, which nobody else can look into, beside a file that is to come. The folder's name says what it is to
 * whoever finds it after the process was killed.
 */
async function inFolderBeside<T>(file: string, use: (made: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(dirname(resolve(file)), `${basename(file)}.unfinished-`));
  try {
    return await use(join(folder, 'store.sqlite'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Checks that a file is sound and a store of this build, has it on disk, and resolves to what is in it. */
async function check(file: string, name: string, limits: DatabaseLimits): Promise<CopyReport> {
  chmodSync(file, 0o600);
  try {
    const report = await withEngine({ engine: 'sqlite', file }, limits, async (engine) => {
      const [first] = await engine.rows({ sql: 'PRAGMA integrity_check', values: [] });
      if (first?.[0] !== 'ok') throw new Error(String(first?.[0]));
      await requireSchema(engine, name);
      return contentsOf(engine);
    });
    sync(file);
    return report;
  } catch (error) {
    if (error instanceof UsageError || error instanceof StoreUnavailable) throw error;
    throw new UsageError(`${name} is damaged: ${said(error)}`, { cause: error });
  }
}

/** Puts another file in the place of a store that nobody has open, and returns the path if that one is kept. */
function replace(file: string, made: string): string | undefined {
  const kept = `${file}.before-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  const beside = BESIDE.filter((end) => existsSync(file + end));
  const isThere = existsSync(file);
  const lock = isThere ? lockAlone(file) : undefined;
  try {
    if (isThere) {
      const { uid, gid } = statSync(file);
      if (process.getuid?.() === 0) chownSync(made, uid, gid);
      linkSync(file, kept);
    }
    for (const end of beside) if (existsSync(file + end)) renameSync(file + end, kept + end);
    for (const end of BESIDE) rmSync(file + end, { force: true });
    sync(dirname(resolve(file)));
    renameSync(made, file);
    sync(dirname(resolve(file)));
  } finally {
    // SQLite sees that its file has another name by now, and leaves it as it is.
    lock?.close();
  }
  return isThere || beside.length > 0 ? kept : undefined;
}

/**
 * Locks a file for one connection alone. A connection that uses a write-ahead log holds a shared lock from its first question to its end,
 * even if it has nothing to do; nobody can have a file open that is damaged so that it cannot be locked.
 */
function lockAlone(file: string): Libsql.Database {
  const connection = new Libsql(file);
  try {
    connection.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    const code = String((error as { code?: string }).code);
    if (!/^SQLITE_(NOTADB|CORRUPT)/.test(code)) {
      connection.close();
      throw code.startsWith('SQLITE_BUSY')
        ? new UsageError(
            `${quoted(file)} is open in another process; stop the service, and all that works on it, first.`,
          )
        : error;
    }
  }
  return connection;
}

function alreadyThere(target: string): UsageError {
  return new UsageError(`The backup must be a file that is not there yet; ${quoted(target)} is there.`);
}

/** Has what was written to a file, or the names in a folder, be on disk. */
function sync(path: string): void {
  const opened = openSync(path, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
