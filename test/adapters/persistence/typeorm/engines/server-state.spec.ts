import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Metrics } from '../../../../../src/adapters/metrics/metrics.js';
import { query as say } from '../../../../support/sql.js';
import { freePort, newMariadb, newPostgres, newStandby, TestServer } from '../../../../support/servers.js';
import { Service } from '../../../../support/service.js';

// Servers are set up, and one follows the other in its own time.
jest.setTimeout(60_000);

/** Within what time one server has what it is told of another, in milliseconds. */
const PATIENCE = 20_000;

const BELLA = { name: 'Bella', categoryId: 1 };

const start = (url: string) =>
  Service.start({ DATABASE_URL: url, METRICS_PORT: '0', API_KEYS: 'key-of-the-server-state-test' });

/** What the metrics of a service tell now: the role that is 1, and the lags by unit and standby. */
async function told(service: Service): Promise<{ role: string | undefined; lags: Record<string, number> }> {
  const text = await (await fetch(`http://127.0.0.1:${service.app.get<Metrics>('Metrics').port}/metrics`)).text();
  const lags = text.matchAll(
    /^petstore_database_replication_lag_(\w+)\{standby="([^"]*)",address="([^"]*)"\} (\S+)$/gm,
  );
  return {
    role: /^petstore_database_role\{role="(\w+)"\} 1$/m.exec(text)?.[1],
    lags: Object.fromEntries(
      [...lags].map(([, unit, name, address, lag]) => [`${unit} ${name} ${address}`, Number(lag)]),
    ),
  };
}

/** Asks until it is so; rejects with what is told then if it does not come to be. */
async function until(service: Service, isSo: (state: Awaited<ReturnType<typeof told>>) => boolean): Promise<void> {
  const end = Date.now() + PATIENCE;
  for (let state = await told(service); !isSo(state); state = await told(service)) {
    if (Date.now() > end) throw new Error(`It came to no more than ${JSON.stringify(state)}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('a PostgreSQL and its standby', () => {
  let primary: TestServer | undefined;
  let standby: TestServer | undefined;

  const url = (server: TestServer | undefined, user = 'postgres') =>
    `postgres://${user}@127.0.0.1:${server?.port}/postgres`;

  beforeAll(async () => {
    primary = await newPostgres('fsync=off');
    if (!primary) return;
    await primary.start();
    standby = await newStandby(primary, 'cluster_name=second');
    await standby.start();
  });

  afterAll(async () => {
    await standby?.remove();
    await primary?.remove();
  });

  const [BYTES, SECONDS] = ['bytes second 127.0.0.1', 'seconds second 127.0.0.1'];

  it('tell how far the standby is behind, while it follows and while it does not', async () => {
    if (!primary) return;
    const service = await start(url(primary));
    try {
      await until(service, ({ lags }) => lags[BYTES] === 0 && (lags[SECONDS] ?? -1) >= 0);
      await say(url(standby), 'SELECT pg_wal_replay_pause()');
      expect((await service.add(BELLA)).status).toBe(201);
      await until(service, ({ role, lags }) => role === 'primary' && (lags[BYTES] ?? 0) > 0);
      await say(url(standby), 'SELECT pg_wal_replay_resume()');
      await until(service, ({ lags }) => lags[BYTES] === 0);
    } finally {
      await service.stop();
    }
  });

  it('tell of no standby to a user who may not know, until that is granted', async () => {
    if (!primary) return;
    await say(url(primary), 'CREATE ROLE petstore LOGIN; GRANT CREATE ON SCHEMA public TO petstore');
    await say(url(primary), 'GRANT ALL ON ALL TABLES IN SCHEMA public TO petstore');
    const service = await start(url(primary, 'petstore'));
    try {
      expect(await told(service)).toEqual({ role: 'primary', lags: {} });
      await say(url(primary), 'GRANT pg_read_all_stats TO petstore');
      expect(Object.keys((await told(service)).lags).sort()).toEqual([BYTES, SECONDS]);
    } finally {
      await service.stop();
    }
  });

  it('tell that it is a standby that is used, and forget one that has left', async () => {
    if (!primary) return;
    // Of several hosts one may become the primary later; a standby alone is refused.
    const hosts = url(standby).replace(/(?=\/postgres$)/, `,127.0.0.1:${await freePort()}`);
    const [first, second] = [await start(url(primary)), await start(hosts)];
    try {
      expect(await told(second)).toEqual({ role: 'standby', lags: {} });
      expect(Object.keys((await told(first)).lags)).toHaveLength(2);
      await say(url(standby), 'SELECT pg_promote()');
      await until(second, ({ role }) => role === 'primary');
      await until(first, ({ role, lags }) => role === 'primary' && Object.keys(lags).length === 0);
    } finally {
      await first.stop();
      await second.stop();
    }
  });
});

describe('a MariaDB', () => {
  it('tells whether it takes what is written', async () => {
    const server = await newMariadb();
    if (!server) return;
    await server.start();
    const url = `mariadb://root@127.0.0.1:${server.port}/mysql`;
    const service = await start(url);
    try {
      expect(await told(service)).toEqual({ role: 'primary', lags: {} });
      await say(url, 'SET GLOBAL read_only = 1');
      expect((await told(service)).role).toBe('standby');
    } finally {
      await service.stop();
      await server.remove();
    }
  });

  it('neither reads nor writes from when it is read-only, whoever asks, where another one may be the primary', async () => {
    const server = await newMariadb();
    if (!server) return;
    await server.start();
    const url = `mariadb://root@127.0.0.1:${server.port}/mysql`;
    const service = await start(url.replace(/(?=\/mysql$)/, `,127.0.0.1:${await freePort()}`));
    try {
      expect((await service.add(BELLA)).status).toBe(201);
      await say(url, 'SET GLOBAL read_only = 1');
      expect((await service.send('/v1/pets')).status).toBe(503);
      // Root may write all the same.
      expect((await service.add(BELLA)).status).toBe(503);
      await say(url, 'SET GLOBAL read_only = 0');
      const end = Date.now() + PATIENCE;
      while ((await service.send('/v1/pets')).status !== 200) if (Date.now() > end) throw new Error('It stays away.');
    } finally {
      await service.stop();
      await server.remove();
    }
  });
});
