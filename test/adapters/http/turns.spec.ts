import { beforeEach, describe, expect, it } from '@jest/globals';
import { Turns } from '../../../src/adapters/http/server/turns.js';

/** Resolves behind this turn of the event loop, and behind what was put off to its end before. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('the turns of the event loop', () => {
  let turns: Turns;
  let handled: string[];
  const request = (name: string) => turns.request(() => void handled.push(name));

  beforeEach(() => {
    turns = new Turns();
    handled = [];
  });

  it('have their requests handled behind them, together and in order', async () => {
    request('one');
    request('two');
    expect(handled).toEqual([]);
    await turn();
    expect(handled).toEqual(['one', 'two']);
    request('three');
    expect(handled).toHaveLength(2);
    await turn();
    expect(handled).toEqual(['one', 'two', 'three']);
  });

  it('go by for as long as each of them brings a connection', async () => {
    for (let i = 0; i < 10; i++) {
      turns.connection();
      request(`${i}`);
      await turn();
      expect(handled).toEqual([]);
    }
    await turn();
    expect(handled).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
  });

  it('do not keep a request waiting for ever, whatever connections come', async () => {
    request('one');
    let waited = 0;
    for (; handled.length === 0; waited++) {
      turns.connection();
      await turn();
    }
    expect(waited).toBe(256);
    request('two');
    for (; handled.length === 1; waited++) {
      turns.connection();
      await turn();
    }
    expect(waited).toBe(512);
  });

  it('have what waits handled at once where it must not wait, and nothing twice', async () => {
    request('one');
    request('two');
    turns.handle();
    expect(handled).toEqual(['one', 'two']);
    await turn();
    expect(handled).toHaveLength(2);
  });
});
