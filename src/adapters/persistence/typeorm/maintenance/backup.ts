import fs from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import Libsql from 'libsql';
import AsyncLibsql from 'libsql/promise';
import { DataSource, QueryFailedError } from 'typeorm';
import { UsageError } from '../../../../messages/usage-error.js';
import type { Progress } from '../../../../messages/progress.js';
import { quoted } from '../../../../messages/texts.js';
import { filePath } from '../../../../settings/path.js';
import { collectGarbage, createFolder, giveOwnerOf, requireDatabase, targetOf } from '../../sqlite-file.js';
import { dataSourceOptions, SQLITE_TIMEOUT, withDataSourceAt, withDataSource } from '../data-source.js';
import { query } from '../dialects/dialects.js';
import { driverMessage } from '../failures.js';
import { requireAnyRelease } from '../schema.js';
import { Contents, contentsOf } from './copy.js';

const MIB = 2 ** 20;

/** Selects how much of a database a copy has. */
const USED = `SELECT (page_count - freelist_count) * page_size AS bytes
  FROM pragma_page_count, pragma_freelist_count, pragma_page_size`;

const IN_USE = 'is open in another process: stop the service and every command, then retry.';

/** Backs up the SQLite database in `file`, in use or not. The backup gets its name once verified and on disk. */
export async function makeBackup(file: string, backup: string, progress: Progress): Promise<Contents> {
  const existing = fs.statSync(filePath('The backup', backup), { throwIfNoEntry: false });
  if (existing && !existing.isFile())
    throw new UsageError(`The backup must be a regular file; ${quoted(backup)} is not.`);
  const target = targetOf(backup);
  const database = { name: 'DATABASE_URL', engine: 'sqlite', file } as const;
  requireDatabase(database);
  if (fs.existsSync(target)) throw new UsageError(`The backup must be a new file; ${quoted(target)} exists.`);
  const folder = dirname(target);
  if (!fs.existsSync(folder))
    throw new UsageError(`The folder of the backup must exist; ${quoted(folder)} does not exist.`);
  const copy = (source: DataSource) =>
    withTemporary(target, file, async (made) => {
      // For the owner alone from the start: some disks reject chmod.
      fs.closeSync(fs.openSync(made, 'wx', 0o600));
      const [used] = await source.query<[{ bytes: bigint }]>(USED);
      const amount = { unit: 'MiB', total: Number(used.bytes) / MIB, isEstimate: true } as const;
      const ifInterrupted = 'There is no backup, and the database is as it was. Run the same command again.';
      progress.begin({ name: 'Backing up', amount, ifInterrupted });
      // It copies the highest id of deleted rows too.
      await whileGrowing(made, progress, inBackground(file, 'VACUUM INTO ?', made));
      progress.begin({ name: 'Verifying the backup', ifInterrupted });
      const contents = await verify(made, file);
      giveOwnerOf(folder, made);
      publish(made, target);
      return contents;
    });
  return withDataSourceAt(database, copy);
}

/**
 * Replaces the SQLite database in `file` with a copy of a backup, by one rename. Resolves to what it contains, and
 * where the previous database is kept if there was one. Rejects with `UsageError`, and changes nothing, if the backup
 * is not sound, or another process has the database open.
 */
export async function restoreBackup(
  file: string,
  backup: string,
  progress: Progress,
): Promise<Contents & { kept: string | undefined }> {
  requireDatabase({ name: 'FILE', engine: 'sqlite', file: filePath('The backup', backup) });
  const from = fs.realpathSync(backup);
  const database = targetOf(file);
  createFolder(dirname(database));
  return withTemporary(database, backup, async (made) => {
    const before = lastWrites(from);
    // The backup may be a plain copy of a database in use, with its log.
    const ends = ['', '-wal'].filter((end) => fs.existsSync(from + end));
    const total = ends.reduce((sum, end) => sum + fs.statSync(from + end).size, 0) / MIB;
    const ifInterrupted = 'Nothing was restored, and the database is as it was. Run the same command again.';
    progress.begin({ name: 'Copying the backup', amount: { unit: 'MiB', total }, ifInterrupted });
    for (const end of ends) await copyFile(from + end, made + end, progress);
    if (lastWrites(from) !== before)
      throw new UsageError(`${quoted(backup)} is in use. Back it up with "petstore backup", and restore the backup.`);
    progress.begin({ name: 'Verifying the backup', ifInterrupted });
    const contents = await verify(made, backup);
    return { ...contents, kept: replace(database, made) };
  });
}

/** Copies a file for the owner alone. */
async function copyFile(from: string, to: string, progress: Progress): Promise<void> {
  const told = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      yield chunk;
      await progress.advance(chunk.length / MIB);
    }
  };
  const source = fs.createReadStream(from, { highWaterMark: MIB });
  await pipeline(source, told, fs.createWriteStream(to, { flags: 'wx', mode: 0o600 }));
}

/** Tells how large a file is until what writes it has ended. */
async function whileGrowing(file: string, progress: Progress, writing: Promise<unknown>): Promise<void> {
  let told = 0;
  const tell = () => {
    const size = (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0) / MIB;
    void progress.advance(size - told);
    told = size;
  };
  const timer = setInterval(tell, 100);
  await writing.finally(() => clearInterval(timer));
}

