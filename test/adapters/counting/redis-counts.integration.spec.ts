import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { AddressInfo, createServer, Server, Socket } from 'node:net';
import { Redis } from 'ioredis';
import type { Counts } from '../../../src/adapters/counting/counts.js';
import { inspectCounting } from '../../../src/adapters/counting/inspect-counting.js';
import { openCounts } from '../../../src/adapters/counting/open-counts.js';
import { redisUrl } from '../../../src/adapters/counting/redis-url.js';
import { freePort, newRedis, redisProgram, TestServer } from '../../support/servers.js';

const PASSWORD = 'hunter2';

/** How long anything that must come about may take, in milliseconds. */
const PATIENCE = 10_000;

/** How long a count may take, however Redis is: what it waits, and what a busy machine adds, in milliseconds. */
const BOUND = 1_000;

let counts: Counts[] = [];
let reports: string[] = [];
let observed: boolean[] = [];

beforeEach(() => {
  [reports, observed] = [[], []];
});

afterEach(() => {
  for (const each of counts) each.close();
  counts = [];
});

/** The counts of one more instance. */
async function open(url: string): Promise<Counts> {
  const opened = await openCounts(
    { isUsed: true, redis: redisUrl('RATE_LIMIT_URL', url) },
    (message) => reports.push(message),
    (isShared) => observed.push(isShared),
  );
  counts.push(opened);
  return opened;
}

/** What came of so many at once of a name, from each of these instances. */
async function take(name: string, instances: readonly Counts[], times = 1): Promise<number[]> {
  const begun = performance.now();
  const all = instances.flatMap((each) => Array.from({ length: times }, () => each));
  const taken = await Promise.all(all.map(async (each) => each.take('requests', name)));
  expect(performance.now() - begun).toBeLessThan(BOUND);
  return taken.map(({ used }) => used).sort((a, b) => a - b);
}

const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1);

