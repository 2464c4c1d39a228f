import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import Libsql from 'libsql';
import { StoreUnavailable } from '../../../../src/application/errors.js';
import { Database } from '../../../../src/adapters/persistence/typeorm/database.js';
import { SqliteEngine } from '../../../../src/adapters/persistence/typeorm/engines/sqlite.engine.js';
import { TypeOrmPetRepository } from '../../../../src/adapters/persistence/typeorm/pets/typeorm-pet.repository.js';
import { lastingKinds, TestStore } from '../../../support/stores.js';

const PET = { name: 'x'.repeat(255), categoryId: 42n, status: 'available' } as const;

describe('SQLite on a full disk', () => {
  let store: TestStore;
  let engine: SqliteEngine;
  let database: Database;
  let pets: TypeOrmPetRepository;

  beforeEach(async () => {
    const sqlite = lastingKinds.find(({ name }) => name === 'SQLite');
    if (!sqlite) throw new Error('There is no SQLite to test on.');
    store = await sqlite.create();
    engine = new SqliteEngine(store.url.slice('sqlite:'.length));
    database = new Database(engine, () => undefined);
    await database.open();
    pets = new TypeOrmPetRepository(database);
  });

  afterEach(async () => {
    await database.close();
    await store.remove();
  });

  /** Lets the file grow no further, as a full disk would: SQLite reports both by SQLITE_FULL. */
  function fill(disk: 'full' | 'free'): void {
    const { databaseConnection } = engine.dataSource.driver as unknown as { databaseConnection: Libsql.Database };
    databaseConnection.pragma(`max_page_count = ${disk === 'full' ? 1 : 1_000_000}`);
  }

  it('refuses what does not fit by StoreUnavailable, reads on, and stores again when there is room', async () => {
    const kept = (await pets.add(PET)).pet;
    fill('full');
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => pets.add(PET)));
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const outcome of refused) expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(StoreUnavailable);
    expect(await pets.find(kept.id)).toEqual(kept);
    // A transaction is stored whole or not at all: what was refused has left nothing.
    expect(await pets.list({ limit: 1_000 })).toHaveLength(1 + outcomes.length - refused.length);
    fill('free');
    const { pet } = await pets.add(PET);
    expect(await pets.find(pet.id)).toEqual(pet);
  });
});
