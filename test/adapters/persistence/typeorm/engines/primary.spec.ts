import { describe, expect, it } from '@jest/globals';
import { Host } from '../../../../../src/adapters/persistence/database-url.js';
import { Primary } from '../../../../../src/adapters/persistence/typeorm/engines/primary.js';

const A = { host: 'a', port: 1 };
const B = { host: 'b', port: 1 };

/** The hosts, of which these say that they are the primary. */
function hosts(...primaries: Host[]) {
  const asked: Host[] = [];
  const moves: Host[] = [];
  let wanted = true;
  const primary: Primary = new Primary(
    [A, B],
    async (host) => {
      asked.push(host);
      await Promise.resolve();
      if (!primaries.includes(host)) throw new Error(`${host.host} is a standby`);
    },
    () => (wanted ? [{ moveTo: (there: Host) => moves.push(there) }] : []),
  );
  return { primary, primaries, asked, moves, stop: () => (wanted = false) };
}

describe('the primary of several hosts', () => {
  it('is the first that says so', async () => {
    const { primary, moves } = hosts(B);
    expect(primary.host).toBe(A);
    await primary.find();
    expect(primary.host).toBe(B);
    expect(moves).toEqual([B]);
    const both = hosts(A, B);
    await both.primary.find();
    expect(both.primary.host).toBe(A);
    expect(both.moves).toEqual([]);
  });

  it('is missed with what the last of them says if there is none', async () => {
    const { primary } = hosts();
    await expect(primary.find()).rejects.toThrow('b is a standby');
  });

  it('is looked for until there is one, and once at a time', async () => {
    const { primary, primaries, asked, moves } = hosts();
    primary.seek();
    primary.seek();
    expect(asked).toEqual([A, B]);
    primaries.push(B);
    while (primary.host !== B) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(moves).toEqual([B]);
    expect(asked.length).toBeLessThan(9);
  });

  it('is asked for only so often, however often something fails', async () => {
    const { primary, asked } = hosts(A);
    const end = performance.now() + 1_100;
    while (performance.now() < end) {
      primary.seek();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(asked.length / 2).toBeGreaterThan(1);
    expect(asked.length / 2).toBeLessThanOrEqual(5);
  });

  it('is not looked for any more once no pool is open', async () => {
    const { primary, asked, stop } = hosts();
    primary.seek();
    stop();
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(asked.length).toBeLessThanOrEqual(4);
  });

  it('is taken for granted if there is but one', async () => {
    const asked: Host[] = [];
    const primary = new Primary(
      [A],
      (host) => Promise.resolve(void asked.push(host)),
      () => [{ moveTo: () => undefined }],
    );
    primary.seek();
    await primary.find();
    expect([primary.host, asked]).toEqual([A, []]);
  });
});
