import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fs, {
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { DataSource, QueryFailedError } from 'typeorm';
import { UsageError } from '../../src/messages/usage-error.js';
import { freshStore } from '../support/fresh-store.js';
import { openStoreAt, sqlite } from '../support/stores.js';
import { backup, checkStore, copy, restore } from './maintenance.js';
import { describeCheck, describeCopy } from './maintenance.contract.js';
import { newPet } from '../support/pets.js';
import { petstore } from '../cli/command.js';
import { fileOf, rawQuery } from './raw-query.js';

describeCopy(sqlite, sqlite);
describeCheck(sqlite);

it('a copy of which the target discards rows is rejected, and leaves none', async () => {
  const [source, target] = [await sqlite.create(), await sqlite.create()];
  const opened = await openStoreAt(source.url);
  await opened.pets.add(newPet());
  await opened.close();
  await rawQuery(target.url, `CREATE TRIGGER discard BEFORE INSERT ON pet BEGIN SELECT RAISE(IGNORE); END`);
  await expect(copy(source.url, target.url)).rejects.toThrow('pet has 1 rows in the source, 0 in the target');
  await source.remove();
  await target.remove();
});

it('a copy of a database into itself is rejected', async () => {
  const { url, remove } = await sqlite.create();
  const path = fileOf(url);
  await expect(copy(url, `sqlite:${dirname(path)}/./${basename(path)}`)).rejects.toThrow('must be two databases');
  await remove();
});

it('a fault of the program ends check, which shows its stack, and is no finding', async () => {
  const { url, remove } = await sqlite.create();
  jest.spyOn(fs, 'statfsSync').mockImplementationOnce(() => {
    throw new TypeError('A fault.');
  });
  await expect(checkStore(url)).rejects.toThrow(TypeError);
  await remove();
});

it('migrate lists what it has applied before a migration that fails', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'petstore-')), 'pets.sqlite');
  await rawQuery(`sqlite:${file}`, 'CREATE TABLE other (id integer)');
  await rawQuery(`sqlite:${file}`, 'CREATE INDEX api_key_active_name ON other (id)');
  const { code, out, err } = await petstore('migrate', `sqlite:${file}`);
  expect([code, out]).toEqual([1, 'Applied CreateTables1795132800000.\n']);
  expect(err).toContain('api_key_active_name');
  rmSync(dirname(file), { recursive: true });
});

it('check does not change the journal mode of a file', async () => {
  const { url, remove } = await sqlite.create();
  await rawQuery(url, 'PRAGMA journal_mode = DELETE');
  const before = readFileSync(fileOf(url));
  expect((await checkStore(url))[0]?.state).toBe('ok');
  expect(readFileSync(fileOf(url))).toEqual(before);
  await remove();
});

it.each([
  ['a full disk fails the check', { bavail: 9 }, 'fail', 'full: 0 MiB free.'],
  ['of an almost full disk it warns', { bavail: 9_999 }, 'warn', 'almost full: 39 MiB free.'],
  ['of NFS it warns', { type: 0x6969 }, 'warn', 'is on NFS.'],
  ['of SMB it warns', { type: 0xfe534d42 }, 'warn', 'is on SMB.'],
  ['of 9p it warns', { type: 0x01021997 }, 'warn', 'is on 9p.'],
  ['of virtiofs it warns', { type: 0x65735546 }, 'warn', 'is on FUSE, such as virtiofs.'],
])('%s, before the first start and after', async (_what, changed, state, found) => {
  const { url, remove } = await sqlite.create();
  const disk = { ...statfsSync(dirname(fileOf(url))), bsize: 4_096, bavail: 1e6, type: 0xef53, ...changed };
  jest.spyOn(fs, 'statfsSync').mockReturnValue(disk);
  for (const each of [url, `${url}-new/pets.sqlite`])
    expect((await checkStore(each, 1)).filter((finding) => finding.state !== 'ok')).toEqual([
      expect.objectContaining({ state, found: expect.stringContaining(found) as unknown }),
    ]);
  jest.restoreAllMocks();
  await remove();
});

