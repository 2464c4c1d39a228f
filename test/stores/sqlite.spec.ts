import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import Libsql from 'libsql';
import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseUnavailable } from '../../src/application/errors.js';
import { readSettings } from '../../src/settings/settings.js';
import { openRepositories } from '../../src/adapters/persistence/persistence.module.js';
import { PersistentUrl } from '../../src/settings/database-url.js';
import { Database } from '../../src/adapters/persistence/typeorm/database.js';
import { Executor } from '../../src/adapters/persistence/typeorm/executor.js';
import { TypeOrmPetRepository } from '../../src/adapters/persistence/typeorm/pets/typeorm-pet.repository.js';
import { freshStore, laterTurn } from '../support/fresh-store.js';
import { openStoreAt, sqlite } from '../support/stores.js';
import { describeApiKeyRepository, newKey } from './api-key-repository.contract.js';
import { describeInstances } from './instances.contract.js';
import { checkStore } from './maintenance.js';
import { describePetRepository } from './pet-repository.contract.js';
import { idempotencyKey, newPet } from '../support/pets.js';
import { fileOf, rawQuery } from './raw-query.js';

describePetRepository(sqlite);
describeApiKeyRepository(sqlite);
describeInstances(sqlite);

describe('SQLite', () => {
  const store = freshStore(sqlite);
  let another: Libsql.Database;

  beforeEach(() => {
    another = new Libsql(fileOf(store.url));
  });

  afterEach(() => void another.close());

  it('is unavailable, once, if a transaction was left open, and loses nothing afterwards', async () => {
    const settings = readSettings({ DATABASE_URL: store.url });
    const database = new Database(settings.DATABASE_URL as PersistentUrl, settings, () => undefined);
    await database.run('autocommit', (manager) => manager.query('BEGIN'), Infinity);
    const pets = new TypeOrmPetRepository(new Executor(database, settings), () => undefined);
    await expect(pets.add(newPet())).rejects.toThrow(DatabaseUnavailable);
    const { pet } = await pets.add(newPet());
    await database.close();
    expect(await rawQuery(store.url, 'SELECT id FROM pet')).toEqual([[Number(pet.id)]]);
  });

  it('waits for the disk at every commit', async () => {
    await store.open();
    expect(await rawQuery(store.url, 'PRAGMA journal_mode')).toEqual([['wal']]);
    // As the service opens its connections; 2 is FULL.
    const found = (await checkStore(store.url)).find(({ name }) => name === 'database');
    expect(found).toMatchObject({ state: 'ok', found: expect.stringContaining('synchronous=2') });
  });

  it('assigns no id twice and none above an int64, whatever was done to its counter by hand', async () => {
    const { pets } = await store.open();
    await pets.add(newPet());
    another.exec('DELETE FROM sqlite_sequence');
    expect((await pets.add(newPet())).pet.id).toBe(2n);
    another.exec(`UPDATE sqlite_sequence SET seq = 9223372036854775806 WHERE name = 'pet'`);
    expect((await pets.add(newPet())).pet.id).toBe(2n ** 63n - 1n);
    await expect(pets.add(newPet())).rejects.toThrow(DatabaseUnavailable);
    expect((await pets.list({ limit: 10 })).map(({ id }) => id)).toEqual([2n ** 63n - 1n, 2n, 1n]);
  });

  it('rejects a pet if a trigger has discarded it', async () => {
    const { pets } = await store.open();
    another.exec('CREATE TRIGGER discards BEFORE INSERT ON pet BEGIN SELECT RAISE(IGNORE); END');
    await expect(pets.add(newPet())).rejects.toThrow();
    await expect(pets.add(newPet(), idempotencyKey())).rejects.toThrow();
    another.exec(`DROP TRIGGER discards;
      CREATE TRIGGER discards BEFORE INSERT ON pet WHEN NEW.name = 'Rex' BEGIN SELECT RAISE(IGNORE); END`);
    const adding = ['Rex', 'Bella', 'Max'].map((name) => pets.add(newPet({ name })));
    const outcomes = await Promise.allSettled(adding);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    const withKey = ['Rex', 'Tom'].map((name) => pets.add(newPet({ name }), idempotencyKey({ key: name })));
    expect((await Promise.allSettled(withKey)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    // The transaction of all of them was rolled back.
    expect((await pets.list({ limit: 10 })).map(({ name }) => name)).toEqual(['Tom', 'Max', 'Bella']);
  });

  it('adds once the write of another process has ended, and reads meanwhile', async () => {
    const { pets } = await store.open();
    const { pet } = await pets.add(newPet());
    another.exec('BEGIN IMMEDIATE');
    another.exec(`INSERT INTO pet (name, category_id, status) VALUES ('Not yet', 1, 'sold')`);
    const adding = pets.add(newPet({ name: 'Rex' }));
    expect(await pets.list({ limit: 10 })).toEqual([pet]);
    another.exec('COMMIT');
    // The reading connection must not be stuck in an old snapshot, though the write is still being retried.
    await laterTurn();
    expect((await pets.list({ limit: 10 })).map(({ name }) => name)).toContain('Not yet');
    await adding;
    expect((await pets.list({ limit: 10 })).map(({ name }) => name)).toEqual(['Rex', 'Not yet', 'Bella']);
  });

  it('rejects what has waited for a write for too long, and does not store it later', async () => {
    const { DATABASE_URL } = readSettings({ DATABASE_URL: store.url });
    const limits = { STATEMENT_TIMEOUT: 100, MAX_WAITING: 1_000 };
    const opened = await openRepositories(DATABASE_URL, limits, () => undefined);
    const { pets } = opened;
    another.exec('BEGIN IMMEDIATE');
    const adding = [pets.add(newPet()), pets.add(newPet(), idempotencyKey())];
    for (const outcome of await Promise.allSettled(adding))
      expect(outcome).toEqual({ status: 'rejected', reason: expect.any(DatabaseUnavailable) });
    another.exec('COMMIT');
    await opened.close();
    // Another instance, whose own limits a busy machine does not reach.
    const other = await store.open();
    const { pet, replayed } = await other.pets.add(newPet(), idempotencyKey());
    expect([replayed, await other.pets.list({ limit: 10 })]).toEqual([false, [pet]]);
  });

  it('keeps a pet that is added while another transaction is rolled back', async () => {
    const { pets, keys } = await store.open();
    await keys.add(newKey());
    const outcomes = await Promise.allSettled([pets.add(newPet()), keys.add(newKey())]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(await pets.list({ limit: 10 })).toHaveLength(1);
  });

  it('shrinks a log that a long read of another program let grow', async () => {
    const { pets } = await store.open();
    const log = `${fileOf(store.url)}-wal`;
    another.exec(`PRAGMA synchronous = OFF; CREATE TABLE filler AS SELECT zeroblob(${80 * 2 ** 20})`);
    expect(statSync(log).size).toBeGreaterThan(80 * 2 ** 20);
    await pets.add(newPet());
    expect(statSync(log).size).toBe(64 * 2 ** 20);
  });

  it('has the schema and the first key in its file at once, and everything after a minute', async () => {
    another.close();
    const empty = await sqlite.create('empty');
    const opened = await openStoreAt(empty.url);
    const [file, copy] = [fileOf(empty.url), join(dirname(fileOf(empty.url)), 'copy.sqlite')];
    const copied = async (sql: string) => {
      copyFileSync(file, copy);
      return rawQuery(`sqlite:${copy}`, sql);
    };
    expect(await copied('SELECT id FROM pet')).toEqual([]);
    await opened.keys.add(newKey());
    expect(await copied('SELECT name FROM api_key')).toHaveLength(1);
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'performance', 'queueMicrotask', 'Date'] });
    await opened.pets.add(newPet());
    jest.advanceTimersByTime(59_000);
    await opened.pets.add(newPet());
    const reader = new Libsql(file);
    reader.exec('BEGIN; SELECT * FROM pet');
    jest.advanceTimersByTime(1_000);
    await laterTurn();
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    reader.close();
    jest.advanceTimersByTime(60_000);
    await laterTurn();
    jest.useRealTimers();
    expect(statSync(`${file}-wal`).size).toBe(0);
    expect(await copied('SELECT id FROM pet')).toEqual([[1], [2]]);
    await opened.close();
    await empty.remove();
  });

  it('leaves one file behind that has everything', async () => {
    const opened = await store.open();
    const { pets } = opened;
    const { pet } = await pets.add(newPet());
    another.close();
    await opened.close();
    const folder = dirname(fileOf(store.url));
    expect(readdirSync(folder)).toEqual(['test.sqlite']);
    copyFileSync(fileOf(store.url), join(folder, 'copy.sqlite'));
    const copy = await openStoreAt(`sqlite:${join(folder, 'copy.sqlite')}`);
    expect(await copy.pets.list({ limit: 10 })).toEqual([pet]);
    await copy.close();
  });
});

