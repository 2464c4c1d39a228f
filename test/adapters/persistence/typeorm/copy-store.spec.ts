import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LastingUrl } from '../../../../src/adapters/persistence/database-url.js';
import { copyStore, CopyProgress } from '../../../../src/adapters/persistence/typeorm/copy-store.js';
import { withEngine } from '../../../../src/adapters/persistence/typeorm/open-database.js';
import { petTable } from '../../../../src/adapters/persistence/typeorm/pets/pet.schema.js';
import { Store } from '../../../../src/open-store.js';
import { readConfig } from '../../../../src/config.js';
import { ApiKey } from '../../../../src/domain/keys/api-key.js';
import { lastingKinds, openStoreAt, TestStore } from '../../../support/stores.js';

const NAMES = ['Bella', ' x ', 'Zoe\u0308', '👩‍👩‍👧‍👦', `'"\\%_?$1\``, '\u{1f436}'.repeat(255), 'null', '\u202ex'];

const at = new Date('2026-11-21T12:00:00.123Z');
const key: ApiKey = {
  digest: 'd'.repeat(64),
  name: 'shop',
  prefix: 'pets_abcd',
  createdAt: at,
  expiresAt: null,
  revokedAt: null,
};

function lasting(url: string): { url: LastingUrl; limits: ReturnType<typeof readConfig>['databaseLimits'] } {
  const { database, databaseLimits } = readConfig({ DATABASE_URL: url });
  return { url: database as LastingUrl, limits: databaseLimits };
}

async function everythingIn({ pets, keys, installation }: Store) {
  return {
    pets: await pets.list({ limit: 10_000 }),
    sold: await pets.list({ limit: 10_000, status: 'sold' }),
    keys: await keys.list(),
    uses: await keys.uses(),
    secret: await installation.cursorSecret(),
  };
}

const directions = lastingKinds.flatMap((from) => lastingKinds.map((to) => ({ from, to })));

describe.each(directions)('a copy from $from.name to $to.name', ({ from, to }) => {
  let source: TestStore;
  let target: TestStore;

  beforeEach(async () => {
    source = await from.create();
    target = await to.create();
  });

  afterEach(async () => {
    await source.remove();
    await target.remove();
  });

  const copy = (report: (progress: CopyProgress) => void = () => undefined) =>
    copyStore(lasting(source.url).url, lasting(target.url).url, lasting(source.url).limits, report);

  it('has all that was there, byte for byte, and goes on above it', async () => {
    const store = await openStoreAt(source.url);
    const statuses = ['available', 'pending', 'sold'] as const;
    // More than one batch, and ids that no JavaScript number can hold.
    const add = (i: number) =>
      store.pets.add({
        name: NAMES[i % NAMES.length] as string,
        categoryId: [2n ** 63n - 1n, -(2n ** 63n), 9007199254740993n, 0n][i % 4] as bigint,
        status: statuses[i % 3] as 'sold',
      });
    for (let done = 0; done < 1_100; done += 550) {
      await Promise.all(Array.from({ length: 550 }, (_, i) => add(done + i)));
    }
    const once = { scope: 'a'.repeat(64), key: `~'"\\?`, fingerprint: 'f'.repeat(64), at };
    const marked = await store.pets.add({ name: 'Once', categoryId: 1n, status: 'sold' }, once);
    await store.keys.add(key);
    await store.keys.add({ ...key, digest: 'e'.repeat(64), expiresAt: at, revokedAt: at });
    await store.keys.recordUses([
      { digest: key.digest, name: 'shop', lastUsedAt: at, getPetCalls: 3, lastGetPetAt: null },
    ]);
    await store.close();
    await withEngine(lasting(source.url).url, lasting(source.url).limits, async (engine) => {
      for (const id of [9007199254740993n, 9007199254740995n, 2n ** 63n - 10n]) {
        await engine.rows({
          sql: 'INSERT INTO pet (id, name, category_id, status) VALUES (?, ?, ?, ?)',
          values: [id, 'far', 1n, 'sold'],
        });
      }
      await engine.continueIds(petTable, await engine.lastId(petTable));
    });

    const progress: CopyProgress[] = [];
    const { pets, keys, checksum } = await copy((each) => progress.push(each));
    expect({ pets, keys }).toEqual({ pets: 1_104, keys: 2 });
    expect(checksum).toMatch(/^[0-9a-f]{64}$/);
    expect(progress.filter(({ step }) => step === 'pet').map(({ done }) => done)).toEqual([500, 1_000, 1_104]);

    const [was, is] = [await openStoreAt(source.url), await openStoreAt(target.url)];
    const [before, after] = [await everythingIn(was), await everythingIn(is)];
    for (const { keys, uses } of [before, after])
      for (const list of [keys, uses]) list.sort((a, b) => (a.digest < b.digest ? -1 : 1));
    expect(after).toEqual(before);
    expect(await is.pets.add({ name: 'Once', categoryId: 1n, status: 'sold' }, once)).toEqual({
      ...marked,
      replayed: true,
    });
    const { pet } = await is.pets.add({ name: 'New', categoryId: 1n, status: 'sold' });
    expect(pet.id).toBeGreaterThan(2n ** 63n - 10n);
    await was.close();
    await is.close();
  });
});

describe('a copy', () => {
  let stores: TestStore[];

  beforeEach(async () => {
    const [kind] = lastingKinds;
    stores = await Promise.all([kind, kind].map((each) => (each as (typeof lastingKinds)[0]).create()));
  });

  afterEach(() => Promise.all(stores.map((store) => store.remove())));

  const copy = () => {
    const [from, to] = stores.map(({ url }) => lasting(url));
    return copyStore(from!.url, to!.url, from!.limits, () => undefined);
  };

  it('refuses a target that is not empty, names the table, and leaves it as it is', async () => {
    const [from, to] = await Promise.all(stores.map(({ url }) => openStoreAt(url)));
    await to!.keys.add(key);
    await from!.pets.add({ name: 'New', categoryId: 1n, status: 'sold' });
    await expect(copy()).rejects.toThrow('The target is not empty: its table api_key has rows. Nothing was copied.');
    expect(await to!.pets.list({ limit: 1 })).toEqual([]);
    await from!.close();
    await to!.close();
  });

  it.each(lastingKinds)('of an empty store is an empty $name whose cursors are the same', async (kind) => {
    const target = await kind.create();
    const source = stores[0] as TestStore;
    const store = await openStoreAt(source.url);
    const secret = await store.installation.cursorSecret();
    await store.close();
    expect(
      await copyStore(lasting(source.url).url, lasting(target.url).url, lasting(source.url).limits, () => undefined),
    ).toMatchObject({ pets: 0, keys: 0 });
    const copied = await openStoreAt(target.url);
    expect(await copied.installation.cursorSecret()).toBe(secret);
    expect((await copied.pets.add({ name: 'New', categoryId: 1n, status: 'sold' })).pet.id).toBe(1n);
    await copied.close();
    await target.remove();
  });

  it('refuses a source without a schema', async () => {
    await expect(copy()).rejects.toThrow('The source has not the schema of this build');
  });
});
