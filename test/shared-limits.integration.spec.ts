import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { KEY_RANDOM_LENGTH, keyText } from '../src/domain/keys/api-key.js';
import { Connection } from './support/connection.js';
import { freshFolder } from './support/fresh-folder.js';
import { newRedis, redisProgram, TestServer } from './support/servers.js';
import { RunningService } from './support/working-folder.js';

// Each service is a process of its own, or three.
jest.setTimeout(120_000);

const KEYS = Array.from({ length: 8 }, (_, i) => `key-${i}-of-the-test-of-limits`);
const [KEY] = KEYS as [string];

const PRODUCTION = { NODE_ENV: 'production', API_KEYS: KEYS.join() };

const LIMIT = 20;

/** Within what time something must come about, in milliseconds. */
const PATIENCE = 30_000;

/** How long a request may take while Redis is out of reach, in milliseconds: it waits 100 for it, and the rest is what a busy machine adds. */
const BOUND = 2_000;

const folder = freshFolder();

/** The service in a process of its own, or three. */
async function serve(variables: Record<string, string>): Promise<RunningService> {
  return folder().serve({ ...PRODUCTION, ...variables });
}

const portOf = (service: RunningService) => Number(new URL(service.address).port);

const get = (key: string) => `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** The answers to so many requests at once, each on a connection of its own, to these services in turn. */
function ask(services: readonly RunningService[], key: string, times: number) {
  const ports = services.map(portOf);
  return Promise.all(
    Array.from({ length: times }, (_, i) => Connection.ask(ports[i % ports.length] as number, get(key))),
  );
}

const count = (answers: readonly { readonly status: number }[], status: number) =>
  answers.filter((answer) => answer.status === status).length;

/** The answers to these requests, written at once to a connection of each service. */
async function write(services: readonly RunningService[], requests: string[]) {
  const answers = services.map(async (service) => {
    const connection = await Connection.open(portOf(service));
    connection.write(Buffer.from(requests.join(''), 'latin1'));
    const all = [];
    while (all.length < requests.length) all.push(await connection.answer());
    connection.destroy();
    return all;
  });
  return (await Promise.all(answers)).flat();
}

let guesses = 0;
/** A key that has the form of an issued one, so that only the store can tell that there is none. */
const guess = () => get(keyText(String(++guesses).padStart(KEY_RANDOM_LENGTH, '0')));

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`It did not come about: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const timesIn = (services: readonly RunningService[], line: string) =>
  services.reduce((sum, { log }) => sum + log.split(line).length - 1, 0);

/** How often these said that they count for themselves, and that limits are shared again. */
const alone = (services: readonly RunningService[]) => timesIn(services, 'counts for itself');
const sharedAgain = (services: readonly RunningService[]) => timesIn(services, 'limits are shared.');

describe('without Redis', () => {
  it('the workers of an instance let as many requests through as one, and tell the count of all', async () => {
    const service = await serve({ WEB_CONCURRENCY: '2', RATE_LIMIT: String(LIMIT) });
    const answers = await ask([service], KEY, 3 * LIMIT);
    expect(count(answers, 200)).toBe(LIMIT);
    expect(count(answers, 429)).toBe(2 * LIMIT);
    const left = answers
      .filter(({ status }) => status === 200)
      .map((each) => /r=(\d+)/.exec(each.header('RateLimit') ?? '')?.[1]);
    expect(left.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: LIMIT }, (_, i) => i));
    // What a worker has counted does not go with it.
    process.kill(service.workers[0] as number, 'SIGKILL');
    await until(() => service.log.includes('is replaced'));
    expect(count(await ask([service], KEY, 6), 429)).toBe(6);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('a worker whose primary stands still counts for itself, and is told apart in the log', async () => {
    const service = await serve({ WEB_CONCURRENCY: '2', RATE_LIMIT: String(LIMIT) });
    // A connection belongs to a worker for good.
    const connection = await Connection.open(portOf(service));
    const next = async () => {
      connection.write(Buffer.from(get(KEY), 'latin1'));
      return (await connection.answer()).status;
    };
    expect(await next()).toBe(200);
    process.kill(service.pid, 'SIGSTOP');
    try {
      for (let i = 0; i < LIMIT; i++) expect(await next()).toBe(200);
      expect(await next()).toBe(429);
    } finally {
      process.kill(service.pid, 'SIGCONT');
    }
    await until(() => sharedAgain([service]) > 0);
    expect(await next()).toBe(200);
    expect(timesIn([service], 'this worker counts for itself')).toBe(1);
    connection.destroy();
  });

  it('a worker whose primary is gone answers all that it has, and stops', async () => {
    const service = await serve({
      WEB_CONCURRENCY: '2',
      RATE_LIMIT: '1000',
      STOP_LINGER: '1500',
      STOP_TIMEOUT: '5000',
    });
    const connection = await Connection.open(portOf(service));
    connection.write(Buffer.from(get(KEY), 'latin1'));
    expect((await connection.answer()).status).toBe(200);
    process.kill(service.pid, 'SIGKILL');
    connection.write(Buffer.from(get(KEY), 'latin1'));
    expect((await connection.answer()).status).toBe(200);
    connection.destroy();
  });
});

