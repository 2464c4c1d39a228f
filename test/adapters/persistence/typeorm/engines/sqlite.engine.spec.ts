import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Libsql from 'libsql';
import { DataSource } from 'typeorm';
import { StoreUnavailable } from '../../../../../src/application/errors.js';
import { Database } from '../../../../../src/adapters/persistence/typeorm/database.js';
import { SqliteEngine } from '../../../../../src/adapters/persistence/typeorm/engines/sqlite.engine.js';
import { TypeOrmPetRepository } from '../../../../../src/adapters/persistence/typeorm/pets/typeorm-pet.repository.js';
import { Store } from '../../../../../src/open-store.js';
import { NewPet } from '../../../../../src/domain/pets/pet.js';
import { freshStore, laterTurn } from '../../../../support/fresh-store.js';
import { lastingKinds, StoreKind } from '../../../../support/stores.js';

const sqlite = lastingKinds.find(({ name }) => name === 'SQLite') as StoreKind;
const BELLA: NewPet = { name: 'Bella', categoryId: 1n, status: 'available' };

const USE = { digest: 'd'.repeat(64), name: 'shop', lastUsedAt: new Date(), getPetCalls: 1, lastGetPetAt: null };
const KEY_OF_SHOP = {
  digest: USE.digest,
  name: 'shop',
  prefix: 'pets_',
  createdAt: new Date(),
  expiresAt: null,
  revokedAt: null,
};

type Opened = Store;

