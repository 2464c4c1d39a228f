import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newPetJson } from '../support/fields.js';
import { KEY, pause } from '../support/ledger.js';
import { freshFolder } from '../support/fresh-folder.js';
import { Proxy } from '../support/proxy.js';
import { newPostgres, newStandby, TestServer } from '../support/servers.js';
import { until } from '../support/working-folder.js';
import { ask, expectRecovery, underLoad } from './instances.js';

const REPLICATION = ['wal_level=replica', 'max_wal_senders=5', 'max_replication_slots=5'];

const CUT_ALL = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'petstore'`;

describe('a PostgreSQL with a synchronous standby, behind a proxy', () => {
  const folder = freshFolder();
  let primary: TestServer;
  let standby: TestServer;
  let proxy: Proxy;
  let url: string;

  beforeEach(async () => {
    primary = (await newPostgres(...REPLICATION))!;
    await primary.start();
    standby = await newStandby(primary, ...REPLICATION);
    await standby.start();
    await ask(primary, `ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await ask(primary, 'SELECT pg_reload_conf()');
    const synchronous = `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`;
    await until(async () => (await ask(primary, synchronous)).length > 0);
    proxy = await Proxy.open(primary.port);
    url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
  });

  afterEach(async () => {
    await proxy.close();
    standby.signal('SIGCONT');
    await primary.remove();
    await standby.remove();
  });

  it('[short] loses nothing when the primary is killed and the standby promoted', async () => {
    await underLoad(url, async (ledger) => {
      await primary.end('SIGKILL');
      // The proxy leads to the standby before it can be written: new connections are rejected, and made again.
      proxy.redirect(standby.port);
      await pause(1_000);
      await ask(standby, 'SELECT pg_promote()');
      // The new primary has no standby, and waits for none.
      await ask(standby, 'ALTER SYSTEM RESET synchronous_standby_names');
      await ask(standby, 'SELECT pg_reload_conf()');
      await expectRecovery(ledger);
    });
  });

  it('keeps reads going while the standby is frozen, and while connections are cut', async () => {
    const ledger = await underLoad(url, async () => {
      standby.signal('SIGSTOP');
      await pause(3_000);
      standby.signal('SIGCONT');
      for (let i = 0; i < 4; i++) {
        await ask(primary, CUT_ALL);
        await pause(500);
      }
    });
    expect(ledger.responses.get('GET 503')).toBeUndefined();
  });

  it('acknowledges a repeated request only once the standby has the pet', async () => {
    const service = await folder().serve({ DATABASE_URL: url, API_KEYS: KEY });
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': 'cut-off' };
    const create = () => service.send(KEY, '/pets', { method: 'POST', headers, body: newPetJson() });
    standby.signal('SIGSTOP');
    const first = create();
    await pause(1_000);
    // It is stored on the primary from now on, and on the primary alone.
    await ask(primary, CUT_ALL);
    expect((await first).status).not.toBe(201);
    expect((await create()).status).not.toBe(201);
    standby.signal('SIGCONT');
    await pause(2_000);
    const again = await create();
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
  });
});
