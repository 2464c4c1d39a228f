import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Libsql from 'libsql';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { databaseUrl, type PersistentUrl } from '../../src/settings/database-url.js';
import { dataSourceOptions, withDataSource } from '../../src/adapters/persistence/typeorm/data-source.js';
import { CreateTables1795132800000 } from '../../src/adapters/persistence/typeorm/migrations/1795132800000-create-tables.js';
import { UniqueKeyNames1795651200000 } from '../../src/adapters/persistence/typeorm/migrations/1795651200000-unique-key-names.js';
import { migrate } from '../../src/adapters/persistence/typeorm/migrate.js';
import { UsageError } from '../../src/messages/usage-error.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { fingerprint } from '../../src/application/pets/pet.service.js';
import type { Finding } from '../../src/messages/finding.js';
import { freshStore } from '../support/fresh-store.js';
import { Answer, Service } from '../support/service.js';
import { query } from '../support/sql.js';
import { openStoreAt, StoreKind, TestStore } from '../support/stores.js';
import { newPet } from '../support/pets.js';
import { checkStore } from './maintenance.js';
import { columnsOf, fileOf, rawQuery } from './raw-query.js';

const DATA = 'test/data/first-release';
const FILES: Readonly<Record<string, string>> = {
  SQLite: 'sqlite.sql',
  PostgreSQL: 'postgres.sql',
  MariaDB: 'mariadb.sql',
};

/** The texts of the API keys that it created. */
const KEYS = JSON.parse(readFileSync(join(DATA, 'keys.json'), 'utf8')) as Readonly<
  Record<string, Readonly<Record<'valid' | 'expired' | 'revoked', string>>>
>;

/** The pets that release 1.0.0 was given and that were not deleted by hand, oldest first. */
const PETS: readonly (readonly [id: number, name: string, categoryId: string, status: string])[] = [
  [1, 'Bella', '42', 'available'],
  [2, 'bella', '42', 'pending'],
  [3, ' Bella ', '42', 'sold'],
  [4, 'Zo\u00eb', '1', 'available'],
  [5, 'Zoe\u0308', '1', 'pending'],
  [6, '\u{1f436}'.repeat(255), '9223372036854775807', 'sold'],
  [7, '👩‍👩‍👧‍👦 🐶', '-9223372036854775808', 'available'],
  [8, `'"\\%_?:$1\`--;/*`, '9007199254740993', 'pending'],
  [9, 'x'.repeat(255), '-9007199254740993', 'sold'],
  [11, 'null', '0', 'pending'],
  [12, '\u202egnipeels\u202c', '-1', 'sold'],
  [13, 'ÄÖÜ ß', '2', 'available'],
  [14, "O'Hara", '3', 'pending'],
  [15, '{"a":[1]}', '4', 'sold'],
  [16, 'NULL', '5', 'available'],
  [17, '\u{10ffff}\ufffd\ue000', '6', 'pending'],
  [18, 'a ', '8', 'sold'],
  [19, 'a', '8', 'available'],
  [20, 'Newest but one', '9', 'pending'],
  [21, 'Newest', '10', 'sold'],
  [22, 'Old', '11', 'available'],
];

/** The highest id that was assigned; its pet was deleted. */
const LAST_ID = 23;

