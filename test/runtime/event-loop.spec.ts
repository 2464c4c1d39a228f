import { expect, it } from '@jest/globals';
import { endOfNextTurn, endOfTurn, OncePerTurn } from '../../src/adapters/runtime/event-loop.js';

/** A value that is another one at each read. */
function changing(): OncePerTurn<number> {
  let reads = 0;
  return new OncePerTurn(() => ++reads);
}

it('what is handled at the end of a turn shares one read, and what arrives later reads anew', async () => {
  const value = changing();
  for (const turn of [1, 2, 3]) {
    const handled = [1, 2, 3].map(() => endOfTurn().then(() => value.get()));
    expect(await Promise.all(handled)).toEqual([turn, turn, turn]);
  }
});

it('what arrives after a read in the middle of a turn reads anew, at the end of the same turn too', async () => {
  const value = changing();
  const before = endOfTurn().then(() => value.get());
  expect(value.get()).toBe(1);
  const after = endOfTurn().then(() => value.get());
  expect([await before, await after]).toEqual([1, 2]);
});

it('a batch that begins at the end of a turn has what is handled then, and at the end of the next one', async () => {
  const batch: string[] = [];
  await endOfTurn();
  const sent = endOfNextTurn().then(() => [...batch]);
  batch.push('this turn');
  void endOfTurn().then(() => batch.push('next turn'));
  expect(await sent).toEqual(['this turn', 'next turn']);
});
