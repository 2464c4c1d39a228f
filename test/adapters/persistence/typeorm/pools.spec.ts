import { afterEach, beforeEach, expect, it } from '@jest/globals';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { Store } from '../../../../src/open-store.js';
import { describeOnServers } from '../../../support/on-servers.js';
import { openStoreAt, TestStore } from '../../../support/stores.js';

const BELLA = { name: 'Bella', categoryId: 1n, status: 'available' } as const;
const POOL = 4;

describeOnServers('while all that writes on $name waits for a lock of others', (kind) => {
  let test: TestStore;
  let store: Store;
  let unlock: () => Promise<unknown>;

  /** Lets the table be read, and not be written. */
  async function lock(url: URL): Promise<() => Promise<unknown>> {
    const [host, port, user, database] = [url.hostname, Number(url.port), url.username, url.pathname.slice(1)];
    if (kind.name === 'PostgreSQL') {
      const client = new pg.Client({ host, port, user, database });
      await client.connect();
      await client.query('BEGIN; LOCK TABLE pet IN SHARE MODE');
      return () => client.end();
    }
    const connection = await mysql.createConnection({ host, port, user, database });
    await connection.query('LOCK TABLES pet READ');
    return () => connection.end();
  }

  beforeEach(async () => {
    test = await kind.create();
    store = await openStoreAt(`${test.url}?pool=${POOL}`);
    unlock = await lock(new URL(test.url));
  });

  afterEach(async () => {
    await store.close();
    await test.remove();
  });

  it('there are connections for what reads', async () => {
    let settled = 0;
    const at = new Date();
    const adding = Array.from({ length: 5 * POOL }, (_, i) =>
      store.pets
        .add(BELLA, { scope: 'scope', key: String(i), fingerprint: 'fingerprint', at })
        .finally(() => settled++)
        .catch((error: unknown) => error),
    );
    for (let i = 0; i < 5 * POOL; i++) {
      expect(await store.pets.list({ limit: 1 })).toEqual([]);
      expect(await store.pets.find(1n)).toBeUndefined();
      expect(await store.keys.find('digest')).toBeUndefined();
    }
    expect(settled).toBe(0);
    await unlock();
    await Promise.all(adding);
  });
});
