import { expect, it } from '@jest/globals';
import { Batcher } from '../../src/adapters/persistence/typeorm/batcher.js';
import { DatabaseUnavailable } from '../../src/application/errors.js';
import type { Database } from '../../src/adapters/persistence/typeorm/database.js';

it('a batch rejects items whose time is over, and has the time of its youngest', async () => {
  const now = performance.now();
  const [earliest, latest] = [now + 1_000_000, now + 9_000_000];
  const deadlines = [now - 1, earliest, latest];
  const batches: unknown[] = [];
  const database = {
    dialect: { isServer: false },
    admit: (work: (deadline: number) => unknown) => work(deadlines.shift()!),
    run: (...[, , work, deadline]: [string, string, (manager: undefined) => Promise<string[]>, number]) => {
      batches.push(deadline);
      return work(undefined);
    },
  };
  const read = (_manager: unknown, items: readonly string[]) => Promise.resolve(items);
  const batcher = new Batcher(database as unknown as Database, 'read', 'SELECT pet', read);
  const [late, ...results] = ['late', 'older', 'younger'].map((item) => batcher.add(item));
  await expect(late).rejects.toThrow(DatabaseUnavailable);
  expect(await Promise.all(results)).toEqual(['older', 'younger']);
  expect(batches).toEqual([latest]);
});
