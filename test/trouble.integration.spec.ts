import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { keyText } from '../src/domain/keys/api-key.js';
import { Proxy } from './support/proxy.js';
import { Answer, Service } from './support/service.js';
import { newPostgres, TestServer } from './support/servers.js';
import { describeOnServers, itIfHas } from './support/on-servers.js';
import { TestStore } from './support/stores.js';

const KEY = 'key-of-the-trouble-test';

/** Short limits, so that a test that waits for both of them is quick. */
const LIMITS = { POOL_TIMEOUT: '400', STATEMENT_TIMEOUT: '600', API_KEYS: KEY };

/** Within what time the service must have given up, whatever the database does: both limits, and something for a busy machine. */
const PATIENCE = 4_000;

/** Within what time the service must answer again once the database does. */
const RECOVERY = 5_000;

const bella = { name: 'Bella', categoryId: 1 };

function expectUnavailable(answer: Answer): void {
  expect({ status: answer.status, retryAfter: answer.headers['retry-after'] }).toEqual({
    status: 503,
    retryAfter: '1',
  });
  expect(JSON.parse(answer.body)).toMatchObject({ code: 'service_unavailable', status: 503 });
}

/** Asks until the answer is 200, and tells how long that took. */
async function recovery(service: Service): Promise<number> {
  const start = performance.now();
  while ((await service.send('/v1/pets')).status !== 200 && performance.now() - start < 2 * RECOVERY);
  return performance.now() - start;
}

describeOnServers('a $name that cannot be reached', (kind) => {
  let store: TestStore;
  let proxy: Proxy;
  let service: Service;

  beforeEach(async () => {
    store = await kind.create();
    let url: string;
    [proxy, url] = await Proxy.to(store.url);
    service = await Service.start({ DATABASE_URL: url, ...LIMITS });
  });

  afterEach(async () => {
    await service.stop();
    await proxy.close();
    await store.remove();
  });

  /** Asks for one thing of each kind, several times at once; the last with a key that only the database knows. */
  const askAll = async (): Promise<Answer[]> => {
    const issued = { Authorization: `Bearer ${keyText('a'.repeat(30))}` };
    return Promise.all(
      Array.from({ length: 12 }, (_, i) => [
        service.send('/v1/pets?status=sold'),
        service.send('/v1/pets/1'),
        service.add(bella),
        service.add(bella, { 'Idempotency-Key': `key-${i}` }),
        service.send('/v1/pets', { key: false, headers: issued }),
      ]).flat(),
    );
  };

  itIfHas(kind, 'a way in between')(
    'is answered by 503 within the limits if it hangs, and serves again if the old connections are lost for good',
    async () => {
      await Promise.all(Array.from({ length: 20 }, () => service.send('/v1/pets')));
      proxy.hang();
      const start = performance.now();
      const answers = await askAll();
      expect(performance.now() - start).toBeLessThan(PATIENCE);
      for (const answer of answers) expectUnavailable(answer);
      proxy.forwardNew();
      expect(await recovery(service)).toBeLessThan(RECOVERY);
      expect((await service.add(bella)).status).toBe(201);
    },
  );

  itIfHas(kind, 'a way in between')(
    'is asked once more for a commit whose answer was lost, if that can add no second pet; else that is answered by 503',
    async () => {
      for (const [name, headers] of [
        ['with a key', { 'Idempotency-Key': 'lost' }],
        ['without', {}],
      ] as const) {
        await service.add({ ...bella, name: 'before' }, { 'Idempotency-Key': `before ${name}` });
        // MariaDB needs one answer more to come to the commit; what it was not told, it has not done.
        const lost = proxy.loseAnswerTo(name);
        const adding = service.add({ ...bella, name }, headers);
        await lost;
        const answer = await adding;
        if (name === 'without') expectUnavailable(answer);
        else {
          expect(answer.status).toBe(201);
          const again = await service.add({ ...bella, name }, headers);
          expect([again.status, again.body, again.headers['idempotent-replayed']]).toEqual([201, answer.body, 'true']);
        }
        expect(await recovery(service)).toBeLessThan(RECOVERY);
      }
      const listed = JSON.parse((await service.send('/v1/pets')).body) as { name: string }[];
      expect(listed.filter(({ name }) => name === 'with a key')).toHaveLength(1);
    },
  );

  itIfHas(kind, 'a way in between')('is answered by 503 or asked again if it sends what nobody can read', async () => {
    const nonsense = [
      // Rows of PostgreSQL that end before their fields do, or have a length below zero.
      Buffer.from('D\0\0\0\x06\0\x05', 'latin1'),
      Buffer.from('D\0\0\0\x0a\0\x01\xff\xff\xff\xf0', 'latin1'),
      // Packets of MariaDB out of their order, and one that is cut.
      Buffer.from('\x01\0\0\x09\xff', 'latin1'),
      Buffer.from('\x05\0\0\x01\x05def\0', 'latin1'),
      Buffer.alloc(200, 0xff),
    ];
    for (const bytes of nonsense) {
      proxy.answerNext(bytes);
      const { status } = await service.send('/v1/pets?status=sold');
      expect([200, 500, 503]).toContain(status);
      expect(await recovery(service)).toBeLessThan(RECOVERY);
    }
    expect((await service.add(bella)).status).toBe(201);
  });

  itIfHas(kind, 'a way in between')('is answered by 503 if it refuses, and never by 401', async () => {
    await proxy.close();
    for (const answer of await askAll()) expectUnavailable(answer);
  });
});