async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`It did not come about: ${condition.toString()} ${reports.join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const isShared = () => observed.at(-1) === true;

(redisProgram() ? describe : describe.skip)('counts in Redis', () => {
  let server: TestServer;
  let client: Redis;
  let url: string;
  let names = 0;

  beforeAll(async () => {
    server = (await newRedis('--requirepass', PASSWORD)) as TestServer;
    await server.start();
    url = `redis://:${PASSWORD}@127.0.0.1:${server.port}/3`;
    client = new Redis(url);
  });

  afterAll(async () => {
    client.disconnect();
    await server.remove();
  });

  const newName = () => `name ${++names}`;

  it('are those of all instances, exactly', async () => {
    const instances = [await open(url), await open(url)];
    const name = newName();
    expect(await take(name, instances, 200)).toEqual(upTo(400));
    expect(await take(newName(), instances)).toEqual([1, 2]);
    expect(reports).toEqual([]);
  });

  it('end with their window, and leave nothing', async () => {
    const instance = await open(url);
    const name = newName();
    const { seconds } = await instance.take('requests', name);
    expect([59, 60]).toContain(seconds);
    for (const key of await client.keys('*')) {
      const left = await client.pttl(key);
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(60_000);
    }
    expect(await take(name, [instance])).toEqual([2]);
    await client.pexpire(`petstore:requests:${name}`, 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await client.exists(`petstore:requests:${name}`)).toBe(0);
    expect(await take(name, [instance])).toEqual([1]);
  });

  it('forget what is given back, and know what has failed, until the window ends', async () => {
    const [one, other] = [await open(url), await open(url)];
    const name = newName();
    const first = await one.take('guesses', name);
    const second = await other.take('guesses', name);
    first.giveBack();
    second.fail();
    // A question of each connection comes behind what it was told before.
    await Promise.all([one.take('requests', newName()), other.take('requests', newName())]);
    const third = await one.take('guesses', name);
    expect(third).toMatchObject({ used: 2, failed: 1 });
    await client.del(`petstore:guesses:${name}`);
    third.giveBack();
    third.fail();
    await one.take('requests', newName());
    expect(await client.exists(`petstore:guesses:${name}`)).toBe(0);
  });

  it('leave the next window alone, whatever is settled late', async () => {
    const instance = await open(url);
    const name = newName();
    await client.set(`petstore:guesses:${name}`, 0, 'PX', 200);
    const early = await instance.take('guesses', name);
    await new Promise((resolve) => setTimeout(resolve, 250));
    await instance.take('guesses', name);
    early.giveBack();
    early.fail();
    expect(await instance.take('guesses', name)).toMatchObject({ used: 2, failed: 0 });
  });

  it('go on if the scripts of Redis are flushed', async () => {
    const instance = await open(url);
    const name = newName();
    await take(name, [instance]);
    await client.script('FLUSH');
    expect(await take(name, [instance], 50)).toEqual(upTo(51).slice(1));
    expect(reports).toEqual([]);
  });

  it.each([
    ['is full', ['SET', 'maxmemory', '1'], ['SET', 'maxmemory', '0'], 'OOM'],
    [
      'takes too few replicas for a write',
      ['SET', 'min-replicas-to-write', '1'],
      ['SET', 'min-replicas-to-write', '0'],
      'NOREPLICAS',
    ],
  ] as const)('are those of each instance while Redis %s', async (_what, spoil, mend, reason) => {
    const instance = await open(url);
    const name = newName();
    await take(name, [instance], 5);
    await client.config(...(spoil as unknown as ['SET', string, string]));
    expect(await take(name, [instance], 5)).toEqual(upTo(5));
    expect(reports).toEqual([
      `Redis at redis://127.0.0.1:${server.port}/3 does not count what is limited (${reason}): this instance counts for itself until it does.`,
    ]);
    await client.config(...(mend as unknown as ['SET', string, string]));
    await until(isShared);
    expect(await take(name, [instance])).toEqual([6]);
  });

  it('are those of each instance while Redis is a replica', async () => {
    const instance = await open(url);
    const name = newName();
    await take(name, [instance]);
    await client.replicaof('127.0.0.1', await freePort());
    expect(await take(name, [instance], 2)).toEqual([1, 2]);
    expect(reports).toEqual([expect.stringContaining('(READONLY)')]);
    const redis = redisUrl('RATE_LIMIT_URL', url);
    expect(await inspectCounting({ isUsed: true, redis })).toContainEqual(
      expect.objectContaining({
        name: 'limits',
        state: 'fail',
        found: 'This Redis is a replica, and takes no counts.',
      }),
    );
    await client.replicaof('NO', 'ONE');
    await until(isShared);
    expect(await take(name, [instance])).toEqual([2]);
  });

  it('are those of each instance while Redis stands still, and no count waits for it', async () => {
    const instances = [await open(url), await open(url)];
    const name = newName();
    server.signal('SIGSTOP');
    try {
      expect(await take(name, instances, 50)).toEqual([...upTo(50), ...upTo(50)].sort((a, b) => a - b));
      expect(reports).toHaveLength(2);
      const begun = performance.now();
      for (let i = 0; i < 50; i++) await take(name, instances);
      // Asked of Redis, they would wait 100 ms each.
      expect(performance.now() - begun).toBeLessThan(2_500);
      expect(reports).toHaveLength(2);
    } finally {
      server.signal('SIGCONT');
    }
    await until(() => reports.length === 4);
    const other = newName();
    expect(await take(other, instances, 50)).toEqual(upTo(100));
  });

  it('are those of each instance while Redis is gone, and shared when it is there again', async () => {
    const instances = [await open(url), await open(url)];
    const name = newName();
    await take(name, instances, 5);
    await server.end('SIGKILL');
    expect(await take(name, instances, 5)).toEqual([...upTo(5), ...upTo(5)].sort((a, b) => a - b));
    const started = await open(url);
    expect(await take(name, [started])).toEqual([1]);
    expect(reports).toHaveLength(3);
    await server.start();
    await until(() => reports.length === 6);
    expect(await take(name, [...instances, started], 5)).toEqual(upTo(15));
  });

  it('are those of each instance if the password or the database is wrong, and neither is told', async () => {
    for (const wrong of [url.replace(PASSWORD, 'hunter3'), url.replace('/3', '/99')]) {
      const instance = await open(wrong);
      expect(await take(newName(), [instance], 2)).toEqual([1, 2]);
      expect(observed.at(-1)).toBe(false);
    }
    // It is tried twice a second.
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    expect(reports).toEqual([expect.stringContaining('(WRONGPASS)'), expect.stringContaining('(ERR)')]);
    expect(await client.exists(`petstore:requests:name ${names}`)).toBe(0);
  });

  it('are looked at by the check, which writes nothing', async () => {
    await client.flushall();
    const redis = redisUrl('RATE_LIMIT_URL', url);
    expect(await inspectCounting({ isUsed: true, redis })).toEqual([
      { name: 'limits', state: 'ok', found: expect.stringMatching(/^Redis \d+\.\d+\.\d+ is reached$/) },
    ]);
    expect(await inspectCounting({ isUsed: false, redis })).toContainEqual(
      expect.objectContaining({ name: 'limits', state: 'warn' }),
    );
    expect(await client.dbsize()).toBe(0);
    await client.config('SET', 'maxmemory', '1');
    expect((await inspectCounting({ isUsed: true, redis })).map(({ state }) => state)).toEqual(['ok', 'fail']);
    await client.config('SET', 'maxmemory', '0');
  });

  it('are none to the check if the password is wrong', async () => {
    const redis = redisUrl('RATE_LIMIT_URL', url.replace(PASSWORD, 'hunter3'));
    const findings = await inspectCounting({ isUsed: true, redis });
    expect(findings).toEqual([
      expect.objectContaining({ name: 'limits', state: 'fail', found: expect.stringContaining('(WRONGPASS)') }),
    ]);
    expect(JSON.stringify(findings)).not.toContain('hunter');
  });
});