const newPetText = ([, name, categoryId, status]: (typeof PETS)[number]) =>
  `{"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
const petText = (pet: (typeof PETS)[number]) => newPetText(pet).replace('{', `{"id":${pet[0]},`);
const petWithId = (id: number) => PETS.find((pet) => pet[0] === id)!;

/** Runs the statements of a dump. */
async function load(url: string, sql: string): Promise<void> {
  if (!url.startsWith('sqlite:')) return void (await query(url, sql));
  const connection = new Libsql(fileOf(url));
  connection.exec(sql);
  connection.close();
}

/** A database as a release left it an hour ago; its idempotency key "old" is a day older. */
async function databaseOf(release: '1.0.0' | '1.1.0', kind: StoreKind): Promise<TestStore> {
  const store = await kind.create('empty');
  await load(store.url, readFileSync(join(DATA, FILES[kind.name]!), 'utf8'));
  // What the start of 1.1.0 does to it.
  const migrations = [CreateTables1795132800000, UniqueKeyNames1795651200000];
  if (release === '1.1.0')
    await withDataSource([{ ...dataSourceOptions(persistentUrl(store.url))[0], migrations }], (source) =>
      migrate(source),
    );
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
  await rawQuery(store.url, `UPDATE idempotency_key SET created_at = '${hoursAgo(1)}'`);
  await rawQuery(store.url, `UPDATE idempotency_key SET created_at = '${hoursAgo(25)}' WHERE token = 'old'`);
  return store;
}

const persistentUrl = (url: string) => databaseUrl('DATABASE_URL', url) as PersistentUrl;

/** What the migrations promise on a kind of database. */
export function describeMigrations(kind: StoreKind): void {
  describe.each(['1.0.0', '1.1.0'] as const)(`a ${kind.name} database of release %s`, (release) => {
    let store: TestStore;
    let service: Service;
    let checked: readonly Finding[];
    const keys = KEYS[kind.name]!;

    beforeAll(async () => {
      store = await databaseOf(release, kind);
      checked = await checkStore(store.url);
      service = await Service.start({ DATABASE_URL: store.url, API_KEYS: 'key-of-the-migrations-test' });
    });

    afterAll(async () => {
      await service.stop();
      await store.remove();
    });

    const as = (key: string) => ({ Authorization: `Bearer ${key}` });
    const get = (path: string) => service.send(path, { headers: as(keys.valid) });
    const add = (idempotencyKey: string, body: string) =>
      service.add(body, { ...as(keys.valid), 'Idempotency-Key': idempotencyKey });

    it('has every pet, byte for byte', async () => {
      expect((await get('/v1/pets?limit=100')).body).toBe(`[${PETS.toReversed().map(petText).join()}]`);
      expect((await get('/v1/pets/6')).body).toBe(petText(petWithId(6)));
      for (const id of [10, LAST_ID]) expect((await get(`/v1/pets/${id}`)).status).toBe(404);
    });

    it('is checked before it is migrated, with its valid keys', () => {
      expect(checked).toContainEqual({ name: 'API keys', state: 'ok', found: '1 stored, 0 configured' });
    });

    it('has the API keys, in their states, and their uses', async () => {
      expect((await get('/v1/pets')).status).toBe(200);
      for (const state of ['expired', 'revoked'] as const) {
        const { status, body } = await service.send('/v1/pets', { headers: as(keys[state]) });
        expect([status, body]).toEqual([401, expect.stringContaining(`"api_key_${state}"`)]);
      }
      const uses = (await service.app.get(ApiKeyService).callers()).sort((a, b) => (a.name < b.name ? -1 : 1));
      const shown = uses.map(({ name, deprecatedCalls, lastDeprecatedCallAt }) => [
        name,
        deprecatedCalls,
        lastDeprecatedCallAt?.getFullYear(),
      ]);
      expect(shown).toEqual(['old shop', 'shop', 'till'].map((name) => [name, 1, 2026]));
    });

    it.each([
      ['first-fresh', 2],
      [`quoted-'"%_`, 7],
      ['late-fresh', 20],
    ])('has the idempotency key %s and the fingerprint of its payload', async (token, id) => {
      const again = await add(token, newPetText(petWithId(id)));
      expect([again.status, again.headers['idempotent-replayed']]).toEqual([201, 'true']);
      expect(again.body).toBe(petText(petWithId(id)));
      expect((await add(token, newPetText(petWithId(1)))).status).toBe(422);
    });

    it('continues its ids, for idempotency keys too that have expired or whose pet was deleted', async () => {
      let last = LAST_ID;
      const expectNew = ({ status, headers, body }: Answer) => {
        expect([status, headers['idempotent-replayed']]).toEqual([201, undefined]);
        const { id } = JSON.parse(body) as { id: number };
        expect(id).toBeGreaterThan(last);
        last = id;
      };
      expectNew(await service.add(newPetText(petWithId(1)), as(keys.valid)));
      expectNew(await add('gone', '{"name":"Gone","categoryId":7}'));
      expectNew(await add('deleted', '{"name":"Deleted","categoryId":12}'));
      expectNew(await add('old', newPetText(petWithId(22))));
      expectNew(await add('of-another-key', newPetText(petWithId(13))));
    });
  });

  describe(`the migrations on ${kind.name}`, () => {
    const store = freshStore(kind, 'empty');

    const migrations = () => rawQuery(store.url, 'SELECT name FROM migrations ORDER BY timestamp');

    it('run once when several instances start on an empty database at once', async () => {
      const stores = await Promise.all([1, 2, 3].map(() => store.open()));
      const names = (await migrations()).map(([name]) => name);
      expect(names.length).toBeGreaterThan(0);
      expect(new Set(names).size).toBe(names.length);
      for (const [i, { pets }] of stores.entries()) expect((await pets.add(newPet())).pet.id).toBe(BigInt(i + 1));
    });

    it('continue wherever they were interrupted, and move every idempotency key to its pet', async () => {
      const old = await databaseOf('1.0.0', kind);
      const url = persistentUrl(old.url);
      // More than are moved at a time.
      const tokens = Array.from({ length: 600 }, (_, i) => `many '" ${i}`);
      const pets = tokens.map((_, i) => `(${i + 100}, 'Many', 1, 'sold')`);
      const hash = fingerprint({ name: 'Many', categoryId: 1n, status: 'sold' });
      const keys = tokens.map((token, i) => {
        const text = `'scope ${i % 2}', '${token.replace("'", "''")}', '${Buffer.from(hash, 'base64url').toString('hex')}'`;
        return `(${text}, ${i + 100}, '${new Date().toISOString()}')`;
      });
      await rawQuery(old.url, `INSERT INTO pet (id, name, category_id, status) VALUES ${pets.join()}`);
      const columns = 'scope, token, fingerprint, pet_id, created_at';
      await rawQuery(old.url, `INSERT INTO idempotency_key (${columns}) VALUES ${keys.join()}`);
      // Interrupted before its first statement, then before its second one, until nothing is left to interrupt.
      const quiet = () => undefined;
      const others = {
        logQueryError: quiet,
        logQuerySlow: quiet,
        logSchemaBuild: quiet,
        logMigration: quiet,
        log: quiet,
      };
      let statements: number;
      let allowed = 0;
      const logQuery = () => {
        if (statements++ === allowed) throw new Error('interrupted');
      };
      do {
        statements = 0;
        const options = { ...dataSourceOptions(url)[0], logger: { ...others, logQuery } };
        const migrating = withDataSource([options], (source) => migrate(source));
        await migrating.catch((error: Error) => expect(error.message).toContain('interrupted'));
      } while (statements > allowed++);
      const tables = await columnsOf(old.url);
      expect([...tables.keys()].filter((table) => table.includes('idempotency'))).toEqual([]);
      const { pets: repository, close } = await openStoreAt(old.url);
      const replays = tokens.map((key, i) =>
        repository.add(
          { name: 'Many', categoryId: 1n, status: 'sold' },
          { scope: `scope ${i % 2}`, key, fingerprint: hash },
        ),
      );
      for (const [i, { pet, replayed }] of (await Promise.all(replays)).entries())
        expect([pet.id, replayed]).toEqual([BigInt(i + 100), true]);
      await close();
      await old.remove();
    });

    it('leave valid keys of release 1.0.0 that share a name valid, and let no other key have it', async () => {
      await load(store.url, readFileSync(join(DATA, FILES[kind.name]!), 'utf8'));
      const twin = 'a'.repeat(64);
      await rawQuery(
        store.url,
        `INSERT INTO api_key (digest, name, prefix, created_at) VALUES ('${twin}', 'shop', 'x', '2026-11-21T00:00:00.000Z')`,
      );
      const { keys } = await store.open();
      expect((await keys.list()).filter(({ name, revokedAt }) => name === 'shop' && !revokedAt)).toHaveLength(2);
      const createdAt = new Date();
      const another = { owner: 'shop', name: 'shop', prefix: 'y', createdAt, expiresAt: null, revokedAt: null };
      await expect(keys.add({ ...another, digest: 'b'.repeat(64) })).rejects.toThrow(UsageError);
      // The key "till" has expired, and releases its name.
      await keys.add({ ...another, digest: 'c'.repeat(64), name: 'till' });
    });

    it('accept a schema to which a newer release has added something', async () => {
      await (await store.open()).close();
      await rawQuery(store.url, 'ALTER TABLE pet ADD COLUMN keeper varchar(9)');
      await rawQuery(
        store.url,
        `INSERT INTO migrations (timestamp, name) VALUES (1900000000000, 'AddKeeper1900000000000')`,
      );
      const { pets } = await store.open();
      const { pet } = await pets.add(newPet());
      expect(await pets.list({ limit: 1 })).toEqual([pet]);
      expect((await migrations()).at(-1)).toEqual(['AddKeeper1900000000000']);
    });

    it('create the schema that the entities describe', async () => {
      await (await store.open()).close();
      process.env.DATABASE_URL = store.url;
      // A query makes another module of it, which reads the environment anew.
      const module = (await import(`../../ormconfig.js?${kind.name}`)) as typeof import('../../ormconfig.js');
      const dataSource = await module.default.initialize();
      const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
      await dataSource.destroy();
      expect(upQueries.map(({ query }) => query)).toEqual([]);
    });
  });
}
