import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { databaseUrl, PersistentUrl } from '../../src/settings/database-url.js';
import { withDataSourceAt } from '../../src/adapters/persistence/typeorm/data-source.js';
import { migrate } from '../../src/adapters/persistence/typeorm/migrate.js';
import { keyText } from '../../src/domain/keys/api-key.js';
import { newPetJson } from '../support/fields.js';
import { KEY, Ledger, pause } from '../support/ledger.js';
import { Proxy } from '../support/proxy.js';
import { newPostgres, TestServer } from '../support/servers.js';
import { Answer, Service } from '../support/service.js';
import { connectTo, Session, withParameter } from '../support/sql.js';
import { mariadb, postgres, TestStore } from '../support/stores.js';
import { rawQuery } from './raw-query.js';

/** Short, so that a test that waits for it is quick. */
const LIMITS = { STATEMENT_TIMEOUT: '600', API_KEYS: 'key-of-the-unavailable-test' };

/** Within what time the service must have given up: 3 s for a connection, the limit above, and some more for a busy machine. In milliseconds. */
const GIVE_UP = 6_000;

/** Within what time the service must answer again once the database does, in milliseconds. */
const RECOVERY = 5_000;

function expectUnavailable(answer: Answer): void {
  const { status, headers, body } = answer;
  expect([status, headers['retry-after']]).toEqual([503, '1']);
  expect(JSON.parse(body)).toMatchObject({ code: 'service_unavailable', status: 503 });
}

/** Repeats a request until it is 200. */
async function expectRecovery(service: Service): Promise<void> {
  const start = performance.now();
  while ((await service.send('/v1/pets')).status !== 200) expect(performance.now() - start).toBeLessThan(RECOVERY);
}

describe.each([postgres, mariadb])('while $name cannot be used', (kind) => {
  let store: TestStore;
  let proxy: Proxy;
  let service: Service;

  beforeEach(async () => {
    store = await kind.create();
    const [opened, url] = await Proxy.to(store.url);
    proxy = opened;
    service = await Service.start({ DATABASE_URL: url, ...LIMITS });
  });

  afterEach(async () => {
    // Else to stop waits for the connections that hang.
    proxy.cut();
    await service.stop();
    await proxy.close();
    await store.remove();
  });

  /** Sends each kind of request, several times at once; the last with a key that only the database can know. */
  const sendAll = (): Promise<Answer[]> => {
    const stored = { Authorization: `Bearer ${keyText('a'.repeat(30))}` };
    const requests = Array.from({ length: 8 }, (_, i) => [
      service.send('/v1/pets?status=sold'),
      service.send('/v1/pets/1'),
      service.add(newPetJson()),
      service.add(newPetJson(), { 'Idempotency-Key': `key-${i}` }),
      service.send('/v1/pets', { key: false, headers: stored }),
    ]);
    return Promise.all(requests.flat());
  };

  it('every request is 503, never 401, if connections are refused', async () => {
    await proxy.close();
    const [ready, answers] = await Promise.all([service.send('/health/ready'), sendAll()]);
    for (const answer of answers) expectUnavailable(answer);
    expect(ready.status).toBe(503);
    expect((await service.send('/health/live')).status).toBe(200);
  });

  it('every request is 503 in time if it hangs, and 200 again though the old connections never end', async () => {
    await Promise.all(Array.from({ length: 20 }, () => service.send('/v1/pets')));
    proxy.hang();
    const start = performance.now();
    for (const answer of await sendAll()) expectUnavailable(answer);
    expect(performance.now() - start).toBeLessThan(GIVE_UP);
    proxy.forwardNew();
    await expectRecovery(service);
    expect((await service.add(newPetJson())).status).toBe(201);
  });

  it('a create waits until its deadline for a server that refuses connections, or is slow to accept one', async () => {
    await service.stop();
    const url = withParameter(service.url, 'connect_timeout', 1);
    service = await Service.start({ DATABASE_URL: url, ...LIMITS, STATEMENT_TIMEOUT: '5000' });
    proxy.refuse();
    // Until the service has noticed that its connections have ended.
    await pause(100);
    const refused = service.add(newPetJson());
    await pause(300);
    proxy.resume();
    expect((await refused).status).toBe(201);
    proxy.refuse();
    await pause(100);
    proxy.resume();
    proxy.hang();
    const slow = service.add(newPetJson());
    // Longer than one attempt to connect may take.
    await pause(1_100);
    proxy.forwardNew();
    expect((await slow).status).toBe(201);
  });

  it('every request is 503 while it has no tables, and served again once they exist', async () => {
    expect((await service.add(newPetJson())).status).toBe(201);
    await rawQuery(store.url, 'DROP TABLE pet, api_key, key_use, migrations');
    for (const answer of await sendAll()) expectUnavailable(answer);
    await withDataSourceAt(databaseUrl('DATABASE_URL', store.url) as PersistentUrl, migrate);
    await expectRecovery(service);
    expect(JSON.parse((await service.add(newPetJson())).body)).toMatchObject({ id: 1 });
  });

  it('an add whose commit was not answered is 503, and with an idempotency key a retry gets its pet', async () => {
    const headers = { 'Idempotency-Key': 'lost' };
    const body = newPetJson({ name: '"lost"' });
    // So that the statements are prepared, and the add is what contains the name.
    await service.add(newPetJson(), { 'Idempotency-Key': 'before' });
    const lost = proxy.loseAnswerTo('lost');
    const adding = service.add(body, headers);
    await lost;
    expectUnavailable(await adding);
    await expectRecovery(service);
    expect((await service.add(body, headers)).status).toBe(201);
    expect((await service.add(body, headers)).headers['idempotent-replayed']).toBe('true');
    const pets = JSON.parse((await service.send('/v1/pets')).body) as { name: string }[];
    expect(pets.filter(({ name }) => name === 'lost')).toHaveLength(1);
  });
});