(redisProgram() ? describe : describe.skip)('with Redis', () => {
  let redis: TestServer;
  let url: string;

  beforeAll(async () => {
    redis = (await newRedis()) as TestServer;
    await redis.start();
    url = `redis://127.0.0.1:${redis.port}`;
  });

  afterAll(() => redis.remove());

  /** Two instances, the second one by two workers. */
  const instances = (variables: Record<string, string>) =>
    Promise.all([
      serve({ DATABASE_URL: 'memory:', RATE_LIMIT_URL: url, ...variables }),
      serve({ WEB_CONCURRENCY: '2', RATE_LIMIT_URL: url, ...variables }),
    ]);

  /** Expects exactly this of a run; one during which the machine was so busy that Redis did not answer in time is repeated with another key. */
  async function exactly(services: readonly RunningService[], run: (key: string) => Promise<number>, expected: number) {
    for (const key of KEYS.slice(1)) {
      await until(() => alone(services) === sharedAgain(services));
      const before = alone(services);
      const result = await run(key);
      if (alone(services) > before) continue;
      expect(result).toBe(expected);
      return;
    }
    throw new Error(`Redis was never in time: ${services.map(({ log }) => log).join('\n')}`);
  }

  it('two instances, one of them with two workers, let as many requests through as one', async () => {
    const services = await instances({ RATE_LIMIT: String(LIMIT) });
    await exactly(services, async (key) => count(await ask(services, key, 3 * LIMIT), 200), LIMIT);
  });

  it('five of 500 guesses are looked at, of 250 in one write to each of two instances', async () => {
    const services = await instances({ AUTH_FAILURE_LIMIT: '5' });
    const client = new Redis(url);
    const run = async () => {
      await client.flushall();
      const answers = await write(services, Array.from({ length: 250 }, guess));
      expect(count(answers, 401) + count(answers, 429)).toBe(500);
      return count(answers, 401);
    };
    await exactly(services, run, 5);
    // Also with as many connections, to whichever worker.
    const runOnMany = async () => {
      await client.flushall();
      const ports = services.map(portOf);
      const asked = Array.from({ length: 100 }, (_, i) => Connection.ask(ports[i % 2] as number, guess()));
      return count(await Promise.all(asked), 401);
    };
    await exactly(services, runOnMany, 5);
    client.disconnect();
  });

  it('no key that is right is refused for those that are looked at beside it', async () => {
    const client = new Redis(url);
    await client.flushall();
    client.disconnect();
    const services = await instances({ AUTH_FAILURE_LIMIT: '1' });
    for (const key of KEYS) {
      const answers = await ask(services, key, 30);
      expect(count(answers, 200)).toBe(30);
    }
  });

  it('no request fails or waits while Redis stands still, is killed and starts, and then limits are exact again', async () => {
    const services = await instances({ RATE_LIMIT: String(LIMIT) });
    let isOver = false;
    let slowest = 0;
    const statuses = new Set<number>();
    const client = async (service: RunningService) => {
      const connection = await Connection.open(portOf(service));
      while (!isOver) {
        const begun = performance.now();
        connection.write(Buffer.from(get(KEY), 'latin1'));
        statuses.add((await connection.answer()).status);
        slowest = Math.max(slowest, performance.now() - begun);
      }
      connection.destroy();
    };
    const load = Promise.all([...services, ...services, ...services, ...services].map(client));
    const pause = () => new Promise((resolve) => setTimeout(resolve, 700));
    await pause();
    redis.signal('SIGSTOP');
    await pause();
    redis.signal('SIGCONT');
    await pause();
    await redis.end('SIGKILL');
    await pause();
    await redis.start();
    await pause();
    isOver = true;
    await load;
    expect([...statuses].filter((status) => status !== 200 && status !== 429)).toEqual([]);
    expect(slowest).toBeLessThan(BOUND);
    expect(alone(services)).toBeGreaterThanOrEqual(2);
    await exactly(services, async (key) => count(await ask(services, key, 3 * LIMIT), 200), LIMIT);
  });

  it('an instance starts while Redis is away, and shares once it is there', async () => {
    await redis.end('SIGKILL');
    let services: RunningService[];
    try {
      services = await instances({ RATE_LIMIT: String(LIMIT) });
      expect(count(await ask(services, KEY, 2 * LIMIT), 200)).toBe(2 * LIMIT);
      expect(timesIn(services, 'ECONNREFUSED')).toBe(3);
    } finally {
      await redis.start();
    }
    await until(() => sharedAgain(services) >= 3);
    await exactly(services, async (key) => count(await ask(services, key, 3 * LIMIT), 200), LIMIT);
  });
});

describe('a RATE_LIMIT_URL that is none', () => {
  it('stops the start with one line, which names it and has nothing of it', async () => {
    const { code, err } = await folder().run(['serve'], { RATE_LIMIT_URL: 'redis://:hunter2@127.0.0.1:6379/pets' });
    expect(code).toBe(1);
    expect(err).toMatch(/^RATE_LIMIT_URL must be redis:\/\/[^\n]+\n$/);
    expect(err).not.toContain('hunter2');
  });
});
