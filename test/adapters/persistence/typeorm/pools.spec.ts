import { afterEach, beforeEach, expect } from '@jest/globals';
import { Store } from '../../../../src/open-store.js';
import { describeOnServers, itIfHas } from '../../../support/on-servers.js';
import { connectTo, withParameter } from '../../../support/own-server.js';
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
    await session.query(kind.dialect === 'PostgreSQL' ? 'BEGIN; LOCK TABLE pet IN SHARE MODE' : 'LOCK TABLES pet READ');
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