describe('SQLite', () => {
  const store = freshStore(sqlite);
  const file = () => store.url.replace('sqlite:', '');
  let opened: (() => void)[];

  beforeEach(() => {
    opened = [];
  });

  afterEach(() => {
    for (const close of opened) close();
  });

  /** Another process's connection to the same file. */
  function another(): Libsql.Database {
    const connection = new Libsql(file());
    opened.push(() => connection.close());
    return connection;
  }

  /** Hands over the pets of the file, and the engine below them. */
  async function onEngine(act: (pets: TypeOrmPetRepository, engine: SqliteEngine) => Promise<void>): Promise<void> {
    const engine = new SqliteEngine(file());
    const database = new Database(engine, () => undefined);
    await database.open();
    try {
      await act(new TypeOrmPetRepository(database), engine);
    } finally {
      await database.close();
    }
  }

  it('writes ahead and waits for the disk at each commit', async () => {
    const { dataSource } = new SqliteEngine(file());
    await dataSource.initialize();
    try {
      expect(await pragma(dataSource, 'journal_mode')).toBe('wal');
      // 2 is FULL: https://www.sqlite.org/pragma.html#pragma_synchronous
      expect(Number(await pragma(dataSource, 'synchronous'))).toBe(2);
    } finally {
      await dataSource.destroy();
    }
  });

  it('never gives an id again, not even that of a pet that was deleted by hand', async () => {
    const { pets } = await store.open();
    await pets.add(BELLA);
    const { pet } = await pets.add(BELLA);
    another().prepare('DELETE FROM pet WHERE id = ?').run(pet.id);
    expect((await pets.add(BELLA)).pet.id).toBe(pet.id + 1n);
  });

  it('gives ids above those that are there, though what SQLite remembers of them was deleted by hand', async () => {
    const { pets } = await store.open();
    const { pet } = await pets.add(BELLA);
    another().exec('DELETE FROM sqlite_sequence');
    const added = await Promise.all(['Max', 'Rex'].map((name) => pets.add({ ...BELLA, name })));
    expect(added.map((each) => [each.pet.name, each.pet.id])).toEqual([
      ['Max', pet.id + 1n],
      ['Rex', pet.id + 2n],
    ]);
  });

  it('adds as long as an id is left, and none in the place of another then', async () => {
    const { pets } = await store.open();
    await pets.add(BELLA);
    another().exec(`UPDATE sqlite_sequence SET seq = 9223372036854775806 WHERE name = 'pet'`);
    const outcomes = await Promise.allSettled([pets.add(BELLA), pets.add(BELLA)]);
    expect(outcomes).toMatchObject([
      { reason: expect.any(StoreUnavailable) },
      { reason: expect.any(StoreUnavailable) },
    ]);
    expect((await pets.add(BELLA)).pet.id).toBe(2n ** 63n - 1n);
    await expect(pets.add(BELLA)).rejects.toThrow(StoreUnavailable);
    expect((await pets.list({ limit: 10 })).map(({ id }) => id)).toEqual([2n ** 63n - 1n, 1n]);
  });

  it('finds a pet as it is, whoever changed it since it was last found', async () => {
    const { pets } = await store.open();
    const { pet } = await pets.add(BELLA);
    const revisions = [pets.petRevision()];
    expect(await pets.find(pet.id)).toEqual(pet);
    another().prepare(`UPDATE pet SET name = 'Rex' WHERE id = ?`).run(pet.id);
    await laterTurn();
    revisions.push(pets.petRevision());
    expect(await pets.find(pet.id)).toEqual({ ...pet, name: 'Rex' });
    another().prepare('DELETE FROM pet WHERE id = ?').run(pet.id);
    await laterTurn();
    revisions.push(pets.petRevision());
    expect(await pets.find(pet.id)).toBeUndefined();
    expect(new Set(revisions).size).toBe(3);
    const { pet: next } = await pets.add(BELLA);
    expect(await pets.find(next.id)).toEqual(next);
  });

  it('is asked on if it cannot tell whether something changed', async () => {
    await onEngine(async (pets, engine) => {
      const { pet } = await pets.add(BELLA);
      engine.revision = () => {
        throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
      };
      expect([pets.listRevision(), pets.petRevision()]).toEqual([undefined, undefined]);
      expect([await pets.find(pet.id), await pets.list({ limit: 1 })]).toEqual([pet, [pet]]);
    });
  });

  it('finds a pet that was looked for before it was there', async () => {
    const { pets } = await store.open();
    expect(await pets.find(1n)).toBeUndefined();
    const { pet } = await pets.add(BELLA);
    expect(await pets.find(pet.id)).toEqual(pet);
  });

  it.each([
    ['add an animal', ({ pets }: Opened) => pets.add(BELLA)],
    ['write the use of a key down', ({ keys }: Opened) => keys.recordUses([USE])],
  ])('shows what others commit at once, also if it has been in vain to %s', async (_what, write) => {
    const opened = await store.open();
    await opened.keys.add(KEY_OF_SHOP);
    const other = another();
    other.exec('BEGIN IMMEDIATE');
    // It is tried every 5 ms while the lock is held.
    const written = write(opened);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await opened.pets.list({ limit: 1 })).toEqual([]);
    other.exec(`INSERT INTO pet (name, category_id, status) VALUES ('Rex', 1, 'sold')`);
    other.exec('COMMIT');
    // A look at the revision serves the turn of the event loop that it was made in.
    await laterTurn();
    const seen = await opened.pets.list({ limit: 2 });
    await written;
    expect(seen.map(({ name }) => name)).toContain('Rex');
  });

  it('adds once the transaction that is in its way has ended, and is read meanwhile', async () => {
    const { pets } = await store.open();
    const { pet } = await pets.add(BELLA);
    const other = another();
    other.exec('BEGIN IMMEDIATE');
    other.exec(`INSERT INTO pet (name, category_id, status) VALUES ('Not yet', 1, 'sold')`);
    const adding = pets.add({ ...BELLA, name: 'Rex' });
    expect(await pets.list({ limit: 10 })).toEqual([pet]);
    other.exec('COMMIT');
    await adding;
    expect((await pets.list({ limit: 10 })).map(({ name }) => name)).toEqual(['Rex', 'Not yet', 'Bella']);
  });

  it('does not lose a pet to the rollback of something else that is under way', async () => {
    const { pets, keys } = await store.open();
    const key = { digest: 'a'.repeat(64), name: 'shop', prefix: 'pets_abcd', createdAt: new Date() };
    await keys.add({ ...key, expiresAt: null, revokedAt: null });
    const [added, refused] = await Promise.allSettled([
      pets.add(BELLA),
      keys.add({ ...key, expiresAt: null, revokedAt: null }),
    ]);
    expect([added.status, refused.status]).toEqual(['fulfilled', 'rejected']);
    expect(await pets.list({ limit: 10 })).toHaveLength(1);
  });

  it('stores the pets that share a commit with one that cannot be held, and not that one', async () => {
    const { pets } = await store.open();
    const faulty = { ...BELLA, name: null as unknown as string };
    const outcomes = await Promise.allSettled([pets.add(BELLA), pets.add(faulty), pets.add(BELLA)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const { pet } = await pets.add(BELLA);
    expect((await pets.list({ limit: 10 })).map(({ id }) => id)).toEqual([pet.id, pet.id - 1n, pet.id - 2n]);
  });

  it('says that it cannot answer while the disk is full, still reads, and goes on once there is room', async () => {
    await onEngine(async (pets, engine) => {
      const { pet } = await pets.add(BELLA);
      await engine.dataSource.query('PRAGMA max_page_count = 1');
      const fill = async () => {
        for (;;) await pets.add({ ...BELLA, name: 'x'.repeat(255) });
      };
      await expect(fill()).rejects.toThrow(StoreUnavailable);
      await expect(fill()).rejects.toThrow(StoreUnavailable);
      expect(await pets.find(pet.id)).toEqual(pet);
      const [newest] = await pets.list({ limit: 1 });
      await engine.dataSource.query('PRAGMA max_page_count = 100000');
      expect((await pets.add(BELLA)).pet.id).toBe(newest!.id + 1n);
    });
  });
});

async function pragma(dataSource: DataSource, name: string): Promise<unknown> {
  const [row] = await dataSource.query<Record<string, unknown>[]>(`PRAGMA ${name}`);
  return row?.[name];
}
