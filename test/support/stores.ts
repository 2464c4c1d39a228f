import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodeSecrets } from '../../src/adapters/crypto/node-secrets.js';
import { openStore, Store } from '../../src/app.module.js';
import { readConfig } from '../../src/config.js';

/** A store of a kind, empty and of its own, for as long as a test needs it. */
export interface TestStore {
  /** Its `DATABASE_URL`. */
  readonly url: string;
  /** Removes it without a trace. */
  remove(): Promise<void>;
}

/** A kind of store that tests run on. */
export interface StoreKind {
  readonly name: string;
  create(): Promise<TestStore>;
}

/** The store that is gone with its process. */
export const memory: StoreKind = {
  name: 'memory',
  create: () => Promise.resolve({ url: 'memory:', remove: () => Promise.resolve() }),
};

const sqlite: StoreKind = {
  name: 'SQLite',
  create: () => {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    return Promise.resolve({
      url: `sqlite:${join(folder, 'test.sqlite')}`,
      remove: () => Promise.resolve(rmSync(folder, { recursive: true, force: true })),
    });
  },
};

/** Every kind of store that there is; suites that say "on every store" run once on each. */
export const storeKinds: readonly StoreKind[] = [memory, sqlite];

/** The kinds that outlive a process. */
export const lastingKinds: readonly StoreKind[] = storeKinds.filter((kind) => kind !== memory);

/** Opens the store at a URL, as the service does; where it lasts, what was stored there before is there. */
export function openStoreAt(url: string): Promise<Store> {
  return openStore(readConfig({ DATABASE_URL: url }).database, new NodeSecrets());
}
