import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { KEY_RANDOM_LENGTH, keyText } from '../../src/domain/keys/api-key.js';
import { Connection } from '../support/connection.js';
import { freshFolder } from '../support/fresh-folder.js';
import { freePort, newRedis, TestServer } from '../support/servers.js';
import { RunningService, until } from '../support/working-folder.js';

const KEYS = Array.from({ length: 8 }, (_, i) => `key-${i}-of-the-limits-test`);
const [KEY] = KEYS as [string];
const PASSWORD = 'hunter2';
const LIMIT = 20;

const folder = freshFolder();

const serve = (variables: Record<string, string>): Promise<RunningService> =>
  folder().serve({ NODE_ENV: 'production', API_KEYS: KEYS.join(), ...variables });

const get = (key: string) => `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** The statuses of so many requests at once, each on a connection of its own, to these services in turn. */
async function statuses(
  services: readonly RunningService[],
  count: number,
  key: (index: number) => string,
): Promise<number[]> {
  const ports = services.map(({ port }) => port);
  const answers = Array.from({ length: count }, (_, i) =>
    Connection.ask(ports[i % ports.length] as number, get(key(i))),
  );
  return (await Promise.all(answers)).map(({ status }) => status);
}

const count = (all: readonly number[], status: number) => all.filter((each) => each === status).length;

/** A key of the form of an issued one, so that only the database can tell that there is none. */
const guess = (index: number) => keyText(String(index).padStart(KEY_RANDOM_LENGTH, '0'));

const warnings = (services: readonly RunningService[]) =>
  services.flatMap(({ lines }) => lines.filter(({ level }) => level === 'warn')).length;

const recoveries = (services: readonly RunningService[]) =>
  services.flatMap(({ lines }) => lines.filter(({ msg }) => String(msg).includes('is available again'))).length;

describe('limits of several workers', () => {
  it('are those of one, whichever worker answers', async () => {
    const service = await serve({ WEB_CONCURRENCY: '2', RATE_LIMIT: String(LIMIT), AUTH_FAILURE_LIMIT: '5' });
    const all = await statuses([service], 3 * LIMIT, () => KEY);
    expect([count(all, 200), count(all, 429)]).toEqual([LIMIT, 2 * LIMIT]);
    const guesses = await statuses([service], 50, guess);
    expect([count(guesses, 401), count(guesses, 429)]).toEqual([5, 45]);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('outlast a worker that crashes', async () => {
    const service = await serve({ WEB_CONCURRENCY: '2', RATE_LIMIT: String(LIMIT) });
    await statuses([service], LIMIT, () => KEY);
    const [worker] = service.workers as [number];
    process.kill(worker, 'SIGKILL');
    await until(() => service.workers.length === 2 && !service.workers.includes(worker));
    expect(await statuses([service], 6, () => KEY)).toEqual(Array<number>(6).fill(429));
  });
});

it('the filter of docs/security.md finds the address of each wrong key, and nothing else, for fail2ban', async () => {
  const variables = { AUTH_FAILURE_LIMIT: '2', RATE_LIMIT: '3', TRUSTED_PROXIES: 'loopback' };
  const service = await serve({ ...variables, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
  const send = async (address: string, authorization: string, target = '/v1/pets') => {
    const headers = { 'X-Forwarded-For': address, ...(authorization && { Authorization: authorization }) };
    return (await fetch(new URL(target, service.address), { headers })).status;
  };
  for (let i = 0; i < 4; i++) {
    // Two wrong keys, and two guesses behind the limit.
    expect(await send('192.0.2.1', 'Bearer guess')).toBe(i < 2 ? 401 : 429);
    expect(await send('192.0.2.2', '', '/favicon.ico')).toBe(401);
    expect(await send('192.0.2.3', 'Basic guess')).toBe(401);
    expect(await send('192.0.2.4', `Bearer ${KEY}`)).toBe(i < 3 ? 200 : 429);
  }
  expect(await send('2001:db8::5', 'Bearer guess', '/%22,%22code%22:%22')).toBe(401);
  expect(await send('192.0.2.6', 'Bearer guess', '/","code":"api_key_invalid","address":"192.0.2.7","ms":1,"')).toBe(
    401,
  );
  const begun = Date.now();
  await service.end('SIGTERM');
  const [log, filter] = ['log', 'petstore.conf'].map((name) => join(folder().path, name)) as [string, string];
  writeFileSync(log, service.log);
  writeFileSync(
    filter,
    /^```ini\n(\[Definition\][^]*?)^```$/m.exec(readFileSync('docs/security.md', 'utf8'))?.[1] ?? '',
  );
  const found = execFileSync('fail2ban-regex', ['-o', '<ip> <time>', log, filter], { encoding: 'utf8' });
  const hits = found
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
  expect(hits.map(([address]) => address)).toEqual([
    ...Array<string>(4).fill('192.0.2.1'),
    '2001:db8::/64',
    '192.0.2.6',
  ]);
  // Whatever the time zone of the machine is.
  for (const [, time] of hits) expect(Math.abs(Number(time) * 1_000 - begun)).toBeLessThan(60_000);
});

describe('limits in Redis', () => {
  let redis: TestServer;
  let url: string;
  let client: Redis;

  beforeAll(async () => {
    redis = (await newRedis('--requirepass', PASSWORD)) as TestServer;
    await redis.start();
    url = `redis://:${PASSWORD}@127.0.0.1:${redis.port}/3`;
    client = new Redis(url, { maxRetriesPerRequest: null });
    client.on('error', () => undefined);
  });

  afterAll(async () => {
    client.disconnect();
    await redis.remove();
  });

  beforeEach(() => client.flushall());

  /** Two instances, the second one of two workers. */
  const instances = (variables: Record<string, string>) =>
    Promise.all([
      serve({ DATABASE_URL: 'memory:', RATE_LIMIT_URL: url, ...variables }),
      serve({ WEB_CONCURRENCY: '2', RATE_LIMIT_URL: url, ...variables }),
    ]);

  /**
   * Waits until the instances share the limits: each time with another key they let no more requests through than one.
   * What Redis does not answer in time, on a busy machine too, each process counts for itself.
   */
  async function untilShared(services: readonly RunningService[]): Promise<void> {
    let run = 0;
    await until(async () => {
      await client.flushall();
      const key = KEYS[run++ % KEYS.length] as string;
      return count(await statuses(services, 3 * LIMIT, () => key), 200) === LIMIT;
    });
  }

  it('are those of all instances together', async () => {
    const services = await instances({ RATE_LIMIT: String(LIMIT), AUTH_FAILURE_LIMIT: '5' });
    await untilShared(services);
    await until(async () => {
      await client.flushall();
      return count(await statuses(services, 100, guess), 401) === 5;
    });
    await statuses(services, 1, () => KEY);
    // Every count ends with its minute.
    for (const name of await client.keys('*')) {
      const left = await client.pttl(name);
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(60_000);
      for (const key of KEYS) expect(name).not.toContain(key);
    }
  });

  it('fail no request while Redis hangs or is away, and are shared again after', async () => {
    const services = await instances({ RATE_LIMIT: String(LIMIT) });
    await untilShared(services);
    for (const [disturb, recover] of [
      [() => Promise.resolve(redis.signal('SIGSTOP')), () => Promise.resolve(redis.signal('SIGCONT'))],
      [() => redis.end('SIGKILL'), () => redis.start()],
    ] as const) {
      const [before, recovered] = [warnings(services), recoveries(services)];
      await disturb();
      const all = await statuses(services, 4 * LIMIT, () => KEY);
      expect(count(all, 200) + count(all, 429)).toBe(4 * LIMIT);
      await until(() => warnings(services) > before);
      await recover();
      await until(async () => {
        await statuses(services, 4, () => KEY);
        return recoveries(services) > recovered;
      });
      await untilShared(services);
    }
    for (const { log } of services) expect(log).not.toContain(PASSWORD);
  });

  it('are those of the instance while Redis answers with errors', async () => {
    const service = await serve({ RATE_LIMIT: '2', AUTH_FAILURE_LIMIT: '9', RATE_LIMIT_URL: url });
    await client.config('SET', 'maxmemory', '1');
    try {
      const all = await statuses([service], 6, () => KEY);
      expect([count(all, 200), count(all, 429)]).toEqual([2, 4]);
    } finally {
      await client.config('SET', 'maxmemory', '0');
    }
    await until(async () => {
      await statuses([service], 1, () => KEY);
      return (await client.dbsize()) === 1;
    });
  });

  it('are those of the instance while Redis loads its data, which does not prevent the start', async () => {
    const loading = createServer((socket) => {
      socket.on('data', () => socket.write('$9\r\nloading:1\r\n')).on('error', () => undefined);
    });
    await once(loading.listen(0, '127.0.0.1'), 'listening');
    const { port } = loading.address() as AddressInfo;
    const service = await serve({ RATE_LIMIT: '2', RATE_LIMIT_URL: `redis://127.0.0.1:${port}` });
    expect(count(await statuses([service], 6, () => KEY), 429)).toBe(4);
    await until(() => warnings([service]) === 1);
    await service.end('SIGTERM');
    loading.close();
  });

  it.each([
    ['away', 'ECONNREFUSED', () => freePort().then((port) => `redis://:${PASSWORD}@127.0.0.1:${port}`)],
    ['given with another password', 'WRONGPASS', () => Promise.resolve(url.replace(PASSWORD, 'hunter3'))],
  ])('are those of the instance if Redis is %s, which the log says', async (_how, reason, otherUrl) => {
    const service = await serve({ RATE_LIMIT: '2', RATE_LIMIT_URL: await otherUrl() });
    const all = await statuses([service], 6, () => KEY);
    expect([count(all, 200), count(all, 429)]).toEqual([2, 4]);
    await until(() => warnings([service]) > 0);
    expect(service.log).toContain(`is not available (${reason}): limits are not shared.`);
    expect(service.log).not.toContain('hunter');
    expect(await client.dbsize()).toBe(0);
  });

  it('are known to petstore check, which says why Redis rejects a count', async () => {
    await client.acl('SETUSER', 'reader', 'on', `>${PASSWORD}`, '~*', '+@read', '+info', '+select');
    const server = `127.0.0.1:${redis.port}`;
    for (const [RATE_LIMIT_URL, found] of [
      [url, /^ok +Redis +Redis at redis:/m],
      [
        `redis://127.0.0.1:${await freePort()}`,
        /^warn +Redis +Redis at redis:.* is not available \(ECONNREFUSED\)\. /m,
      ],
      [`redis://${server}`, /not available \(NOAUTH\)/],
      [`redis://:hunter3@${server}`, /not available \(WRONGPASS\)/],
      [`redis://reader:${PASSWORD}@${server}`, /not available \(NOPERM\)/],
    ] as const) {
      const { code, out } = await folder().run(['check', '--verbose'], { DATABASE_URL: 'memory:', RATE_LIMIT_URL });
      expect([code, out]).toEqual([0, expect.stringMatching(found)]);
      expect(out).not.toMatch(new RegExp(`hunter3|${PASSWORD}`));
    }
  });
});
