import {
  accessSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { UsageError } from '../../messages/usage-error.js';
import { quoted } from '../../messages/texts.js';
import { PersistentUrl, SqliteUrl } from '../../settings/database-url.js';

/** Throws `UsageError` if the file of a SQLite database does not exist. */
export function requireDatabase(url: PersistentUrl): void {
  if (url.engine !== 'sqlite') return;
  try {
    requireRegularFile(url.file);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    // A relative path alone does not show that the command runs in the wrong folder.
    const folder = isAbsolute(url.file) ? '' : ` in ${process.cwd()}`;
    const problem = code === 'ENOENT' ? 'does not exist' : `cannot be opened (${code})`;
    throw new UsageError(`${quoted(url.file)} must be a SQLite database; it ${problem}${folder}.`);
  }
}

/** Throws `UsageError` if what exists at a path is a folder, a pipe or a device, which SQLite cannot use. */
function requireRegularFile(file: string): void {
  if (!statSync(file).isFile())
    throw new UsageError(`${quoted(file)} must be a SQLite database; it is no regular file.`);
}

/**
 * Throws `UsageError` unless this process may write the file of a SQLite database, or create it, and its log beside it.
 * Returns the folder, or the one in which it would be created.
 */
export function requireWritable({ name, file }: SqliteUrl): string {
  if (existsSync(file)) requireRegularFile(file);
  const path = targetOf(file);
  let folder = dirname(path);
  while (!existsSync(folder)) folder = dirname(folder);
  const { R_OK, W_OK, X_OK } = constants;
  try {
    // With a dot, since it must be a folder.
    accessSync(`${folder}/.`, W_OK | X_OK);
    for (const each of filesOf(path)) accessSync(each, R_OK | W_OK);
    return folder;
  } catch (error) {
    const { code, path: failed } = error as NodeJS.ErrnoException;
    const [what, which] = failed === `${folder}/.` ? ['folder', folder] : ['file', failed!];
    const { uid, mode } = statSync(which);
    const user = process.getuid ? `uid ${process.getuid()}, as which this process runs` : 'this user';
    const owner = `It belongs to uid ${uid} and has mode ${(mode & 0o777).toString(8)} (${code}).`;
    throw new UsageError(`${name}: the ${what} ${quoted(which)} must be writable for ${user}. ${owner}`);
  }
}

/** Those of a database, its log and the index of that which exist. */
const filesOf = (path: string) => ['', '-wal', '-shm'].map((end) => path + end).filter((each) => existsSync(each));

/** Where a path leads through symbolic links, even if no file exists there. */
export function targetOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const folder = targetOf(dirname(resolve(path)));
  try {
    return targetOf(resolve(folder, readlinkSync(path)));
  } catch {
    // It is no link.
    return join(folder, basename(path));
  }
}

/**
 * Creates the file of a SQLite database and its folder, for the owner alone, unless it exists, and resolves its
 * symbolic links; any other URL stays as it is. Throws `UsageError` if it cannot. Only before the first connection:
 * closing the file again would release the locks of all connections of this process
 * (https://www.sqlite.org/howtocorrupt.html, section 2.2).
 */
export function createDatabaseFile(url: PersistentUrl): PersistentUrl {
  if (url.engine !== 'sqlite') return url;
  const { file } = url;
  requireWritable(url);
  try {
    createFolder(dirname(resolve(file)));
    const isNew = !existsSync(file);
    closeSync(openSync(file, 'a+', 0o600));
    const path = realpathSync(file);
    if (isNew) giveOwnerOf(dirname(path), path);
    return { ...url, file: path };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem = `cannot be opened or created (${code})`;
    throw new UsageError(`${quoted(file)} must be a SQLite database or a new file; it ${problem}.`);
  }
}

/** The files of an open SQLite database, and the paths that must lead to them: else what is written is lost. */
export class OpenFiles {
  private readonly identities = new Map<string, string>();

  /** Before the first connection, so that nothing changes unnoticed. */
  constructor(...paths: string[]) {
    this.add(...paths);
  }

  add(...paths: string[]): void {
    for (const path of paths) this.identities.set(path, identityOf(path));
  }

  /** The first path that has been moved, deleted or replaced. Takes 4 µs for each. */
  moved(): string | undefined {
    return [...this.identities.keys()].find((path) => this.identities.get(path) !== identityOf(path));
  }
}

/** Identifies a file that is open; the code of the error if the path leads to none. */
function identityOf(path: string): string {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}

/** Creates a folder and its missing parents with mode 0700; as root, for the owner of the folder around each. */
export function createFolder(folder: string): void {
  if (existsSync(folder)) return;
  createFolder(dirname(folder));
  // Another process may create it at the same time.
  if (mkdirSync(folder, { recursive: true, mode: 0o700 })) giveOwnerOf(dirname(folder), folder);
}

/** As root, gives what was created the owner of another file or folder, so that the service can open it. */
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
