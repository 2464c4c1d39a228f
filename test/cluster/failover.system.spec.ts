import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import mysql from 'mysql2/promise';
import { newMariadb, newPostgres, newStandby, TestServer } from '../support/servers.js';
import { KEY, Ledger, pause } from './ledger.js';
import { buildProgram } from '../support/program.js';
import { WorkingFolder } from '../support/working-folder.js';
import { expectFound, FOUND, SECONDS, underLoad } from './instances.js';
import { say } from './say.js';

// Not a spec: `npm run test:cluster` runs it.

const REPLICATION = ['wal_level=replica', 'max_wal_senders=5', 'max_replication_slots=5'];

describe('a PostgreSQL and its synchronous standby', () => {
  let primary: TestServer;
  let standby: TestServer;
  let url: string;

  beforeEach(async () => {
    primary = (await newPostgres(...REPLICATION))!;
    await primary.start();
    standby = await newStandby(primary, ...REPLICATION);
    await standby.start();
    await say(primary, `ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await say(primary, 'SELECT pg_reload_conf()');
    while ((await say(primary, `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)).length === 0)
      await pause(50);
    url = `postgres://postgres@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/postgres`;
  });

  afterEach(async () => {
    for (const server of [primary, standby]) server.signal('SIGCONT');
    await primary.remove();
    await standby.remove();
  });

  /** Makes the standby the primary, and expects the instances to have found it in time. */
  async function promote(ledger: Ledger): Promise<void> {
    await say(standby, 'SELECT pg_promote()');
    const promoted = performance.now();
    // The new primary has no standby, and waits for none.
    await say(standby, `ALTER SYSTEM RESET synchronous_standby_names`);
    await say(standby, 'SELECT pg_reload_conf()');
    await expectFound(ledger, promoted);
  }

  it('are taken for what they are at the start', async () => {
    const { ledger } = await underLoad(url, () => pause(SECONDS * 1_000));
    expect([...ledger.statuses.keys()].sort()).toEqual(['GET 200', 'POST 201']);
  });

  it('are not served if the standby alone is named', async () => {
    const folder = new WorkingFolder(buildProgram());
    try {
      const url = `postgres://postgres@127.0.0.1:${standby.port}/postgres`;
      const start = await folder.run(['serve'], { DATABASE_URL: url, PORT: '0' });
      expect(start).toMatchObject({ code: 1, out: '', err: expect.stringContaining('The server is a standby') });
    } finally {
      await folder.remove();
    }
  });

  it('are answered for by 503 if none of them is the primary, at the start and until one is promoted', async () => {
    await primary.end('SIGKILL');
    const { ledger } = await underLoad(
      url,
      async (ledger) => {
        const before = [...ledger.statuses.keys()].sort();
        expect(before).toEqual(['GET 503', 'POST 503']);
        await promote(ledger);
      },
      { isReady: false },
    );
    expect(ledger.statuses.get('POST 201')).toBeGreaterThan(0);
  });

  it('may change places when the primary is stopped', async () => {
    await underLoad(url, async (ledger) => {
      await primary.end('SIGINT');
      await promote(ledger);
    });
  });

  it('lose nothing when the primary is killed', async () => {
    await underLoad(url, async (ledger) => {
      await primary.end('SIGKILL');
      await promote(ledger);
    });
  });

  it('keep reads going while the standby is frozen', async () => {
    const { ledger } = await underLoad(url, async () => {
      standby.signal('SIGSTOP');
      await pause(5_000);
      standby.signal('SIGCONT');
      await pause(3_000);
    });
    expect(ledger.statuses.get('GET 503')).toBeUndefined();
  });

  it('acknowledge a pet by its key only once the standby has it, though its first request was cut off behind the commit', async () => {
    await underLoad(url, async ({ unknown }, [port]) => {
      unknown.add('cut off');
      const send = () =>
        fetch(`http://127.0.0.1:${port}/v1/pets`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json', 'Idempotency-Key': 'cut-off' },
          body: '{"name":"cut off","categoryId":1}',
        });
      standby.signal('SIGSTOP');
      const first = send();
      await pause(1_000);
      // It is stored on the primary from now on, and on the primary alone.
      await say(primary, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'petstore'`);
      expect((await first).status).not.toBe(201);
      expect((await send()).status).not.toBe(201);
      standby.signal('SIGCONT');
      await pause(2_000);
      const again = await send();
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    });
  });

  it('keep reads going while connections are cut', async () => {
    const { ledger } = await underLoad(url, async () => {
      for (let i = 0; i < 8; i++) {
        await say(
          primary,
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'petstore'`,
        );
        await pause(500);
      }
    });
    expect(ledger.statuses.get('GET 503')).toBeUndefined();
  });
});

describe('a MariaDB and its replica', () => {
  let primary: TestServer;
  let replica: TestServer;

  async function tell(server: TestServer, ...statements: string[]): Promise<Record<string, unknown>[]> {
    const connection = await mysql.createConnection({ host: '127.0.0.1', port: server.port, user: 'root' });
    try {
      let rows: unknown;
      for (const sql of statements) [rows] = await connection.query(sql);
      return rows as Record<string, unknown>[];
    } finally {
      await connection.end();
    }
  }

  beforeEach(async () => {
    primary = (await newMariadb('--server-id=1', '--log-bin'))!;
    replica = (await newMariadb('--server-id=2', '--log-bin', '--log-slave-updates'))!;
    for (const server of [primary, replica]) await server.start();
    await tell(
      replica,
      `CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = ${primary.port}, MASTER_USER = 'root', MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = slave_pos`,
      'START SLAVE',
      'SET GLOBAL read_only = 1',
    );
    // Who may write on a server that is read-only is not told of it.
    await tell(
      primary,
      'CREATE DATABASE pets',
      "CREATE USER shop@'127.0.0.1'",
      "GRANT ALL ON pets.* TO shop@'127.0.0.1'",
    );
  });

  afterEach(async () => {
    await primary.remove();
    await replica.remove();
  });

  it('may change places, which nobody is told of but by what they say of themselves', async () => {
    const url = `mariadb://shop@127.0.0.1:${replica.port},127.0.0.1:${primary.port}/pets`;
    await underLoad(url, async (ledger) => {
      expect([...ledger.statuses.keys()].sort()).toEqual(['GET 200', 'POST 201']);
      const [{ gtid }] = (await tell(primary, 'SET GLOBAL read_only = 1', 'SELECT @@gtid_current_pos AS gtid')) as [
        { gtid: string },
      ];
      // Whoever makes a replica the primary waits until it has everything.
      const [{ waited }] = (await tell(replica, `SELECT MASTER_GTID_WAIT('${gtid}', 10) AS waited`)) as [
        { waited: bigint },
      ];
      expect(Number(waited)).toBe(0);
      await tell(replica, 'STOP SLAVE', 'SET GLOBAL read_only = 0');
      const promoted = performance.now();
      await pause(2 * FOUND);
      console.log(`last failed read ${Math.round(ledger.lastFailedRead - promoted)} ms after the promotion`);
      expect(ledger.lastAdded).toBeGreaterThan(promoted);
      expect(ledger.lastFailedRead - promoted).toBeLessThan(FOUND);
    });
  });
});
