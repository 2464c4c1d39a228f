import { expect, it } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Batcher } from '../../src/adapters/persistence/typeorm/batcher.js';
import { DatabaseUnavailable } from '../../src/application/errors.js';
import type { Database } from '../../src/adapters/persistence/typeorm/database.js';

/** A database that runs all work; `deadlines` are those of the items, in their order. */
function databaseWith(deadlines: number[], batches: unknown[]): Database {
  const database = {
    dialect: { isServer: false },
    admit: (work: (deadline: number) => unknown) => work(deadlines.shift()!),
    run: (...[, , work, deadline]: [string, string, (manager: undefined) => Promise<string[]>, number]) => {
      batches.push(deadline);
      return work(undefined);
    },
  };
  return database as unknown as Database;
}

it('a batch rejects items whose time is over, and has the time of its youngest', async () => {
  const now = performance.now();
  const [earliest, latest] = [now + 1_000_000, now + 9_000_000];
  const batches: unknown[] = [];
  const database = databaseWith([now - 1, earliest, latest], batches);
  const read = (_manager: unknown, items: readonly string[]) => Promise.resolve(items);
  const batcher = new Batcher(database, 'read', 'SELECT pet', read);
  const [late, ...results] = ['late', 'older', 'younger'].map((item) => batcher.add(item));
  await expect(late).rejects.toThrow(DatabaseUnavailable);
  expect(await Promise.all(results)).toEqual(['older', 'younger']);
  expect(batches).toEqual([latest]);
});

it('items with one name share one result, and a batch has no more items than it may', async () => {
  const deadline = performance.now() + 1_000_000;
  const batches: (readonly string[])[] = [];
  const read = (_manager: unknown, items: readonly string[]) => {
    batches.push(items);
    return Promise.resolve(items.map((item) => `${item}!`));
  };
  const batcher = new Batcher(databaseWith([deadline, deadline, deadline], []), 'read', 'SELECT pet', read, 2);
  expect(await Promise.all(['a', 'a', 'b'].map((item) => batcher.add(item)))).toEqual(['a!', 'a!', 'b!']);
  expect(batches).toEqual([['a'], ['b']]);
});

it.each([
  ['one by one', 1],
  ['at once', Infinity],
])('batches of one item that are run %s belong to the traces of their requests', async (_when, maxInFlight) => {
  const trace = new AsyncLocalStorage<string>();
  const deadlines = Array<number>(2).fill(performance.now() + 1_000_000);
  const read = () => Promise.resolve([trace.getStore()]);
  const batcher = new Batcher(databaseWith(deadlines, []), 'read', 'SELECT pet', read, 1, maxInFlight);
  const traces = await Promise.all(['a', 'b'].map((item) => trace.run(item, () => batcher.add(item))));
  expect(traces).toEqual(['a', 'b']);
});
