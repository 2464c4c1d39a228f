import fs from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import Libsql from 'libsql';
import { quoted, UsageError } from '../../../../application/errors.js';
import { createFolder, giveOwnerOf, resolved } from '../../sqlite-file.js';
import { requireSchema, withDataSource } from '../schema.js';
import { Contents, contentsOf } from './copy.js';

/** Backs up the SQLite database in `file`, in use or not. The backup gets its name once verified and on disk. */
export async function makeBackup(file: string, target: string): Promise<Contents> {
  if (fs.existsSync(target)) throw new UsageError(`The backup must be a new file; ${quoted(target)} exists.`);
  const folder = dirname(resolve(target));
  if (!fs.existsSync(folder))
    throw new UsageError(`The folder of the backup must exist; ${quoted(folder)} does not exist.`);
  return withTemporary(target, async (made) => {
    // It copies the highest id of deleted rows too.
    await withDataSource({ name: 'DATABASE_URL', engine: 'sqlite', file, mustExist: true }, (source) =>
      source.query('VACUUM INTO ?', [made]),
    );
    const contents = await verify(made, 'The database');
    giveOwnerOf(folder, made);
    // Unlike a rename it never overwrites.
    fs.linkSync(made, target);
    flush(folder);
    return contents;
  });
}

/**
 * Replaces the SQLite database in `file` with a copy of a backup, by one rename. Resolves to what it contains, and
 * where the previous database is kept if there was one. Rejects with `UsageError`, and changes nothing, if the backup
 * is not sound, or another process has the database open.
 */
export async function restoreBackup(file: string, backup: string): Promise<Contents & { kept: string | undefined }> {
  const from = resolved({ name: 'FILE', engine: 'sqlite' as const, file: backup, mustExist: true }).file;
  // Where a symbolic link leads, even if no file exists there.
  const isLink = fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink();
  const database = fs.existsSync(file)
    ? fs.realpathSync(file)
    : resolve(dirname(file), isLink ? fs.readlinkSync(file) : basename(file));
  createFolder(dirname(database));
  return withTemporary(database, async (made) => {
    fs.copyFileSync(from, made);
    // Of a file that was copied while it was open.
    if (fs.existsSync(`${from}-wal`)) fs.copyFileSync(`${from}-wal`, `${made}-wal`);
    const contents = await verify(made, quoted(backup));
    return { ...contents, kept: replace(database, made) };
  });
}

/** Provides a path in a private folder beside a file that is to be created. */
async function withTemporary<T>(file: string, use: (made: string) => Promise<T>): Promise<T> {
  const folder = fs.mkdtempSync(`${resolve(file)}.unfinished-`);
  try {
    return await use(join(folder, 'store.sqlite'));
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Verifies a database file, flushes it without a log, and resolves to what it contains. */
async function verify(file: string, name: string): Promise<Contents> {
  fs.chmodSync(file, 0o600);
  try {
    const contents = await withDataSource({ name: 'FILE', engine: 'sqlite', file }, async (source) => {
      const [first] = await source.query<{ integrity_check: string }[]>('PRAGMA integrity_check');
      if (first?.integrity_check !== 'ok') throw new Error(String(first?.integrity_check));
      await requireSchema(source, name);
      await source.query('PRAGMA wal_checkpoint(TRUNCATE)');
      return contentsOf(source.manager);
    });
    flush(file);
    return contents;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${name} cannot be verified: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Puts another file in the place of a database, and returns where that is now. Whenever the process is killed, the path
 * leads to the old database with all of its log, or to the new one without any.
 */
function replace(file: string, made: string): string | undefined {
  const kept = `${file}.before-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  const exists = fs.existsSync(file);
  const lock = exists ? lockWithoutLog(file) : undefined;
  try {
    giveOwnerOf(exists ? file : dirname(file), made);
    if (exists) fs.linkSync(file, kept);
    // Logs that a damaged or deleted database has left behind: SQLite would apply them to the new one.
    for (const end of ['-wal', '-shm', '-journal'])
      if (fs.existsSync(file + end)) fs.renameSync(file + end, kept + end);
    flush(dirname(file));
    fs.renameSync(made, file);
    flush(dirname(file));
    return exists ? kept : undefined;
  } finally {
    lock?.close();
  }
}

/**
 * Locks a database for one connection alone, and has all of its log in it. (Only a connection without others can leave
 * WAL mode.) Nobody can have a file open that is so damaged that it cannot be locked.
 */
function lockWithoutLog(file: string): Libsql.Database {
  // In milliseconds: another command may be about to end.
  const connection = new Libsql(file, { timeout: 2_000 });
  try {
    connection.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    const { code = '' } = error as { code?: string };
    if (/^SQLITE_(NOTADB|CORRUPT)/.test(code)) return connection;
    connection.close();
    const advice = 'It may be open in another process: stop the service and every command, then retry.';
    throw new UsageError(`${quoted(file)} cannot be locked (${code}). ${advice}`, { cause: error });
  }
  return connection;
}

/** Flushes a file, or the names in a folder, to disk. */
function flush(path: string): void {
  const opened = fs.openSync(path, 'r');
  fs.fsyncSync(opened);
  fs.closeSync(opened);
}
