import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { NodeSecrets } from '../../src/adapters/crypto/node-secrets.js';
import { openStore, Store } from '../../src/open-store.js';
import { readConfig } from '../../src/config.js';
import { dropDatabase, Need, OwnServer, say, withDatabase } from './own-server.js';

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
  /** Whose SQL it speaks, MySQL that of MariaDB; absent if it has none. */
  readonly dialect?: 'SQLite' | 'PostgreSQL' | 'MariaDB';
  /** What it cannot do of what some tests need. */
  readonly lacks?: readonly Need[];
  create(): Promise<TestStore>;
}

/** The store that is gone with its process. */
export const memory: StoreKind = {
  name: 'memory',
  create: () => Promise.resolve({ url: 'memory:', remove: () => Promise.resolve() }),
};

const sqlite: StoreKind = {
  name: 'SQLite',
  dialect: 'SQLite',
  create: () => {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    return Promise.resolve({
      url: `sqlite:${join(folder, 'test.sqlite')}`,
      remove: () => Promise.resolve(rmSync(folder, { recursive: true, force: true })),
    });
  },
};

/** Databases on a server, made and removed by an account that may; `url` leads to one that is there already. */
function onServer(name: string, url: string, prefix = 'petstore_test_', lacks: readonly Need[] = []): StoreKind {
  return {
    name,
    dialect: url.startsWith('postgres') ? 'PostgreSQL' : 'MariaDB',
    lacks,
    create: async () => {
      // Were it there, it would not be made: what is removed is what was made here.
      const database = `${prefix}${randomBytes(6).toString('hex')}`;
      await say(url, `CREATE DATABASE ${database}`);
      return { url: withDatabase(url, database), remove: () => dropDatabase(url, database) };
    },
  };
}

const { PETSTORE_TEST_POSTGRES, PETSTORE_TEST_MARIADB, PETSTORE_TEST_SERVER } = process.env;

/** The server that `npm run test:store` has been given, which is tested alone; see `own-server.ts`. */
const own = PETSTORE_TEST_SERVER === undefined ? undefined : (JSON.parse(PETSTORE_TEST_SERVER) as OwnServer);

/** The kinds that run on a server and can be shared by instances; `servers.ts` has found the servers. */
export const serverKinds: readonly StoreKind[] = own
  ? [onServer(`your server (${own.product})`, own.url, own.prefix, own.lacks)]
  : [
      ...(PETSTORE_TEST_POSTGRES ? [onServer('PostgreSQL', `${PETSTORE_TEST_POSTGRES}/postgres`)] : []),
      ...(PETSTORE_TEST_MARIADB ? [onServer('MariaDB', `${PETSTORE_TEST_MARIADB}/mysql`)] : []),
    ];

/** The kinds that outlive a process. */
export const lastingKinds: readonly StoreKind[] = own ? serverKinds : [sqlite, ...serverKinds];

/** Every kind of store that there is; suites that say "on every store" run once on each. */
export const storeKinds: readonly StoreKind[] = own ? serverKinds : [memory, ...lastingKinds];

/** Opens the store at a URL, as the service does; if it lasts, what was stored there before is there. */
export function openStoreAt(url: string): Promise<Store> {
  const { database, databaseLimits } = readConfig({ DATABASE_URL: url });
  return openStore(database, databaseLimits, new NodeSecrets(), () => undefined);
}
