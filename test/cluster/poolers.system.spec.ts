import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { newPgBouncer, newPostgres, TestServer } from '../support/servers.js';
import { pause } from './ledger.js';
import { SECONDS, underLoad } from './instances.js';
import { say } from './say.js';

// Not a spec: `npm run test:cluster` runs it.

/** How long a lock is held: longer than any request may wait. */
const LOCKED = 14_000;

/** How soon PgBouncer tries a server again that was away, in seconds: no test should wait for its 15. */
const RETRY = 1;

const MODES = [
  // As PgBouncer is without a setting of its own, but for the connections that it keeps: each instance has up to ten.
  { mode: 'session', settings: ['default_pool_size = 40'], parameters: '' },
  {
    mode: 'transaction',
    settings: ['pool_mode = transaction', 'default_pool_size = 4'],
    parameters: '?pooler=transaction',
  },
];

describe.each(MODES)('PgBouncer in $mode mode', ({ settings, parameters }) => {
  let postgres: TestServer;
  let pgbouncer: TestServer;
  let url: string;

  beforeEach(async () => {
    postgres = (await newPostgres('fsync=off'))!;
    await postgres.start();
    pgbouncer = (await newPgBouncer(postgres.port, `server_login_retry = ${RETRY}`, ...settings))!;
    await pgbouncer.start();
    url = `postgres://postgres@127.0.0.1:${pgbouncer.port}/postgres${parameters}`;
  });

  afterEach(async () => {
    await pgbouncer.remove();
    await postgres.remove();
  });

  it('lets two instances work', async () => {
    const { ledger } = await underLoad(url, () => pause(SECONDS * 1_000));
    expect([...ledger.statuses.keys()].sort()).toEqual(['GET 200', 'POST 201']);
  });

  it('may be restarted, and the database behind it', async () => {
    const { ledger } = await underLoad(url, async () => {
      await pgbouncer.end('SIGKILL');
      await pgbouncer.start();
      await pause(SECONDS * 1_000);
      await postgres.end('SIGINT');
      await postgres.start();
      await pause(SECONDS * 1_000);
    });
    expect(performance.now() - ledger.lastAdded).toBeLessThan(60_000);
    expect(ledger.statuses.get('POST 201')).toBeGreaterThan(0);
  });

  it('hands out nothing of a server that has become a standby behind it', async () => {
    const [{ data_directory: data }] = (await say(postgres, 'SHOW data_directory')) as [{ data_directory: string }];
    const signal = join(data, 'standby.signal');
    await underLoad(url, async ({ statuses }) => {
      await postgres.end('SIGINT');
      writeFileSync(signal, '');
      // It never says that it is ready for connections, but for read-only ones.
      void postgres.start().catch(() => undefined);
      while (!(await say(postgres, 'SELECT pg_is_in_recovery()').catch(() => undefined))) await pause(50);
      // What was under way is answered.
      await pause(500);
      const before = statuses.get('GET 200');
      // PgBouncer tries a server again that was away.
      await pause(RETRY * 1_000 + 2_000);
      expect(statuses.get('GET 200')).toBe(before);
      rmSync(signal);
      await postgres.end('SIGINT');
      await postgres.start();
      await pause(RETRY * 1_000 + 2_000);
      expect(statuses.get('GET 200')).toBeGreaterThan(before!);
    });
  });

  it('lets no statement wait for longer than it may, and leaves none behind', async () => {
    await underLoad(url, async () => {
      const locker = new pg.Client({ host: '127.0.0.1', port: postgres.port, user: 'postgres', database: 'postgres' });
      await locker.connect();
      await locker.query('BEGIN; LOCK TABLE pet IN ACCESS EXCLUSIVE MODE');
      await pause(LOCKED);
      const rows = await say(
        postgres,
        `SELECT count(*) AS late FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND now() - query_start > interval '6 s'`,
      );
      await locker.query('COMMIT');
      await locker.end();
      expect(rows).toEqual([{ late: '0' }]);
    });
    await pause(500);
    const rows = await say(
      postgres,
      `SELECT query FROM pg_stat_activity WHERE backend_type = 'client backend' AND state <> 'idle' AND pid <> pg_backend_pid()`,
    );
    expect(rows).toEqual([]);
  });
});
