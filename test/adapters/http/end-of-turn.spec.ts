import { describe, expect, it } from '@jest/globals';
import { endOfTurn, noteConnection } from '../../../src/adapters/http/end-of-turn.js';

/** In which order calls in one turn of the event loop resolve, and where in it the turn ends. */
async function orderOf(calls: number): Promise<(number | 'end')[]> {
  const order: (number | 'end')[] = [];
  setImmediate(() => order.push('end'));
  await Promise.all(Array.from({ length: calls }, (_, i) => endOfTurn().then(() => order.push(i))));
  await turn();
  return order;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the end of a turn', () => {
  it('is waited for by the requests that it brings', async () => {
    expect(await orderOf(3)).toEqual(['end', 0, 1, 2]);
  });

  it('is not waited for by the first 64, and by the next 64, of more', async () => {
    const numbers = Array.from({ length: 140 }, (_, i) => i);
    expect(await orderOf(140)).toEqual([...numbers.slice(0, 128), 'end', ...numbers.slice(128)]);
    expect(await orderOf(1)).toEqual(['end', 0]);
  });

  it('is that of a later one while connections come, whose requests go on together with these', async () => {
    const order: string[] = [];
    const request = (name: string) => void endOfTurn().then(() => order.push(name));
    noteConnection();
    for (let i = 0; i < 64; i++) request('first');
    await turn();
    expect(order).toEqual([]);
    request('second');
    await turn();
    expect(order).toEqual([...Array<string>(64).fill('first'), 'second']);
  });

  it('comes though connections come without an end', async () => {
    let left = 300_000;
    const connect = () => {
      noteConnection();
      if (left-- > 0) setImmediate(connect);
    };
    connect();
    await endOfTurn();
    expect(left).toBeGreaterThan(0);
    left = 0;
    await turn();
    expect(await orderOf(1)).toEqual(['end', 0]);
  });
});
