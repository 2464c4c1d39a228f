import { describe, expect, it } from '@jest/globals';
import { endOfTurn } from '../../../src/adapters/http/end-of-turn.js';

/** In which order calls in one turn of the event loop resolve, and where in it the turn ends. */
async function orderOf(calls: number): Promise<(number | 'end')[]> {
  const order: (number | 'end')[] = [];
  setImmediate(() => order.push('end'));
  await Promise.all(Array.from({ length: calls }, (_, i) => endOfTurn().then(() => order.push(i))));
  await new Promise((resolve) => setImmediate(resolve));
  return order;
}

describe('the end of a turn', () => {
  it('is waited for by the requests that it brings', async () => {
    expect(await orderOf(3)).toEqual(['end', 0, 1, 2]);
  });

  it('is not waited for by the first 64, and by the next 64, of more', async () => {
    const numbers = Array.from({ length: 140 }, (_, i) => i);
    expect(await orderOf(140)).toEqual([...numbers.slice(0, 128), 'end', ...numbers.slice(128)]);
    expect(await orderOf(1)).toEqual(['end', 0]);
  });
});
