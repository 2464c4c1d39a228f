import { afterEach, beforeEach, expect } from '@jest/globals';
import { LastingUrl } from '../../../../src/adapters/persistence/database-url.js';
import { withEngine } from '../../../../src/adapters/persistence/typeorm/open-database.js';
import { readConfig } from '../../../../src/config.js';
import { Store } from '../../../../src/open-store.js';
import { describeOnServers, itIfHas } from '../../../support/on-servers.js';
import { connectTo, withParameter } from '../../../support/sql.js';
import { openStoreAt, TestStore } from '../../../support/stores.js';

const BELLA = { name: 'Bella', categoryId: 1n, status: 'available' } as const;
const POOL = 4;

describeOnServers('while all that writes on $name waits for a lock of others', (kind) => {
  let test: TestStore;
  let store: Store;
  let unlock: () => Promise<unknown>;

  /** Lets the table be read, and not be written. */
  async function lock(url: string): Promise<() => Promise<unknown>> {
    const session = await connectTo(url);
    await session.query(kind.name === 'PostgreSQL' ? 'BEGIN; LOCK TABLE pet IN SHARE MODE' : 'LOCK TABLES pet READ');
    return () => session.end();
  }

  beforeEach(async () => {
    test = await kind.create();
    store = await openStoreAt(withParameter(test.url, 'pool', POOL));
    unlock = await lock(test.url);
  });

  afterEach(async () => {
    await store.close();
    await test.remove();
  });

  itIfHas(kind, 'table locks')('it is told how many wait for a connection, and how long each of them has', async () => {
    const { database, databaseLimits } = readConfig({ DATABASE_URL: withParameter(test.url, 'pool', POOL) });
    await withEngine(database as LastingUrl, databaseLimits, async (engine) => {
      const told: { read: number[]; write: number[] } = { read: [], write: [] };
      engine.tellWaits?.((pool, duration) => told[pool].push(duration));
      const state = () => engine.pools?.().find(({ pool }) => pool === 'write');
      const sql = `INSERT INTO pet (name, category_id, status) VALUES ('Bella', 1, 'sold')`;
      const writing = Promise.all(Array.from({ length: 5 * POOL }, () => engine.write({ sql, values: [] })));
      // What reads has connections of its own; on a busy machine those that the pool opens for what writes take longer than many reads.
      const end = performance.now() + 1_500;
      do await engine.rows({ sql: 'SELECT 1', values: [] });
      while (told.write.length < POOL / 2 && performance.now() < end);
      expect(told.write).toHaveLength(POOL / 2);
      expect(state()).toMatchObject({ used: POOL / 2, idle: 0, waiting: 5 * POOL - POOL / 2 });
      const [reads, longest] = [told.read.length, Math.max(...told.write)];
      expect(reads).toBeGreaterThan(0);
      await unlock();
      await writing;
      expect(told.read).toHaveLength(reads);
      expect(told.write).toHaveLength(5 * POOL);
      expect(Math.max(...told.write)).toBeGreaterThan(longest);
      expect(state()).toMatchObject({ used: 0, idle: POOL / 2, waiting: 0 });
    });
  });

  itIfHas(kind, 'table locks')('there are connections for what reads', async () => {
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
