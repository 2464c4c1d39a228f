import { expect, it, jest } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Batcher } from '../../src/adapters/persistence/typeorm/batcher.js';
import { DIALECTS } from '../../src/adapters/persistence/typeorm/dialects/dialects.js';
import { RowsDiscarded } from '../../src/adapters/persistence/typeorm/failures.js';
import { QueryFailedError } from 'typeorm';
import { DatabaseUnavailable, IdempotencyInProgress, IdempotencyKeyReused } from '../../src/application/errors.js';
import type { Database } from '../../src/adapters/persistence/typeorm/database.js';
import { Executor } from '../../src/adapters/persistence/typeorm/executor.js';
import { laterTurn } from '../support/fresh-store.js';

/** Why the database was unavailable. */
const logged: string[] = [];

/** Runs all work on no database; `batches` receives the deadline of each. */
function executorWith(batches: unknown[] = [], isServer = false, MAX_WAITING = 1_000): Executor {
  const database = {
    dialect: isServer ? DIALECTS.postgres : DIALECTS.sqlite,
    run: (_kind: string, work: (manager: undefined) => Promise<unknown[]>, deadline: number) => {
      batches.push(deadline);
      return work(undefined);
    },
    unavailable: ({ message }: Error) => new DatabaseUnavailable(message),
    logFailure: ({ message }: DatabaseUnavailable) => logged.push(message),
  };
  return new Executor(database as unknown as Database, { STATEMENT_TIMEOUT: 60_000, MAX_WAITING });
}

/** More than a batch waits for others. */
async function turns(): Promise<void> {
  for (let i = 0; i < 4; i++) await laterTurn();
}

type Run<Item> = (manager: unknown, items: readonly Item[]) => Promise<readonly Item[]>;

const batcherOf = <Item>(run: Run<Item>, ...options: Parameters<typeof executorWith>) =>
  new Batcher<Item, Item>(executorWith(...options), { kind: 'read', summary: 'SELECT pet', run });

it('a batch rejects items past their deadline, and has the latest of deadlines within a second', async () => {
  const now = performance.now();
  const [earlier, later, other] = [now + 9_000, now + 9_999, now + 10_500];
  const batches: unknown[] = [];
  const read = (_manager: unknown, items: readonly string[]) => Promise.resolve(items);
  const batcher = batcherOf(read, batches, false, 4);
  const deadlines = [now - 1, earlier, later, other];
  const [late, ...results] = deadlines.map((deadline) => batcher.add(String(deadline), deadline));
  await expect(late).rejects.toThrow(DatabaseUnavailable);
  expect(await Promise.all(results)).toEqual(deadlines.slice(1).map(String));
  expect(batches).toEqual([later, other]);
  // None of them waits any longer, so four may.
  const [fifth, ...four] = [...'abcde'].map((item) => batcher.add(item)).toReversed();
  await expect(fifth).rejects.toThrow('4 requests wait for the database already (MAX_WAITING).');
  expect(await Promise.all(four)).toEqual([...'dcba']);
});

it.each([
  [1, false],
  [2, true],
])('at most %i batches are in flight, and what arrives meanwhile shares the next one', async (most, isServer) => {
  const batches: string[] = [];
  const finish: (() => void)[] = [];
  const read = (_manager: unknown, items: readonly string[]) => {
    batches.push(items.join(''));
    return new Promise<readonly string[]>((resolve) => finish.push(() => resolve(items)));
  };
  const batcher = batcherOf(read, [], isServer);
  const adding: Promise<string>[] = [];
  for (const item of 'abcd') {
    adding.push(batcher.add(item));
    await turns();
  }
  const inFlight = [...'abcd'].slice(0, most);
  expect(batches).toEqual(inFlight);
  finish[0]?.();
  await turns();
  expect(batches).toEqual([...inFlight, 'abcd'.slice(most)]);
  for (const each of finish) each();
  expect(await Promise.all(adding)).toEqual([...'abcd']);
});

