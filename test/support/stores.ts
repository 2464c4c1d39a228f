import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openRepositories, Repositories } from '../../src/adapters/persistence/persistence.module.js';
import { readSettings } from '../../src/settings/settings.js';
import { sourceDigest } from './program.js';
import { dropDatabase, query, withDatabase } from './sql.js';

/** A database of a kind, empty and of its own, for as long as a test needs it. */
export interface TestStore {
  /** Its `DATABASE_URL`. */
  readonly url: string;
  /** Removes it without a trace. */
  remove(): Promise<void>;
}

/** A kind of database that tests run on. */
export interface StoreKind {
  readonly name: 'memory' | 'SQLite' | 'PostgreSQL' | 'MariaDB';
  /** Makes one; on SQLite it is migrated unless it must be `empty`. */
  create(empty?: 'empty'): Promise<TestStore>;
}

export const memory: StoreKind = {
  name: 'memory',
  create: () => Promise.resolve({ url: 'memory:', remove: () => Promise.resolve() }),
};

export const sqlite: StoreKind = {
  name: 'SQLite',
  create: async (empty) => {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    const file = join(folder, 'test.sqlite');
    if (empty === undefined) copyFileSync(await sqliteTemplate(), file);
    return { url: `sqlite:${file}`, remove: () => Promise.resolve(rmSync(folder, { recursive: true, force: true })) };
  },
};

export const postgres = onServer('PostgreSQL', () => `${process.env.PETSTORE_TEST_POSTGRES}/postgres`);

export const mariadb = onServer('MariaDB', () => `${process.env.PETSTORE_TEST_MARIADB}/mysql`);

/** A new database on a server that the setup of the tier has found; `url` leads to a database of it. */
function onServer(name: 'PostgreSQL' | 'MariaDB', url: () => string): StoreKind {
  return {
    name,
    create: async () => {
      const database = `petstore_test_${randomBytes(6).toString('hex')}`;
      await query(url(), `CREATE DATABASE ${database}`);
      // As the docs advise.
      const setting = `ALTER DATABASE ${database} SET client_connection_check_interval = '1s'`;
      if (name === 'PostgreSQL') await query(url(), setting);
      return { url: withDatabase(url(), database), remove: () => dropDatabase(url(), database) };
    },
  };
}

/** A migrated SQLite file to copy. To migrate takes half a second, so it is done once for each state of the source. */
async function sqliteTemplate(): Promise<string> {
  const file = resolve('test-output', `template-${sourceDigest()}.sqlite`);
  if (existsSync(file)) return file;
  mkdirSync(resolve('test-output'), { recursive: true });
  const building = `${file}-${process.pid}`;
  const store = await openStoreAt(`sqlite:${building}`);
  await store.close();
  renameSync(building, file);
  return file;
}

/** Opens the database at a URL, as the service does. */
export function openStoreAt(url: string): Promise<Repositories> {
  const settings = readSettings({ DATABASE_URL: url });
  return openRepositories(settings.DATABASE_URL, settings, () => undefined);
}

/** Adds so many pets to the database at a URL; creates that of SQLite. */
export async function addPets(url: string, count: number): Promise<void> {
  const { pets, close } = await openStoreAt(url);
  const add = (_: unknown, i: number) => pets.add({ name: `Pet ${i + 1}`, categoryId: 42n, status: 'available' });
  await Promise.all(Array.from({ length: count }, add));
  await close();
}
