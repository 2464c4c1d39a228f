import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { UsageError } from '../../src/messages/usage-error.js';
import { Finding } from '../../src/messages/finding.js';
import { Repositories } from '../../src/adapters/persistence/persistence.module.js';
import { freshStore } from '../support/fresh-store.js';
import { openStoreAt, StoreKind, TestStore } from '../support/stores.js';
import { digest, LATER, newKey, use, usesOf } from './api-key-repository.contract.js';
import { checkStore, copy } from './maintenance.js';
import { idempotencyKey, newPet } from '../support/pets.js';
import { everyColumn, fillEveryColumn, rawQuery } from './raw-query.js';

/** Makes a database store no use of a key, by the name of its kind. */
const REJECT_KEYS: Readonly<Record<string, string>> = {
  SQLite: 'CREATE TRIGGER reject BEFORE INSERT ON key_use BEGIN SELECT RAISE(IGNORE); END',
  PostgreSQL: 'CREATE RULE reject AS ON INSERT TO key_use DO INSTEAD NOTHING',
  MariaDB: `CREATE TRIGGER reject BEFORE INSERT ON key_use FOR EACH ROW SIGNAL SQLSTATE '45000'`,
};

/** What a copy from one kind of database to another promises. */
export function describeCopy(from: StoreKind, to: StoreKind): void {
  describe(`a copy from ${from.name} to ${to.name}`, () => {
    let source: TestStore;
    let target: TestStore;
    let store: Repositories;

    beforeEach(async () => {
      source = await from.create();
      target = await to.create('empty');
      store = await openStoreAt(source.url);
    });

    afterEach(async () => {
      await store.close();
      await source.remove();
      await target.remove();
    });

    it('has every column of every table', async () => {
      await fillEveryColumn(source.url);
      const before = await everyColumn(source.url);
      await copy(source.url, target.url);
      expect(await everyColumn(target.url)).toEqual(before);
    });

    it('has everything exactly, and continues the ids', async () => {
      const names = ['Bella', ' x ', 'Zoe\u0308', `'"\\%_?$1\``, '\u{1f436}'.repeat(255), '\u202ex'];
      const categories = [2n ** 63n - 1n, -(2n ** 63n), 9007199254740993n, 0n];
      // More than any batch of rows.
      const news = Array.from({ length: 1_100 }, (_, i) =>
        newPet({ name: names[i % 6], categoryId: categories[i % 4], status: i % 2 ? 'sold' : 'pending' }),
      );
      await Promise.all(news.slice(0, 550).map((pet) => store.pets.add(pet)));
      await Promise.all(news.slice(550).map((pet) => store.pets.add(pet)));
      const { pet: once } = await store.pets.add(newPet(), idempotencyKey());
      await store.keys.add(newKey());
      await store.keys.revoke(digest(1), LATER);
      await store.keys.add(newKey({ digest: digest(2), expiresAt: LATER }));
      await store.keys.recordUses([use({ deprecatedCalls: 3 })]);
      const far = 2n ** 63n - 10n;
      // By its defaults MariaDB takes 0 for the next id.
      const zero = from.name === 'MariaDB' ? -1n : 0n;
      for (const id of [zero, 9007199254740993n, 9007199254740995n, far])
        await rawQuery(source.url, `INSERT INTO pet (id, name, category_id, status) VALUES (${id}, 'far', 1, 'sold')`);

      expect(await copy(source.url, target.url)).toMatchObject({ pets: 1_105, keys: 2 });
      const copied = await openStoreAt(target.url);
      const everything = async ({ pets, keys }: Repositories) => ({
        pets: await pets.list({ limit: 2_000 }),
        keys: (await keys.list()).sort((a, b) => (a.digest < b.digest ? -1 : 1)),
        uses: await usesOf(keys),
      });
      expect(await everything(copied)).toEqual(await everything(store));
      expect(await copied.pets.add(newPet(), idempotencyKey())).toEqual({ pet: once, replayed: true });
      expect((await copied.pets.add(newPet())).pet.id).toBeGreaterThan(far);
      await copied.close();
    });

    it('is rejected, and changes nothing, unless the target is empty and the source migrated', async () => {
      await expect(copy(target.url, source.url)).rejects.toThrow(UsageError);
      await store.pets.add(newPet());
      const taken = await openStoreAt(target.url);
      await taken.keys.add(newKey());
      await expect(copy(source.url, target.url)).rejects.toThrow(/not empty.* api_key/);
      expect(await taken.pets.list({ limit: 1 })).toEqual([]);
      await taken.close();
      await rawQuery(target.url, 'DELETE FROM api_key');
      await rawQuery(target.url, 'ALTER TABLE key_use DROP COLUMN get_pet_calls');
      await expect(copy(source.url, target.url)).rejects.toThrow(/^The target must .* key_use\.$/);
    });

    it('stores nothing if it fails after the pets', async () => {
      await store.pets.add(newPet());
      await store.keys.recordUses([use()]);
      await (await openStoreAt(target.url)).close();
      await rawQuery(target.url, REJECT_KEYS[to.name]!);
      await expect(copy(source.url, target.url)).rejects.toThrow();
      expect(await rawQuery(target.url, 'SELECT * FROM pet')).toEqual([]);
    });

    it('happens once if two run at once, and the other one is told nothing that could destroy it', async () => {
      await store.pets.add(newPet());
      await (await openStoreAt(target.url)).close();
      const outcomes = await Promise.allSettled([copy(source.url, target.url), copy(source.url, target.url)]);
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      expect(String(failed?.reason)).toMatch(/maybe of another copy|is locked/);
      expect(await rawQuery(target.url, 'SELECT name FROM pet')).toEqual([['Bella']]);
    });

    it('continues above the highest id that was ever assigned', async () => {
      await store.pets.add(newPet());
      const { pet: deleted } = await store.pets.add(newPet());
      await rawQuery(source.url, `DELETE FROM pet WHERE id = ${deleted.id}`);
      await copy(source.url, target.url);
      const copied = await openStoreAt(target.url);
      expect((await copied.pets.add(newPet())).pet.id).toBe(deleted.id + 1n);
      await copied.close();
    });
  });
}

