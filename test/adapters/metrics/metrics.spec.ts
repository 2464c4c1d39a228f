import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Metrics } from '../../../src/adapters/metrics/metrics.js';
import { describeOnServers, itIfHas } from '../../support/on-servers.js';
import { Proxy } from '../../support/proxy.js';
import { freePort, newRedis } from '../../support/servers.js';
import { Service } from '../../support/service.js';
import { lastingKinds, TestStore } from '../../support/stores.js';
import packageJson from '../../../package.json' with { type: 'json' };

describe.each(lastingKinds)('the metrics on $name', (kind) => {
  let store: TestStore;
  let service: Service;
  let address: string;

  beforeAll(async () => {
    store = await kind.create();
    service = await Service.start({ DATABASE_URL: store.url, METRICS_PORT: '0' });
    address = `http://127.0.0.1:${service.app.get<Metrics>('Metrics').port}`;
  });

  afterAll(async () => {
    await service.stop();
    await store.remove();
  });

  const read = async () => (await fetch(`${address}/metrics`)).text();

  it('count requests by operation and status, and the time they took', async () => {
    await service.add({ name: 'Bella', categoryId: 1 });
    await service.send('/v1/pets');
    await service.send('/v1/pets', { method: 'HEAD' });
    await service.send('/v1/pets', { key: false });
    await service.send('/v1/pets/1');
    await service.send('/v1/pets/2');
    await service.send('/v1/pets', { method: 'DELETE' });
    await service.send('/docs', { key: false });
    await service.raw('NONSENSE\r\n\r\n');
    const text = await read();
    for (const [operation, status, count] of [
      ['createPet', 201, 1],
      ['listPets', 200, 2],
      ['listPets', 401, 1],
      ['getPet', 200, 1],
      ['getPet', 404, 1],
      ['other', 405, 1],
      ['other', 200, 1],
      ['other', 400, 1],
    ]) {
      const labels = `operation="${operation}",status="${status}"`;
      expect(text).toContain(`petstore_request_duration_seconds_count{${labels}} ${count}\n`);
      expect(text).toContain(`petstore_request_duration_seconds_bucket{le="+Inf",${labels}} ${count}\n`);
    }
    expect(text).toMatch(/petstore_request_duration_seconds_sum\{operation="createPet",status="201"\} 0\.\d+/);
  });

  it('count the calls of getPet by the name of the key', async () => {
    expect(await read()).toContain('petstore_deprecated_calls_total{operation="getPet",key="test"} 2\n');
  });

  it('tell the time of the database and how many pets share a commit', async () => {
    const before = Number(/petstore_commit_animals_sum (\d+)/.exec(await read())?.[1]);
    await Promise.all(Array.from({ length: 20 }, (_, i) => service.add({ name: 'Bella', categoryId: i })));
    const text = await read();
    expect(text).toContain(`petstore_commit_animals_sum ${before + 20}\n`);
    expect(text).toMatch(/petstore_commit_animals_bucket\{le="256"\} [1-9]/);
    expect(text).toMatch(/petstore_database_duration_seconds_count [1-9]/);
  });

  it('tell of the process and of the delay of its event loop', async () => {
    const text = await read();
    expect(text).toContain('process_resident_memory_bytes ');
    expect(text).toContain('nodejs_eventloop_lag_p99_seconds ');
  });

  it('hold no key, and no name of a pet', async () => {
    const text = await read();
    expect(text).not.toContain('Bella');
    expect(text).not.toContain(service.key);
  });

  it('are at /metrics of a port of their own, and nowhere else', async () => {
    const { status, headers } = await fetch(`${address}/metrics`, { method: 'HEAD' });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    expect((await fetch(`${address}/`)).status).toBe(404);
    const post = await fetch(`${address}/metrics`, { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await service.send('/metrics')).status).toBe(404);
  });

  it('tell how many connections of each pool are used and idle, and how many questions wait for one', async () => {
    await service.send('/health/ready', { key: false });
    const lines = (await read()).match(/^petstore_database_connections\{.*$/gm)?.sort() ?? [];
    const state = (pool: string, name: string) => new RegExp(`pool="${pool}",state="${name}"\\} (\\d+)$`);
    if (kind.name === 'SQLite') expect(lines).toEqual([]);
    else {
      expect(lines).toHaveLength(6);
      for (const pool of ['read', 'write']) {
        const count = (name: string) => Number(lines.map((line) => state(pool, name).exec(line)?.[1]).find(Boolean));
        expect(count('used') + count('idle')).toBeGreaterThan(0);
        expect(count('used') + count('idle')).toBeLessThanOrEqual(5);
        expect(count('waiting')).toBe(0);
      }
    }
  });

  it('tell how long questions have waited for a connection of each pool', async () => {
    const counted = [...(await read()).matchAll(/^petstore_database_wait_seconds_count\{pool="(\w+)"\} [1-9]/gm)];
    expect(counted.map(([, pool]) => pool).sort()).toEqual(kind.name === 'SQLite' ? [] : ['read', 'write']);
  });

  it('tell what the database server is, if there is one', async () => {
    const roles = (await read()).match(/^petstore_database_role.*$/gm) ?? [];
    expect(roles).toEqual(kind.name === 'SQLite' ? [] : rolesOf('primary'));
  });

  it('tell the version of the service', async () => {
    expect(await read()).toContain(`\npetstore_build_info{version="${packageJson.version}"} 1\n`);
  });
});

/** The lines of a server that has this role. */
function rolesOf(role: string): string[] {
  return ['primary', 'standby', 'unknown'].map(
    (each) => `petstore_database_role{role="${each}"} ${each === role ? 1 : 0}`,
  );
}

describeOnServers('the metrics of a service whose $name', (kind) => {
  itIfHas(kind, 'a way in between').each([
    ['hangs', (proxy: Proxy) => proxy.hang()],
    ['is gone', (proxy: Proxy) => proxy.refuse()],
  ])('%s are shown all the same, and say so', async (_how, disturb) => {
    const store = await kind.create();
    const [proxy, url] = await Proxy.to(store.url);
    const service = await Service.start({ DATABASE_URL: url, METRICS_PORT: '0', API_KEYS: 'key-of-the-metrics-test' });
    const read = async () => {
      const answer = await fetch(`http://127.0.0.1:${service.app.get<Metrics>('Metrics').port}/metrics`);
      return [answer.status, (await answer.text()).match(/^petstore_database_role.*$/gm)];
    };
    try {
      expect(await read()).toEqual([200, rolesOf('primary')]);
      disturb(proxy);
      const both = await Promise.all([read(), read()]);
      expect(both).toEqual(Array(2).fill([200, rolesOf('unknown')]));
      proxy.resume();
      expect(await read()).toEqual([200, rolesOf('primary')]);
    } finally {
      await service.stop();
      await proxy.close();
      await store.remove();
    }
  });
});

describe('the metrics of limits', () => {
  const limits = async (environment: Record<string, string>) => {
    const service = await Service.start({ METRICS_PORT: '0', RATE_LIMIT: '5', ...environment });
    const text = await (await fetch(`http://127.0.0.1:${service.app.get<Metrics>('Metrics').port}/metrics`)).text();
    await service.stop();
    return /^petstore_limits_shared (.*)$/m.exec(text)?.[1];
  };

  it('tell whether they are shared, if there is a Redis for them', async () => {
    expect(await limits({})).toBeUndefined();
    expect(await limits({ RATE_LIMIT_URL: `redis://127.0.0.1:${await freePort()}` })).toBe('0');
    const redis = await newRedis();
    if (!redis) return;
    await redis.start();
    expect(await limits({ RATE_LIMIT_URL: `redis://127.0.0.1:${redis.port}` })).toBe('1');
    await redis.remove();
  });
});

describe('the port of the metrics', () => {
  let service: Service;
  let port: number;

  beforeEach(async () => {
    service = await Service.start({ METRICS_PORT: '0' });
    port = service.app.get<Metrics>('Metrics').port;
  });

  afterEach(() => service.stop());

  it('is closed when the service stops', async () => {
    const address = `http://127.0.0.1:${port}/metrics`;
    expect((await fetch(address)).status).toBe(200);
    await service.stop();
    await expect(fetch(address)).rejects.toThrow('fetch failed');
  });

  it('is refused with a reason if it is taken', async () => {
    await expect(Service.start({ METRICS_PORT: String(port) })).rejects.toThrow(
      `METRICS_PORT must be a free port; another program listens on port ${port} of "127.0.0.1".`,
    );
  });
});