it('copy says which of the databases cannot be used', async () => {
  const { url, remove } = await sqlite.create();
  const server = 'postgres://shop@127.0.0.1:1/pets';
  await expect(copy(server, url)).rejects.toThrow(/^--from .* connect ECONNREFUSED/);
  await expect(copy(url, server)).rejects.toThrow(/^--to .* connect ECONNREFUSED/);
  await remove();
});

describe('backup and restore', () => {
  const store = freshStore(sqlite);
  let folder: string;
  let target: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    target = join(folder, 'backups/a.sqlite');
    mkdirSync(dirname(target));
  });

  afterEach(() => {
    jest.restoreAllMocks();
    rmSync(folder, { recursive: true });
  });

  /** What is in the database, by the names of its pets. */
  async function names(url = store.url): Promise<string[]> {
    const opened = await openStoreAt(url);
    const { pets } = opened;
    const list = await pets.list({ limit: 100 });
    await opened.close();
    return list.map(({ name }) => name);
  }

  const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

  it('bring everything back, the counter of the ids too, and keep what was there before', async () => {
    const opened = await store.open();
    const { pets } = opened;
    // An operator's own trigger is no fault.
    await rawQuery(store.url, 'CREATE TRIGGER audit AFTER INSERT ON pet BEGIN SELECT 1; END');
    await pets.add(newPet());
    const { pet: deleted } = await pets.add(newPet({ name: 'Rex' }));
    await rawQuery(store.url, `DELETE FROM pet WHERE name = 'Rex'`);
    const made = await backup(store.url, target);
    expect(made).toMatchObject({ pets: 1, keys: 0 });
    expect(mode(target)).toBe('600');
    expect(readdirSync(dirname(target))).toEqual(['a.sqlite']);
    await pets.add(newPet({ name: 'Lost' }));
    await opened.close();

    const { kept, ...restored } = await restore(store.url, target);
    expect(restored).toEqual(made);
    expect(readdirSync(dirname(fileOf(store.url)))).toEqual(['test.sqlite', basename(kept!)]);
    expect(mode(fileOf(store.url))).toBe('600');
    expect(await names()).toEqual(['Bella']);
    expect(await names(`sqlite:${kept}`)).toEqual(['Lost', 'Bella']);
    const again = await store.open();
    expect((await again.pets.add(newPet())).pet.id).toBeGreaterThan(deleted.id);
  });

  it('backup never overwrites a file, and leaves nothing of an attempt', async () => {
    await backup(store.url, target);
    const before = readFileSync(target);
    await expect(backup(store.url, target)).rejects.toThrow(UsageError);
    expect(readFileSync(target)).toEqual(before);
    expect(readdirSync(dirname(target))).toEqual(['a.sqlite']);
  });

  it('restore is rejected while another connection has the database open', async () => {
    await backup(store.url, target);
    const { pets } = await store.open();
    const { pet } = await pets.add(newPet());
    await expect(restore(store.url, target)).rejects.toThrow(/open in another process/);
    expect(await pets.list({ limit: 10 })).toEqual([pet]);
    expect((await pets.add(newPet())).pet.id).toBe(pet.id + 1n);
  });

  it('restore rejects databases that are written to while they are copied', async () => {
    await backup(store.url, target);
    // As a checkpoint does.
    const touch = (file: fs.PathLike) => utimesSync(file, new Date(), new Date());
    const { copyFileSync: copyFile, createReadStream } = fs;
    const reading = jest.spyOn(fs, 'createReadStream').mockImplementation((from, options) => {
      touch(from);
      return createReadStream(from, options);
    });
    await expect(restore(store.url, target)).rejects.toThrow('is in use');
    reading.mockRestore();
    jest.spyOn(fs, 'copyFileSync').mockImplementation((from, to) => {
      copyFile(from, to);
      touch(from);
    });
    jest.spyOn(fs, 'linkSync').mockImplementation(() => {
      throw new Error('EPERM');
    });
    await expect(restore(store.url, target)).rejects.toThrow('is open in another process');
    expect(readdirSync(dirname(fileOf(store.url)))).toEqual(['test.sqlite']);
  });

  it('reject a backup that is damaged, empty or no database, and change nothing', async () => {
    const opened = await store.open();
    const { pets } = opened;
    for (let i = 0; i < 2; i++)
      await Promise.all(Array.from({ length: 1_000 }, () => pets.add(newPet({ name: 'x'.repeat(99) }))));
    await opened.close();
    await backup(store.url, target);
    const bytes = readFileSync(target);
    bytes.fill(7, bytes.length / 2, bytes.length / 2 + 8_192);
    writeFileSync(join(folder, 'damaged'), bytes);
    writeFileSync(join(folder, 'empty'), '');
    writeFileSync(join(folder, 'text'), 'no database at all');
    const before = readFileSync(fileOf(store.url));
    for (const name of ['damaged', 'empty', 'text', 'absent'])
      await expect(restore(store.url, join(folder, name))).rejects.toThrow(name);
    const other = `sqlite:${join(folder, 'other')}`;
    await expect(copy(`sqlite:${join(folder, 'damaged')}`, other)).rejects.toThrow(/^--from .* malformed/);
    expect(readFileSync(fileOf(store.url))).toEqual(before);
    expect(readdirSync(dirname(fileOf(store.url)))).toEqual(['test.sqlite']);
    expect(existsSync(join(folder, 'absent'))).toBe(false);
    await expect(restore(`sqlite:${join(folder, 'new')}`, join(folder, 'damaged'))).rejects.toThrow();
    expect(existsSync(join(folder, 'new'))).toBe(false);
  });

  it.each<[string, (file: string) => void]>([
    ['replaced by hand beside its log', (file) => copyFileSync(target, file)],
    ['damaged', (file) => writeFileSync(file, 'what is this')],
    ['deleted', (file) => rmSync(file)],
  ])('recover a database whose file was %s', async (_what, damage) => {
    const file = fileOf(store.url);
    await backup(store.url, target);
    const opened = await store.open();
    const { pets } = opened;
    await pets.add(newPet());
    // A log without a process that uses it, as after a crash.
    copyFileSync(`${file}-wal`, join(folder, 'wal'));
    await opened.close();
    copyFileSync(join(folder, 'wal'), `${file}-wal`);
    damage(file);
    await restore(store.url, target);
    expect(readdirSync(dirname(file)).filter((name) => !name.includes('.before-'))).toEqual(['test.sqlite']);
    expect(await names()).toEqual([]);
  });

  /** On Windows a file that is open, or in which one is, is neither renamed nor removed. Looks where the system can. */
  function expectClosed(path: string): void {
    const fds = '/proc/self/fd';
    if (!existsSync(path) || !existsSync(fds)) return;
    const identity = (file: string) => `${statSync(file).dev} ${statSync(file).ino}`;
    const inside = statSync(path).isDirectory() ? readdirSync(path).map((name) => join(path, name)) : [];
    // The first filter omits the descriptor of the listing itself.
    const opened = readdirSync(fds)
      .map((fd) => join(fds, fd))
      .filter(existsSync)
      .map(identity);
    expect([path, ...inside].filter((file) => opened.includes(identity(file)))).toEqual([]);
  }

  /**
   * Copies a folder before each call that changes the names of files or flushes them, as a kill would leave it there, and
   * at the end; returns how many copies there are so far.
   */
  function copyAtEachStep(of: string, hasLinks = true): () => number {
    let copies = 0;
    const copyNow = () => cpSync(of, join(folder, `killed-${copies++}`), { recursive: true });
    for (const name of ['linkSync', 'rmSync', 'renameSync', 'fsyncSync'] as const) {
      const original = fs[name] as (...args: unknown[]) => unknown;
      jest.spyOn(fs, name).mockImplementation((...args: unknown[]) => {
        copyNow();
        if (name === 'renameSync' || name === 'rmSync') args.map(String).forEach(expectClosed);
        if (name === 'linkSync' && !hasLinks) throw new Error('EPERM');
        return original(...args);
      });
    }
    return () => {
      jest.restoreAllMocks();
      copyNow();
      return copies;
    };
  }

  const countIn = async (file: string) =>
    Number((await rawQuery(`sqlite:${file}`, 'SELECT count(*) FROM pet'))[0]?.[0]);

  it.each([
    ['with', true],
    ['without', false],
  ])(
    'restore, on a disk %s hard links, leaves the old database with its log or the complete new one, wherever it is killed',
    async (_with, hasLinks) => {
      const addPets = async (count: number) => {
        const opened = await openStoreAt(store.url);
        for (let i = 0; i < count; i++) await opened.pets.add(newPet());
        return opened;
      };
      await (await addPets(2)).close();
      await backup(store.url, target);
      await (await addPets(1)).close();
      const opened = await addPets(1);
      // As after a crash: the fourth pet is in the log alone.
      const crashed = join(folder, 'crashed');
      cpSync(dirname(fileOf(store.url)), crashed, { recursive: true });
      await opened.close();
      expect(readdirSync(crashed)).toContain('test.sqlite-wal');
      const copies = copyAtEachStep(crashed, hasLinks);
      const { kept } = await restore(`sqlite:${join(crashed, 'test.sqlite')}`, target);
      const counts = [];
      // From the last copy to the first: the new database, then the old one.
      for (let n = copies(); n-- > 0;) counts.push(await countIn(join(folder, `killed-${n}/test.sqlite`)));
      expect(counts.toSorted((a, b) => a - b)).toEqual(counts);
      // Without its log the old one would have 3.
      expect(new Set(counts)).toEqual(new Set([2, 4]));
      expect(await countIn(kept!)).toBe(4);
    },
  );

  it.each([
    ['with', true],
    ['without', false],
  ])('backup, on a disk %s hard links, has its name only once it is complete', async (_with, hasLinks) => {
    const { pets } = await store.open();
    await pets.add(newPet());
    const copies = copyAtEachStep(dirname(target), hasLinks);
    await backup(store.url, target);
    const found = [];
    for (let n = copies(); n-- > 0;) {
      const file = join(folder, `killed-${n}/a.sqlite`);
      found.push(existsSync(file) ? await countIn(file) : 'none');
    }
    expect(new Set(found)).toEqual(new Set([1, 'none']));
  });

  it('follow a symbolic link to the database', async () => {
    const link = join(folder, 'link.sqlite');
    symlinkSync(fileOf(store.url), link);
    await backup(`sqlite:${link}`, target);
    await rawQuery(store.url, `INSERT INTO pet (name, category_id, status) VALUES ('Rex', 1, 'sold')`);
    await restore(`sqlite:${link}`, target);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(await names()).toEqual([]);
    rmSync(fileOf(store.url));
    await restore(`sqlite:${link}`, target);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(await names()).toEqual([]);
  });

  it('follow links in folders, to links, and to files that do not exist', async () => {
    await rawQuery(store.url, `INSERT INTO pet (name, category_id, status) VALUES ('Rex', 1, 'sold')`);
    await backup(store.url, target);
    mkdirSync(join(folder, 'a/b'), { recursive: true });
    symlinkSync('a/b', join(folder, 'live'));
    symlinkSync('../link', join(folder, 'a/b/db'));
    symlinkSync('real.sqlite', join(folder, 'a/link'));
    await restore(`sqlite:${join(folder, 'live/db')}`, target);
    expect(await names(`sqlite:${join(folder, 'a/real.sqlite')}`)).toEqual(['Rex']);
    const latest = join(folder, 'latest');
    symlinkSync('a/b/latest.sqlite', latest);
    await backup(store.url, latest);
    expect(lstatSync(latest).isSymbolicLink()).toBe(true);
    await expect(backup(store.url, latest)).rejects.toThrow('exists');
  });

  it('reject a folder in the place of the database, as check does', async () => {
    await backup(store.url, target);
    await expect(restore(`sqlite:${folder}`, target)).rejects.toThrow(/cannot be locked\. [A-Z]/);
    expect(await checkStore(`sqlite:${folder}`)).toMatchObject([{ name: 'database', state: 'fail' }]);
    const inFile = `sqlite:${target}/a`;
    await expect(openStoreAt(inFile)).rejects.toThrow(`folder "${target}" must be writable`);
    expect(await checkStore(inFile)).toMatchObject([{ name: 'database', state: 'fail' }]);
    // As a folder that may not be opened.
    await expect(backup(`sqlite:${target}/a`, join(folder, 'x'))).rejects.toThrow('it cannot be opened (ENOTDIR)');
  });

  it('backup says which disk is full', async () => {
    const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
    jest.spyOn(DataSource.prototype, 'query').mockRejectedValueOnce(new QueryFailedError('VACUUM', [], full));
    await expect(backup(store.url, target)).rejects.toThrow(`"${target}" cannot be used. database or disk is full.`);
  });

  it('say that the folder must be writable, too', async () => {
    const code = 'UNKNOWN_SQLITE_ERROR_1544';
    const readOnly = Object.assign(new Error('attempt to write a readonly database'), { code });
    jest.spyOn(DataSource.prototype, 'query').mockRejectedValueOnce(new QueryFailedError('PRAGMA', [], readOnly));
    await expect(openStoreAt(store.url)).rejects.toThrow(/^DATABASE_URL .* Its folder must be writable, too\.$/);
  });

  it('create no folder for a backup', async () => {
    await expect(backup(store.url, join(folder, 'typo/x'))).rejects.toThrow(/folder of the backup must exist/);
    expect(readdirSync(folder)).toEqual(['backups']);
  });

  it.each([
    ['an older', `DELETE FROM migrations WHERE name LIKE 'Unique%'`, 'DROP INDEX api_key_active_name'],
    ['a newer', `INSERT INTO migrations VALUES (9, 9, 'Later9')`, 'ALTER TABLE pet ADD COLUMN breed text'],
  ])('bring back a database of %s release, which copy rejects', async (_what, ...changes) => {
    const { pets, close } = await openStoreAt(store.url);
    await pets.add(newPet());
    await close();
    for (const sql of changes) await rawQuery(store.url, sql);
    const content = () => rawQuery(store.url, 'SELECT * FROM migrations, pet');
    const before = await content();
    expect(await backup(store.url, target)).toMatchObject({ pets: 1 });
    await rawQuery(store.url, 'DELETE FROM pet');
    expect(await restore(store.url, target)).toMatchObject({ pets: 1 });
    expect(await content()).toEqual(before);
    await expect(copy(store.url, `sqlite:${join(folder, 'copy')}`)).rejects.toThrow(
      'must have the schema of this release',
    );
  });

  it.each([
    ['its migrations', `UPDATE migrations SET name = 'Other' || id`],
    ['its table of migrations', 'DROP TABLE migrations'],
    ['its index', 'DROP INDEX pet_status_id'],
    ['its primary key', 'CREATE TABLE other AS SELECT * FROM pet; DROP TABLE pet; ALTER TABLE other RENAME TO pet'],
    ['a column of it', 'ALTER TABLE pet DROP COLUMN fingerprint'],
  ])('reject a backup without %s', async (_what, sql) => {
    await backup(store.url, target);
    for (const each of sql.split('; ')) await rawQuery(`sqlite:${target}`, each);
    await expect(restore(store.url, target)).rejects.toThrow(
      /must (be a database of the pet store|have the schema of its release)\. [^"]+\.$/,
    );
    expect(readdirSync(dirname(fileOf(store.url)))).toEqual(['test.sqlite']);
  });
});
