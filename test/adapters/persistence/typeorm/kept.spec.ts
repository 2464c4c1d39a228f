import { describe, expect, it } from '@jest/globals';
import { Kept } from '../../../../src/adapters/persistence/typeorm/kept.js';

describe('what is kept of the store', () => {
  /** A store of one value, which counts how often it is read. */
  function store() {
    let reads = 0;
    return {
      read: () => Promise.resolve(`read ${++reads}`),
      readNothing: () => Promise.resolve(++reads > 0 ? undefined : ''),
      get reads() {
        return reads;
      },
    };
  }

  it('is read once at each revision', async () => {
    const { read } = store();
    const kept = new Kept<string, string>(10);
    expect(await kept.get('a', 1, read)).toBe('read 1');
    expect(await kept.get('a', 1, read)).toBe('read 1');
    expect(await kept.get('b', 1, read)).toBe('read 2');
    expect(await kept.get('a', 2, read)).toBe('read 3');
    expect(await kept.get('a', 1, read)).toBe('read 4');
  });

  it('is read each time where the store has no revision', async () => {
    const { read } = store();
    const kept = new Kept<string, string>(10);
    await kept.get('a', 1, read);
    expect(await kept.get('a', undefined, read)).toBe('read 2');
    expect(await kept.get('a', undefined, read)).toBe('read 3');
  });

  it('is looked for again where it was not there', async () => {
    const nothing = store();
    const kept = new Kept<string, string | undefined>(10);
    expect(await kept.get('a', 1, nothing.readNothing)).toBeUndefined();
    expect(await kept.get('a', 1, nothing.readNothing)).toBeUndefined();
    expect(nothing.reads).toBe(2);
  });

  it('takes no room where it was not there', async () => {
    const { read, readNothing } = store();
    const kept = new Kept<string, string | undefined>(2);
    await kept.get('a', 1, read);
    for (const name of ['b', 'c', 'd']) await kept.get(name, 1, readNothing);
    expect(await kept.get('a', 1, read)).toBe('read 1');
  });

  it('is not kept where the revision passed while it was read', async () => {
    const { read } = store();
    const kept = new Kept<string, string>(10);
    let arrive: ((value: string) => void) | undefined;
    const slow = kept.get('a', 1, () => new Promise((resolve) => (arrive = resolve)));
    await kept.get('b', 2, read);
    arrive?.('of revision 1');
    expect(await slow).toBe('of revision 1');
    expect(await kept.get('a', 2, read)).toBe('read 2');
  });

  it('is never more than it may be', async () => {
    const one = store();
    const kept = new Kept<number, string>(2);
    for (const name of [1, 2, 3]) await kept.get(name, 1, one.read);
    await kept.get(3, 1, one.read);
    expect(one.reads).toBe(3);
    await kept.get(1, 1, one.read);
    expect(one.reads).toBe(4);
  });
});