describe('a PostgreSQL server of its own', () => {
  let server: TestServer;
  let services: Service[] = [];

  beforeAll(async () => {
    server = (await newPostgres('max_connections=6', 'superuser_reserved_connections=0', 'shared_buffers=16MB'))!;
  });

  afterEach(async () => {
    for (const service of services) await service.stop();
    services = [];
  });

  afterAll(() => server.remove());

  const url = () => `postgres://postgres@127.0.0.1:${server.port}/postgres?pool=5`;

  async function start(more: Record<string, string> = {}): Promise<Service> {
    const service = await Service.start({ DATABASE_URL: url(), ...LIMITS, ...more });
    services.push(service);
    return service;
  }

  it('may start after the service', async () => {
    const service = await start();
    expectUnavailable(await service.send('/v1/pets'));
    await server.start();
    await expectRecovery(service);
    expect((await service.add(newPetJson())).status).toBe(201);
  });

  it('may have no connection left for a while', async () => {
    const sessions: Session[] = [];
    for (let i = 0; i < 6; i++) sessions.push(await connectTo(url()));
    const service = await start();
    expectUnavailable(await service.send('/v1/pets'));
    for (const session of sessions) await session.end();
    await expectRecovery(service);
  });

  it('may crash under load: every response is right or 503, and nothing that was acknowledged is lost', async () => {
    const service = await start({ STATEMENT_TIMEOUT: '2000', API_KEYS: KEY });
    // The ledger must know every pet.
    await rawQuery(url(), 'DELETE FROM pet');
    const ledger = new Ledger([service.port], [503, 409]);
    ledger.start(12);
    // A crash between two creates fails none: what has not been sent waits for the server.
    for (let crashes = 0; crashes < 2 || !ledger.responses.has('POST 503'); crashes++) {
      const enough = ledger.created + 50;
      while (ledger.created < enough) await pause(1);
      await server.end(crashes % 2 === 0 ? 'SIGKILL' : 'SIGINT');
      await server.start();
      await expectRecovery(service);
    }
    await ledger.stop();
    await ledger.check();
    expect(ledger.problems).toEqual([]);
    expect([...ledger.responses.keys()]).toEqual(expect.arrayContaining(['GET 200', 'POST 201', 'POST 503']));
  });
});
