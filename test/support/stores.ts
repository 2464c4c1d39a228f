import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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

const memory: StoreKind = {
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
