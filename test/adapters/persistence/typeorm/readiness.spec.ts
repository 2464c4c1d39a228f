import { expect, it } from '@jest/globals';
import { StoreUnavailable } from '../../../../src/application/errors.js';
import { Database } from '../../../../src/adapters/persistence/typeorm/database.js';
import { SqliteEngine } from '../../../../src/adapters/persistence/typeorm/engines/sqlite.engine.js';
import { Row } from '../../../../src/adapters/persistence/typeorm/table.js';

/** A database that takes questions and never answers. */
class SilentEngine extends SqliteEngine {
  asked = 0;

  override rows(): Promise<Row[]> {
    this.asked++;
    return new Promise(() => undefined);
  }
}

it('refuses if the database does not answer, and asks it once, however many want to know', async () => {
  const engine = new SilentEngine(':memory:');
  const database = new Database(engine, () => undefined);
  await database.open();
  try {
    const checks = await Promise.allSettled([database.check(), database.check(), database.check()]);
    for (const check of checks)
      expect(check).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailable) });
    expect(engine.asked).toBe(1);
  } finally {
    await database.close();
  }
});
