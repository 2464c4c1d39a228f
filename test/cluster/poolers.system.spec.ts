import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pause } from '../support/ledger.js';
import { newPgBouncer, newPostgres, TestServer } from '../support/servers.js';
import { connectTo } from '../support/sql.js';
import { expectRecovery, underLoad } from './instances.js';

/** How long a lock is held: longer than any request may wait, in milliseconds. */
const LOCKED = 14_000;

/** PgBouncer retries a server after 15 seconds; that, and what the service may take, in milliseconds. */
const RETRY = 20_000;

describe.each([
  { mode: 'session', settings: [] },
  { mode: 'transaction', settings: ['pool_mode = transaction'] },
])('PgBouncer with its default settings in $mode mode', ({ settings }) => {
  let server: TestServer;
  let pgbouncer: TestServer;
  let url: string;

  beforeEach(async () => {
    server = (await newPostgres('fsync=off'))!;
    await server.start();
    pgbouncer = (await newPgBouncer(server.port, ...settings))!;
    await pgbouncer.start();
    url = `postgres://postgres@127.0.0.1:${pgbouncer.port}/postgres?pool=5`;
  });

  afterEach(async () => {
    await pgbouncer.remove();
    await server.remove();
  });

  it('[short] serves two instances, and may be restarted', async () => {
    await underLoad(url, async (ledger) => {
      await pgbouncer.end('SIGKILL');
      await pgbouncer.start();
      await expectRecovery(ledger);
    });
  });

  it('serves them again once the database has been restarted', async () => {
    await underLoad(url, async (ledger) => {
      await server.end('SIGINT');
      await server.start();
      await expectRecovery(ledger, RETRY);
    });
  });

  it('lets no request wait for longer than it may while a table is locked', async () => {
    const ledger = await underLoad(url, async () => {
      const locker = await connectTo(`postgres://postgres@127.0.0.1:${server.port}/postgres`);
      await locker.query('BEGIN; LOCK TABLE pet IN ACCESS EXCLUSIVE MODE');
      await pause(LOCKED);
      await locker.query('COMMIT');
      await locker.end();
    });
    expect(ledger.slowest).toBeLessThan(9_000);
  });
});