/** What `petstore check` finds on a kind of database. */
export function describeCheck(kind: StoreKind): void {
  describe(`the check of a ${kind.name} database`, () => {
    const store = freshStore(kind, 'empty');

    const byName = (findings: readonly Finding[]) =>
      Object.fromEntries(findings.toReversed().map((finding) => [finding.name, finding]));

    it('warns that there are no keys in an empty one, and creates nothing', async () => {
      for (let i = 0; i < 2; i++) {
        const { database, schema, 'API keys': keys } = byName(await checkStore(store.url));
        expect(database?.state).toBe('ok');
        expect(keys).toMatchObject({ state: 'warn', advice: expect.stringContaining('petstore keys create') });
        if (kind.name === 'SQLite') expect(database?.found).toContain('none yet');
        else expect(schema?.state).toBe('warn');
      }
    });

    it('finds nothing wrong while the service uses it and after, and changes nothing', async () => {
      const opened = await store.open();
      await opened.keys.add(newKey());
      const before = await everyColumn(store.url);
      const during = await checkStore(store.url, 2);
      await opened.close();
      for (const findings of [during, await checkStore(store.url, 2)]) {
        expect(findings.filter(({ state }) => state !== 'ok')).toEqual([]);
        const { database, 'API keys': keys } = byName(findings);
        expect(database?.found).toContain(kind.name);
        expect(keys?.found).toBe('1 stored, 2 configured');
      }
      expect(await everyColumn(store.url)).toEqual(before);
    });

    it.each([
      ['a missing index', 'api_key', `DROP INDEX api_key_active_name${kind.name === 'MariaDB' ? ' ON api_key' : ''}`],
      ['a missing column', 'pet', 'ALTER TABLE pet DROP COLUMN fingerprint'],
    ])('fails for %s', async (_what, named, sql) => {
      await (await store.open()).close();
      await rawQuery(store.url, sql);
      // Nor does it say that there is no key, which it cannot know.
      const findings = await checkStore(store.url, 0);
      expect(findings.filter(({ state }) => state !== 'ok')).toEqual([
        expect.objectContaining({ name: 'schema', found: expect.stringContaining(named) }),
      ]);
    });
  });
}