it('a batch has 256 items, and the trace of the first', async () => {
  const trace = new AsyncLocalStorage<number>();
  const batches: unknown[] = [];
  const read = (_manager: unknown, items: readonly number[]) => {
    batches.push([items.length, trace.getStore()]);
    return Promise.resolve(items.map((item) => -item));
  };
  const batcher = batcherOf(read);
  const adding = Array.from({ length: 300 }, (_item, i) => trace.run(i, () => batcher.add(i)));
  expect(await Promise.all(adding)).toEqual(adding.map((_result, i) => -i));
  expect(batches).toEqual([
    [256, 0],
    [44, 256],
  ]);
});

it('a batch for which nothing is left lets the next one run', async () => {
  const batcher = batcherOf((_manager, items: readonly number[]) => Promise.resolve(items), [], true);
  // Each of the two begins one in the same turn, and the first takes both.
  for (let i = 0; i < 3; i++) expect(await Promise.all([batcher.add(i), batcher.add(-i)])).toEqual([i, -i]);
});

it('a batch that an item fails is halved until that item fails alone, and no half waits for the other', async () => {
  const batches: string[] = [];
  let finish: () => void = () => undefined;
  const write = (_manager: unknown, items: readonly string[]) => {
    batches.push(items.join(''));
    if (items.includes('x')) return Promise.reject(new RowsDiscarded('One of them.'));
    return items[0] === 'a'
      ? new Promise<readonly string[]>((resolve) => (finish = () => resolve(items)))
      : Promise.resolve(items);
  };
  const batcher = batcherOf(write);
  const [a, b, x, c] = ['a', 'b', 'x', 'c'].map((item) => batcher.add(item));
  await expect(x).rejects.toThrow('One of them.');
  expect(await c).toBe('c');
  expect(batches).toEqual(['abxc', 'ab', 'xc', 'x', 'c']);
  finish();
  expect(await Promise.all([a, b])).toEqual(['a', 'b']);
});

it('a batch that may have been stored is not run again, whatever else it failed by', async () => {
  const write = jest.fn(() => Promise.reject(new TypeError('A fault of the program.')));
  const batcher = batcherOf(write);
  for (const { reason } of (await Promise.allSettled([batcher.add('a'), batcher.add('b')])) as PromiseRejectedResult[])
    expect(reason).toEqual(new TypeError('A fault of the program.'));
  expect(write).toHaveBeenCalledTimes(1);
});

it('a request ends at its deadline, or with the reason if no try is left before, and the log has why', async () => {
  logged.length = 0;
  const executor = executorWith([], true);
  const refused = new QueryFailedError('', undefined, Object.assign(new Error('Refused.'), { code: '08006' }));
  executor.database.run = () => Promise.reject(refused);
  // Tried after 50, 150, 350 and 750 ms; the next time would be after 1,550.
  const running = executor.run('read', 'SELECT pet', () => Promise.resolve(), performance.now() + 1_500);
  await expect(running).rejects.toThrow('Refused.');
  expect(logged).toHaveLength(1);
  const silent = batcherOf<string>(() => new Promise(() => undefined));
  await expect(silent.add('a', performance.now() + 50)).rejects.toThrow('did not answer in time');
  expect(logged).toHaveLength(2);
  const rejecting = batcherOf<string>(() => Promise.resolve([new IdempotencyKeyReused()] as never), [], true);
  await expect(rejecting.add('a')).rejects.toThrow(IdempotencyKeyReused);
  expect(logged).toHaveLength(2);
});

it('an item whose key is held is tried again beside the others, and delays none of them', async () => {
  const batches: string[] = [];
  let tries = 0;
  const batcherNamed = (name: string, held?: Batcher<string, string>) => {
    const run = (_manager: unknown, items: readonly string[]) => {
      batches.push(`${name} ${items.join('')}`);
      return items.includes('x') && (items.length > 1 || ++tries < 4)
        ? Promise.reject(new IdempotencyInProgress())
        : Promise.resolve(items);
    };
    return new Batcher<string, string>(executorWith(), { kind: 'transaction', summary: 'INSERT pet', run }, held);
  };
  const batcher = batcherNamed('first', batcherNamed('held'));
  expect(await Promise.all(['x', 'a'].map((item) => batcher.add(item)))).toEqual(['x', 'a']);
  expect(batches).toEqual(['first xa', 'first x', 'first a', 'held x', 'held x', 'held x']);
});
