import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoreUnavailable } from '../../../../src/application/errors.js';
import { Database } from '../../../../src/adapters/persistence/typeorm/database.js';
import { SqliteEngine } from '../../../../src/adapters/persistence/typeorm/engines/sqlite.engine.js';
import { TypeOrmPetRepository } from '../../../../src/adapters/persistence/typeorm/pets/typeorm-pet.repository.js';

const BELLA = { name: 'Bella', categoryId: 1n, status: 'available' } as const;
const MOST = 10;

describe('requests that wait for a database that hangs', () => {
  let folder: string;
  let engine: SqliteEngine;
  let database: Database;
  let pets: TypeOrmPetRepository;
  let wake: () => void;

  function hang(): void {
    const woken = new Promise<void>((resolve) => (wake = resolve));
    const [rows, row] = [SqliteEngine.prototype.rows.bind(engine), SqliteEngine.prototype.row.bind(engine)];
    engine.rows = (statement) => woken.then(() => rows(statement));
    engine.row = (statement) => woken.then(() => row(statement));
  }

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    engine = new SqliteEngine(join(folder, 'waiting.sqlite'));
    database = new Database(engine, () => undefined, MOST);
    await database.open();
    pets = new TypeOrmPetRepository(database);
    hang();
  });

  afterEach(async () => {
    await database.close();
    rmSync(folder, { recursive: true });
  });

  it('are refused at once beyond so many, whatever they wait for, and are let in again afterwards', async () => {
    const waiting = Array.from({ length: MOST }, (_, i) =>
      i % 3 === 0 ? pets.add(BELLA) : i % 3 === 1 ? pets.find(1n) : pets.list({ limit: 1 }),
    );
    for (const ask of [() => pets.add(BELLA), () => pets.find(1n), () => pets.list({ limit: 1 })]) {
      await expect(ask()).rejects.toThrow(StoreUnavailable);
    }
    wake();
    await Promise.all(waiting);
    expect(await pets.list({ limit: 100 })).toHaveLength(4);
  });

  it('are given up when their time is over, and what they were to store and had not begun is not stored', async () => {
    wake();
    await database.close();
    // Long enough for a pet to be added on a busy machine.
    database = new Database(engine, () => undefined, MOST, undefined, 2_000);
    await database.open();
    hang();
    pets = new TypeOrmPetRepository(database);
    const first = pets.add(BELLA);
    // The commit of the first is under way once both turns have passed; the others wait behind it.
    for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
    const waiting = [first, pets.add(BELLA), pets.find(1n), pets.list({ limit: 1 })];
    const outcomes = await Promise.allSettled(waiting);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) });
    wake();
    const { pet } = await pets.add(BELLA);
    expect(await pets.list({ limit: 100 })).toEqual([pet, { ...pet, id: pet.id - 1n }]);
  });

  it('ask a busy database again until their time is over by the clock, however few times that is', async () => {
    wake();
    await database.close();
    let [now, asked] = [0, 0];
    database = new Database(
      engine,
      () => undefined,
      MOST,
      undefined,
      8_000,
      () => now,
    );
    await database.open();
    pets = new TypeOrmPetRepository(database);
    engine.row = engine.rows = () => {
      asked++;
      now += 3_000;
      return Promise.reject(Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' }));
    };
    for (const ask of [() => pets.add(BELLA), () => pets.find(1n), () => pets.list({ limit: 1 })]) {
      asked = 0;
      await expect(ask()).rejects.toThrow(StoreUnavailable);
      expect(asked).toBe(3);
    }
  });

  it('ask a few times if the connection was lost, unless they would write twice', async () => {
    wake();
    let [asked, losses] = [0, 2];
    engine.failure = () => 'lost';
    const answer = engine.rows.bind(engine);
    engine.row = engine.rows = (statement) => {
      asked++;
      return losses-- > 0 ? Promise.reject(new Error('Connection terminated')) : answer(statement).then((rows) => rows);
    };
    expect(await pets.list({ limit: 1 })).toEqual([]);
    expect(asked).toBe(3);
    [asked, losses] = [0, Infinity];
    await expect(pets.list({ limit: 1 })).rejects.toThrow(StoreUnavailable);
    expect(asked).toBe(4);
    [asked, losses] = [0, 1];
    await expect(pets.add(BELLA)).rejects.toThrow(StoreUnavailable);
    expect(asked).toBe(1);
  });
});
