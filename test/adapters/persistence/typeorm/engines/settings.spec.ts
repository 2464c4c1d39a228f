import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { UsageError } from '../../../../../src/application/errors.js';
import { LastingUrl } from '../../../../../src/adapters/persistence/database-url.js';
import { withEngine } from '../../../../../src/adapters/persistence/typeorm/open-database.js';
import { applySteps } from '../../../../../src/adapters/persistence/typeorm/schema-steps.js';
import { NodeSecrets } from '../../../../../src/adapters/crypto/node-secrets.js';
import { readConfig } from '../../../../../src/config.js';
import { NewPet } from '../../../../../src/domain/pets/pet.js';
import { openStore } from '../../../../../src/open-store.js';
import { newMariadb, newPostgres, TestServer } from '../../../../support/servers.js';
import { openStoreAt } from '../../../../support/stores.js';

const BELLA: NewPet = { name: 'Bella 🐶', categoryId: 1n, status: 'available' };
const KEY = { scope: 'a'.repeat(64), key: 'first', fingerprint: 'f'.repeat(64), at: new Date() };

/** Resolves to how many pets another connection sees, and stores one more if nobody commits it. */
type Look = () => Promise<number>;

/** Adds pets one after the other, some with an idempotency key, and expects all of them to be committed, and nothing else to be seen. */
async function expectPromises(url: string, look: Look): Promise<void> {
  const store = await openStoreAt(url);
  try {
    for (let i = 0; i < 3; i++) {
      await store.pets.add(BELLA, { ...KEY, key: `key-${i}` });
      await store.pets.add(BELLA);
    }
    expect(await look()).toBe(6);
    const listed = await store.pets.list({ limit: 100 });
    expect(listed.map(({ name }) => name)).toEqual(Array(6).fill(BELLA.name));
  } finally {
    await store.close();
  }
}

describe('a MariaDB whose global settings are not the usual ones', () => {
  let server: TestServer | undefined;

  beforeAll(async () => {
    server = await newMariadb(
      '--completion-type=CHAIN',
      '--transaction-isolation=READ-UNCOMMITTED',
      '--transaction-read-only=OFF',
      '--character-set-server=latin1',
    );
    await server?.start();
  }, 60_000);

  afterAll(() => server?.remove());

  it('keeps what was acknowledged, and shows nothing that was not committed', async () => {
    if (!server) return;
    const other = await mysql.createConnection({ host: '127.0.0.1', port: server.port, user: 'root' });
    await other.query('SET GLOBAL sql_select_limit = 2, GLOBAL sql_safe_updates = 1');
    await other.query('CREATE DATABASE pets');
    try {
      await expectPromises(`mariadb://root@127.0.0.1:${server.port}/pets?pool=1`, async () => {
        await other.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED');
        await other.query('SET SESSION completion_type = 0, sql_select_limit = 100');
        const [rows] = await other.query<mysql.RowDataPacket[]>('SELECT count(*) AS pets FROM pets.pet');
        await other.query('START TRANSACTION');
        await other.query(`INSERT INTO pets.pet (name, category_id, status) VALUES ('Not yet', 1, 'sold')`);
        return Number(rows[0]?.pets);
      });
    } finally {
      other.destroy();
    }
  });
});

it('a MariaDB that takes small packets alone takes pets that come at once all the same', async () => {
  const server = await newMariadb('--max-allowed-packet=16384');
  if (!server) return;
  try {
    await server.start();
    const url = `mariadb://root@127.0.0.1:${server.port}/mysql`;
    const store = await openStoreAt(url);
    try {
      const large = { ...BELLA, name: '🐶'.repeat(255) };
      const added = await Promise.all(Array.from({ length: 40 }, () => store.pets.add(large)));
      expect(new Set(added.map(({ pet }) => pet.id)).size).toBe(40);
      expect(await store.pets.list({ limit: 100 })).toHaveLength(40);
    } finally {
      await store.close();
    }
  } finally {
    await server.remove();
  }
}, 60_000);

describe('a PostgreSQL whose settings are not the usual ones', () => {
  let server: TestServer | undefined;

  const say = async (database: string, ...statements: string[]): Promise<pg.QueryResult[]> => {
    const client = new pg.Client(`postgres://postgres@127.0.0.1:${server?.port}/${database}`);
    await client.connect();
    try {
      const results: pg.QueryResult[] = [];
      for (const statement of statements) results.push(await client.query(statement));
      return results;
    } finally {
      await client.end();
    }
  };

  beforeAll(async () => {
    server = await newPostgres('fsync=off', 'default_transaction_deferrable=on');
    await server?.start();
  }, 60_000);

  afterAll(() => server?.remove());

  it('keeps what was acknowledged, whatever its database is set to', async () => {
    if (!server) return;
    await say(
      'postgres',
      'CREATE DATABASE pets',
      `ALTER DATABASE pets SET default_transaction_isolation = 'serializable'`,
      `ALTER DATABASE pets SET synchronous_commit = off`,
      `ALTER DATABASE pets SET client_encoding = 'LATIN1'`,
    );
    const url = `postgres://postgres@127.0.0.1:${server.port}/pets?pool=1`;
    await expectPromises(url, async () => {
      const [counted] = await say('pets', 'SELECT count(*) AS pets FROM pet');
      return Number((counted?.rows[0] as { pets: string }).pets);
    });
  });

  it('that gives no right to make tables is tried again until it does, and says so once', async () => {
    if (!server) return;
    await say('postgres', 'CREATE ROLE petstore LOGIN', 'CREATE DATABASE guarded');
    const { database, databaseLimits } = readConfig({
      DATABASE_URL: `postgres://petstore@127.0.0.1:${server.port}/guarded`,
    });
    const reports: string[] = [];
    const store = await openStore(database, databaseLimits, new NodeSecrets(), (message) => reports.push(message));
    try {
      await expect(store.pets.add(BELLA)).rejects.toThrow(/permission denied/);
      await say('guarded', 'GRANT ALL ON SCHEMA public TO petstore');
      while (reports.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
      await store.pets.add(BELLA);
      expect(reports).toEqual([
        'The database cannot be used. permission denied for schema public. Trying again every second.',
        'The database is there; the service is ready.',
      ]);
    } finally {
      await store.close();
    }
  });

  it.each(['SQL_ASCII', 'LATIN1'])('is refused by a line that says so if it is in %s', async (encoding) => {
    if (!server) return;
    const name = encoding.toLowerCase();
    await say('postgres', `CREATE DATABASE ${name} ENCODING '${encoding}' TEMPLATE template0`);
    const { database, databaseLimits } = readConfig({
      DATABASE_URL: `postgres://postgres@127.0.0.1:${server.port}/${name}`,
    });
    const message = `The encoding of the database is ${encoding}, which cannot hold every name exactly.`;
    const opened = openStoreAt(`postgres://postgres@127.0.0.1:${server.port}/${name}`);
    await expect(opened).rejects.toThrow(UsageError);
    await expect(opened).rejects.toThrow(message);
    // A copy into it is refused alike, and so is a migration.
    await expect(withEngine(database as LastingUrl, databaseLimits, applySteps)).rejects.toThrow(message);
  });
});