describe('a PostgreSQL of the test’s own', () => {
  let server: TestServer | undefined;
  let services: Service[] = [];

  beforeAll(async () => {
    server = await newPostgres('max_connections=6', 'superuser_reserved_connections=0', 'shared_buffers=16MB');
  }, 60_000);

  afterEach(async () => {
    for (const service of services) await service.stop();
    services = [];
  });

  afterAll(() => server?.remove());

  const start = async (more: Record<string, string> = {}): Promise<Service> => {
    const url = `postgres://postgres@127.0.0.1:${server?.port}/postgres?pool=5`;
    const service = await Service.start({ DATABASE_URL: url, ...LIMITS, ...more });
    services.push(service);
    return service;
  };

  it('that is not there yet lets the service listen and answer 503, and go on by itself when it comes', async () => {
    const service = await start({ METRICS_PORT: '0' });
    expectUnavailable(await service.send('/v1/pets'));
    await server?.start();
    expect(await recovery(service)).toBeLessThan(RECOVERY);
    expect((await service.add(bella)).status).toBe(201);
  });

  it('that has no connection left is answered by 503, and by 200 when it has', async () => {
    const taken = Array.from(
      { length: 6 },
      () => new pg.Client(`postgres://postgres@127.0.0.1:${server?.port}/postgres`),
    );
    for (const client of taken) client.on('error', () => undefined);
    for (const client of taken) await client.connect();
    const service = await start();
    expectUnavailable(await service.send('/v1/pets'));
    for (const client of taken) await client.end();
    expect(await recovery(service)).toBeLessThan(RECOVERY);
  });

  it('that is killed and started again under load gives 201, 200 and 503 alone, and has every pet of a 201', async () => {
    const service = await start({ POOL_TIMEOUT: '2000', STATEMENT_TIMEOUT: '2000' });
    const statuses = new Set<number>();
    const acknowledged = new Map<string, string>();
    let loading = true;
    const writer = async (number: number) => {
      for (let i = 0; loading; i++) {
        const name = `${number}-${i}`;
        const headers: Record<string, string> = i % 2 === 0 ? {} : { 'Idempotency-Key': name };
        const added = await service.add({ name, categoryId: i }, headers);
        statuses.add(added.status);
        if (added.status === 201) acknowledged.set(name, added.body);
        else await new Promise((resolve) => setTimeout(resolve, 20));
        statuses.add((await service.send('/v1/pets?limit=5')).status);
      }
    };
    const writers = Array.from({ length: 12 }, (_, number) => writer(number));
    for (let round = 0; round < 3; round++) {
      const before = acknowledged.size;
      while (acknowledged.size < before + 100) await new Promise((resolve) => setImmediate(resolve));
      await server?.end(round === 2 ? 'SIGINT' : 'SIGKILL');
      expectUnavailable(await service.add(bella));
      await server?.start();
      expect(await recovery(service)).toBeLessThan(RECOVERY);
    }
    loading = false;
    await Promise.all(writers);
    expect([...statuses].sort()).toEqual([200, 201, 503]);
    for (const body of acknowledged.values()) {
      const { id } = JSON.parse(body) as { id: number };
      expect((await service.send(`/v1/pets/${id}`)).body).toBe(body);
    }
  }, 60_000);
});
