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

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    engine = new SqliteEngine(join(folder, 'waiting.sqlite'));
    database = new Database(engine, () => undefined, MOST);
    await database.open();
    pets = new TypeOrmPetRepository(database);
    const woken = new Promise<void>((resolve) => (wake = resolve));
    const [rows, row] = [engine.rows.bind(engine), engine.row.bind(engine)];
    engine.rows = (statement) => woken.then(() => rows(statement));
    engine.row = (statement) => woken.then(() => row(statement));
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
});