describe('counts in what is no Redis', () => {
  let listener: Server | undefined;
  const sockets: Socket[] = [];

  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    listener?.close();
  });

  /** A server that answers each time that something comes, or never. */
  async function listen(answer?: (text: string) => string): Promise<number> {
    listener = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      socket.on('data', (data) => answer && socket.write(answer(data.toString())));
    }).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return (listener.address() as AddressInfo).port;
  }

  it('are those of the instance if nobody listens, and the check says so', async () => {
    const url = `redis://user:${PASSWORD}@127.0.0.1:${await freePort()}`;
    expect(await take('name', [await open(url)], 2)).toEqual([1, 2]);
    expect(reports).toEqual([expect.stringContaining('(ECONNREFUSED)')]);
    const findings = await inspectCounting({ isUsed: true, redis: redisUrl('RATE_LIMIT_URL', url) });
    expect(findings).toEqual([
      expect.objectContaining({ state: 'fail', found: expect.stringContaining('(ECONNREFUSED)') }),
    ]);
    expect(JSON.stringify([reports, findings])).not.toContain(PASSWORD);
  });

  it('are those of the instance if it never answers, and the check does not wait for ever', async () => {
    const url = `redis://127.0.0.1:${await listen()}`;
    expect(await take('name', [await open(url)], 2)).toEqual([1, 2]);
    expect(reports).toHaveLength(1);
    const findings = await inspectCounting({ isUsed: true, redis: redisUrl('RATE_LIMIT_URL', url) });
    expect(findings).toEqual([
      expect.objectContaining({ state: 'fail', found: expect.stringContaining('within 3 s') }),
    ]);
  });

  it('tell nothing of what was sent, which it may repeat', async () => {
    const port = await listen((text) => `-ERR unknown command, with args beginning with: ${JSON.stringify(text)}\r\n`);
    const url = `redis://:${PASSWORD}@127.0.0.1:${port}`;
    expect(await take('name', [await open(url)], 2)).toEqual([1, 2]);
    const findings = await inspectCounting({ isUsed: true, redis: redisUrl('RATE_LIMIT_URL', url) });
    expect(reports).toEqual([expect.stringContaining('(ERR)')]);
    expect(JSON.stringify([reports, findings])).not.toContain(PASSWORD);
  });

  it('are not asked for, and nothing is connected to, if there is no limit', async () => {
    const port = await listen();
    const redis = redisUrl('RATE_LIMIT_URL', `redis://127.0.0.1:${port}`);
    const unused = await openCounts({ isUsed: false, redis }, (message) => reports.push(message));
    counts.push(unused);
    expect(unused.take('requests', 'name')).toMatchObject({ used: 1 });
    expect([sockets, reports]).toEqual([[], []]);
  });
});
