import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { NodeSecrets } from '../../src/adapters/crypto/node-secrets.js';
import { openStore, Store } from '../../src/open-store.js';
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

function postgres(server: string): StoreKind {
  const say = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: `${server}/postgres` });
    await client.connect();
    await client.query(sql);
    await client.end();
  };
  return {
    name: 'PostgreSQL',
    create: async () => {
      const name = newName();
      await say(`CREATE DATABASE ${name}`);
      return { url: `${server}/${name}`, remove: () => say(`DROP DATABASE ${name} WITH (FORCE)`) };
    },
  };
}

function mariadb(server: string): StoreKind {
  const say = async (sql: string): Promise<void> => {
    const { hostname, port, username } = new URL(server);
    const connection = await mysql.createConnection({ host: hostname, port: Number(port), user: username });
    await connection.query(sql);
    await connection.end();
  };
  return {
    name: 'MariaDB',
    create: async () => {
      const name = newName();
      await say(`CREATE DATABASE ${name}`);
      return { url: `${server}/${name}`, remove: () => say(`DROP DATABASE ${name}`) };
    },
  };
}

function newName(): string {
  return `petstore_test_${randomBytes(6).toString('hex')}`;
}

const { PETSTORE_TEST_POSTGRES, PETSTORE_TEST_MARIADB } = process.env;

/** The kinds that run on a server and can be shared by instances; `servers.ts` has found the servers. */
export const serverKinds: readonly StoreKind[] = [
  ...(PETSTORE_TEST_POSTGRES ? [postgres(PETSTORE_TEST_POSTGRES)] : []),
  ...(PETSTORE_TEST_MARIADB ? [mariadb(PETSTORE_TEST_MARIADB)] : []),
];

/** The kinds that outlive a process. */
export const lastingKinds: readonly StoreKind[] = [sqlite, ...serverKinds];

/** Every kind of store that there is; suites that say "on every store" run once on each. */
export const storeKinds: readonly StoreKind[] = [memory, ...lastingKinds];

/** Opens the store at a URL, as the service does; if it lasts, what was stored there before is there. */
export function openStoreAt(url: string): Promise<Store> {
  const { database, databaseLimits } = readConfig({ DATABASE_URL: url });
  return openStore(database, databaseLimits, new NodeSecrets(), () => undefined);
}