describe('a SQLite file', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-'));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  const at = (name: string) => join(folder, name);

  it('is created with its folder, and everything beside it, for the owner alone', async () => {
    const store = await openStoreAt(`sqlite:${folder}/new/deep/pets.sqlite`);
    await store.pets.add(newPet());
    const modes = (path: string) => (statSync(join(folder, path)).mode & 0o777).toString(8);
    expect([modes('new'), modes('new/deep')]).toEqual(['700', '700']);
    const files = readdirSync(join(folder, 'new/deep'));
    expect(files).toEqual(['pets.sqlite', 'pets.sqlite-shm', 'pets.sqlite-wal']);
    expect(files.map((name) => modes(`new/deep/${name}`))).toEqual(['600', '600', '600']);
    await store.close();
  });

  it('may be given by a symbolic link, which stays one', async () => {
    const [file, link] = [join(folder, 'real/pets.sqlite'), join(folder, 'link.sqlite')];
    mkdirSync(dirname(file));
    const template = await sqlite.create();
    copyFileSync(fileOf(template.url), file);
    await template.remove();
    symlinkSync(file, link);
    const [byLink, byFile] = [await openStoreAt(`sqlite:${link}`), await openStoreAt(`sqlite:${file}`)];
    const { pet } = await byLink.pets.add(newPet());
    expect(await byFile.pets.list({ limit: 10 })).toEqual([pet]);
    // Both must use the same log, or each would overwrite what the other one commits.
    expect(await byLink.pets.add(newPet())).toMatchObject({ pet: { id: pet.id + 1n } });
    await byLink.keys.add(newKey());
    const findings = await checkStore(`sqlite:${link}`);
    expect(findings).toContainEqual({ name: 'API keys', state: 'ok', found: '1 stored, 0 configured' });
    expect(readdirSync(folder)).toEqual(['link.sqlite', 'real']);
    await Promise.all([byLink.close(), byFile.close()]);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(await rawQuery(`sqlite:${file}`, 'SELECT count(*) FROM pet')).toEqual([[2]]);
  });

  it.each<[string, string, () => void, () => void]>([
    ['it is moved', '', () => renameSync(at('a'), at('b')), () => renameSync(at('b'), at('a'))],
    ['its folder is', '', () => renameSync(folder, `${folder}-b`), () => renameSync(`${folder}-b`, folder)],
    [
      'it is replaced',
      '',
      () => {
        renameSync(at('a'), at('b'));
        copyFileSync(at('b'), at('a'));
      },
      () => renameSync(at('b'), at('a')),
    ],
    ['its log is moved', '-wal', () => renameSync(at('a-wal'), at('b')), () => renameSync(at('b'), at('a-wal'))],
    ['the index of its log is', '-shm', () => renameSync(at('a-shm'), at('b')), () => renameSync(at('b'), at('a-shm'))],
    [
      'a link to it is changed',
      '-link',
      () => {
        rmSync(at('a-link'));
        symlinkSync(at('b'), at('a-link'));
      },
      () => {
        rmSync(at('a-link'));
        symlinkSync(at('a'), at('a-link'));
      },
    ],
  ])('acknowledges nothing from the moment on that %s, until it is back', async (_what, end, move, moveBack) => {
    symlinkSync(at('a'), at('a-link'));
    const { pets, close } = await openStoreAt(`sqlite:${end === '-link' ? at('a-link') : at('a')}`);
    const { pet } = await pets.add(newPet());
    move();
    const reason = `DATABASE_URL: "${at(`a${end}`)}" was moved, deleted or replaced`;
    for (const create of [() => pets.add(newPet()), () => pets.add(newPet(), idempotencyKey())])
      await expect(create()).rejects.toThrow(reason);
    await expect(pets.ping()).rejects.toThrow(DatabaseUnavailable);
    expect(await pets.find(pet.id)).toEqual(pet);
    moveBack();
    const after = await pets.add(newPet({ name: 'After' }));
    await expect(pets.ping()).resolves.toBeUndefined();
    // Only the first create after the move may be stored all the same.
    expect(after.pet.id).toBeLessThanOrEqual(pet.id + 2n);
    await close();
  });

  it('that is no database is rejected, and left as it is', async () => {
    const text = join(folder, 'text');
    writeFileSync(text, 'no database');
    await expect(openStoreAt(`sqlite:${text}`)).rejects.toThrow(
      /^DATABASE_URL \(.*\/text\): file is not a database\. It must be an intact SQLite database;/,
    );
    await expect(openStoreAt(`sqlite:${folder}`)).rejects.toThrow('must be a SQLite database; it is no regular file.');
    expect(readFileSync(text, 'utf8')).toBe('no database');
  });
});