/** Runs a statement in a thread of libsql: it may take minutes, in which signals and timers must run. */
async function inBackground<Row>(file: string, statement: string, ...parameters: unknown[]): Promise<Row[]> {
  try {
    const connection = new AsyncLibsql(file, { timeout: SQLITE_TIMEOUT });
    const prepared = (await connection.prepare(statement)) as { all(...values: unknown[]): Promise<Row[]> };
    return await prepared.all(...parameters).finally(() => connection.close());
  } catch (error) {
    throw new QueryFailedError(statement, parameters, error as Error);
  }
}

/** Changes with each write to a database. */
function lastWrites(file: string): string {
  const stats = [file, `${file}-wal`].map((path) => fs.statSync(path, { bigint: true, throwIfNoEntry: false }));
  return stats.map((each) => `${each?.mtimeNs} ${each?.size}`).join();
}

/** Runs work with a path in a private folder beside `file`. `source` is named if the copy of it cannot be used. */
async function withTemporary<T>(file: string, source: string, use: (made: string) => Promise<T>): Promise<T> {
  const folder = fs.mkdtempSync(`${file}.unfinished-`);
  const remove = () => fs.rmSync(folder, { recursive: true, force: true });
  // A command that is interrupted ends in the middle of this.
  process.once('exit', remove);
  try {
    return await use(join(folder, 'store.sqlite'));
  } catch (error) {
    if (!(error instanceof QueryFailedError)) throw error;
    const { code } = error.driverError as { code?: string };
    const path = /^SQLITE_(FULL|CANTOPEN|IOERR_(?!READ|SHORT_READ))/.test(String(code)) ? file : source;
    throw new UsageError(`${quoted(path)} cannot be used. ${driverMessage(error)}`, { cause: error });
  } finally {
    process.off('exit', remove);
    remove();
  }
}

/** Verifies a copy of a database, flushes it without a log, closes it, and resolves to what it contains. */
async function verify(copy: string, original: string): Promise<Contents> {
  const [found] = await inBackground<{ integrity_check: string }>(copy, 'PRAGMA integrity_check');
  if (found?.integrity_check !== 'ok')
    throw new UsageError(`${quoted(original)} is damaged: ${quoted(String(found?.integrity_check))}.`);
  const options = dataSourceOptions({ name: 'FILE', engine: 'sqlite', file: copy });
  const contents = await withDataSource(options, async (source) => {
    await requireAnyRelease(source, quoted(original));
    await source.query('PRAGMA wal_checkpoint(TRUNCATE)');
    return contentsOf((statement) => query(source.manager, statement));
  }).finally(collectGarbage);
  flush(copy);
  return contents;
}

/** Moves a file to its name, but never over another file, which a rename alone would replace. */
function publish(made: string, name: string): void {
  try {
    fs.linkSync(made, name);
  } catch (error) {
    if (fs.existsSync(name)) throw error;
    // The disk has no hard links.
    fs.renameSync(made, name);
  }
  flush(dirname(name));
}

/**
 * Puts another file in the place of a database, and returns where the old one is kept. Whenever the process is killed,
 * the path leads to the old database with all of its log, unless it was damaged, or to the new one without any.
 */
function replace(file: string, made: string): string | undefined {
  const kept = `${file}.before-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  const exists = fs.existsSync(file);
  if (exists) {
    emptyLog(file);
    keep(file, kept, `${made}-before`);
  }
  giveOwnerOf(exists ? file : dirname(file), made);
  // Logs that a damaged or deleted database has left behind: SQLite would apply them to the new one.
  for (const end of ['-wal', '-shm', '-journal']) if (fs.existsSync(file + end)) fs.renameSync(file + end, kept + end);
  flush(dirname(file));
  fs.renameSync(made, file);
  flush(dirname(file));
  return exists ? kept : undefined;
}

/** Gives a file a second name, which a file that replaces it does not get. */
function keep(file: string, name: string, unfinished: string): void {
  try {
    fs.linkSync(file, name);
  } catch {
    // The disk has no hard links.
    const before = lastWrites(file);
    fs.copyFileSync(file, unfinished);
    if (lastWrites(file) !== before) throw new UsageError(`${quoted(file)} ${IN_USE}`);
    giveOwnerOf(file, unfinished);
    flush(unfinished);
    fs.renameSync(unfinished, name);
  }
}

/**
 * Writes all of a database's log into it. Rejects unless no other connection has it open: only then can one leave WAL
 * mode. Nobody can have a file open that is so damaged that it cannot be locked.
 */
function emptyLog(file: string): void {
  let connection: Libsql.Database | undefined;
  try {
    // In milliseconds: another command may be about to end.
    connection = new Libsql(file, { timeout: 2_000 });
    connection.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    const { code = '' } = error as { code?: string };
    if (connection && /^SQLITE_(NOTADB|CORRUPT)/.test(code)) return;
    const problem = code.startsWith('SQLITE_BUSY') ? IN_USE : `cannot be locked. ${driverMessage(error)}`;
    throw new UsageError(`${quoted(file)} ${problem}`, { cause: error });
  } finally {
    // Windows renames no file that is open.
    connection?.close();
  }
}

/** Flushes a file, or the names in a folder, to disk. Windows opens no folder, and flushes only what may be written. */
function flush(path: string): void {
  const isFolder = fs.statSync(path).isDirectory();
  if (isFolder && process.platform === 'win32') return;
  const opened = fs.openSync(path, isFolder ? 'r' : 'r+');
  fs.fsyncSync(opened);
  fs.closeSync(opened);
}
