import { once } from 'node:events';
import { AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { postgres as postgresDialect } from '../../src/adapters/persistence/typeorm/dialects/postgres.js';
import { openRepositories, Repositories } from '../../src/adapters/persistence/persistence.module.js';
import { DatabaseUnavailable } from '../../src/application/errors.js';
import { UsageError } from '../../src/messages/usage-error.js';
import { readSettings } from '../../src/settings/settings.js';
import { freshStore } from '../support/fresh-store.js';
import { newPostgres, newStandby, TestServer } from '../support/servers.js';
import { Service } from '../support/service.js';
import { connectTo, withDatabase, withParameter } from '../support/sql.js';
import { openStoreAt, postgres, sqlite } from '../support/stores.js';
import { until } from '../support/working-folder.js';
import { describeApiKeyRepository } from './api-key-repository.contract.js';
import { describeInstances } from './instances.contract.js';
import { describeLocks } from './locks.contract.js';
import { checkStore, copy } from './maintenance.js';
import { describePetRepository } from './pet-repository.contract.js';
import { idempotencyKey, newPet } from '../support/pets.js';
import { rawQuery } from './raw-query.js';

describePetRepository(postgres);
describeApiKeyRepository(postgres);
describeInstances(postgres);
describeLocks(postgres);

/** Records with each new pet which `synchronous_commit` its transaction has when it is committed. */
const RECORDER = [
  'CREATE TABLE commits (setting text)',
  `CREATE FUNCTION record_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO commits VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$`,
  `CREATE CONSTRAINT TRIGGER record_commit AFTER INSERT ON pet DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION record_commit()`,
];

const recorded = async (url: string) =>
  (await rawQuery(url, 'SELECT DISTINCT setting FROM commits')).map(([setting]) => setting);

/** Adds a pet in each way there is. */
async function addPets(url: string): Promise<void> {
  const store = await openStoreAt(url);
  try {
    await store.pets.add(newPet());
    await store.pets.add(newPet(), idempotencyKey());
    await Promise.all([1, 2, 3].map(() => store.pets.add(newPet())));
  } finally {
    await store.close();
  }
}

/** Adds so many pets without and with an idempotency key. */
const addTogether = ({ pets }: Repositories, name: string, count: number) =>
  Array.from({ length: count }, (_, i) => [
    pets.add(newPet()),
    pets.add(newPet(), idempotencyKey({ key: `${name} ${i}` })),
  ]).flat();

describe('PostgreSQL', () => {
  const store = freshStore(postgres);
  const alter = (setting: string) =>
    rawQuery(withDatabase(store.url, 'postgres'), `ALTER DATABASE ${databaseName()} ${setting}`);
  const databaseName = () => new URL(store.url).pathname.slice(1);

  it.each([
    ['off', 'on'],
    ['remote_apply', 'remote_apply'],
  ])('with synchronous_commit=%s commits with %s all the same', async (setting, used) => {
    await (await openStoreAt(store.url)).close();
    for (const sql of RECORDER) await rawQuery(store.url, sql);
    await alter(`SET synchronous_commit = ${setting}`);
    await addPets(store.url);
    expect(await recorded(store.url)).toEqual([used]);
  });

  it('is warned of without a check of connections', async () => {
    await (await openStoreAt(store.url)).close();
    await alter('SET client_connection_check_interval = 0');
    expect(await checkStore(store.url, 1)).toContainEqual(
      expect.objectContaining({ state: 'warn', advice: expect.stringContaining('ALTER ROLE') as unknown }),
    );
  });

  it('is copied into durably, though it has synchronous_commit=off', async () => {
    await (await openStoreAt(store.url)).close();
    for (const sql of RECORDER) await rawQuery(store.url, sql);
    await alter('SET synchronous_commit = off');
    const source = await sqlite.create();
    await addPets(source.url);
    await copy(source.url, store.url);
    expect(await recorded(store.url)).toEqual(['on']);
    await source.remove();
  });

  it('is copied into once another copy, however long it takes, has ended', async () => {
    const source = await sqlite.create();
    await addPets(source.url);
    await (await openStoreAt(store.url)).close();
    const session = await connectTo(store.url);
    await session.query('BEGIN');
    await session.query(postgresDialect.lockMigrations);
    const copied = copy(source.url, store.url);
    // Longer than a request waits for a lock.
    await Promise.race([copied, delay(2_500)]);
    await session.query('ROLLBACK');
    expect(await copied).toMatchObject({ pets: 5 });
    await session.end();
    await source.remove();
  });

  it('keeps pets exactly, whatever the database sets for its sessions', async () => {
    await alter(`SET default_transaction_isolation = 'serializable'`);
    await alter(`SET client_encoding = 'LATIN1'`);
    await alter('SET default_transaction_deferrable = on');
    await alter('SET array_nulls = off');
    const { pets } = await store.open();
    const added = await Promise.all(Array.from({ length: 20 }, (_, i) => pets.add(newPet({ name: `🐶 ${i}` }))));
    for (const { pet } of added) expect(await pets.find(pet.id)).toEqual(pet);
    await expect(pets.add(newPet(), idempotencyKey())).resolves.toMatchObject({ replayed: false });
    const lists = Array.from({ length: 8 }, (_, i) =>
      pets.list({ limit: i + 1, ...(i % 2 > 0 && { status: 'sold' }) }),
    );
    expect((await Promise.all(lists)).map((list) => list.length)).toEqual([1, 0, 3, 0, 5, 0, 7, 0]);
  });

  it.each([
    [
      'no schema that exists',
      `SET search_path = nowhere`,
      /names no schema that exists \(nowhere\)\. .*ALTER ROLE \w+ SET/,
    ],
    ['nothing', `SET search_path = ''`, /names no schema that exists \(""\)\. .*ALTER ROLE \w+ SET/],
  ])('ends the start and fails the check if its search_path names %s', async (_what, setting, message) => {
    await (await store.open()).close();
    await alter(setting);
    await expect(store.open()).rejects.toThrow(message);
    expect(await checkStore(store.url)).toContainEqual({
      name: 'database',
      state: 'fail',
      found: expect.stringMatching(message),
    });
  });

  it.each<[what: string, sql: string, message: RegExp]>([
    [
      'use the schema of its search_path',
      'CREATE SCHEMA private',
      /may not use the schema private .*GRANT USAGE, CREATE ON SCHEMA/,
    ],
    [
      'create tables',
      'CREATE SCHEMA private; GRANT USAGE ON SCHEMA private TO guest',
      /may not create tables .*GRANT USAGE, CREATE/,
    ],
  ])('ends the start and fails the check if the role may not %s', async (_what, sql, message) => {
    await rawQuery(store.url, 'CREATE ROLE guest LOGIN; ALTER ROLE guest SET search_path = private').catch(
      () => undefined,
    );
    for (const statement of sql.split('; ')) await rawQuery(store.url, statement);
    const url = withParameter(store.url, 'user', 'guest');
    await expect(openStoreAt(url)).rejects.toThrow(message);
    expect(await checkStore(url)).toContainEqual({
      name: 'database',
      state: 'fail',
      found: expect.stringMatching(message),
    });
  });

  it('is migrated by one of several instances, whatever isolation it sets for its transactions', async () => {
    await alter(`SET default_transaction_isolation = 'repeatable read'`);
    const stores = await Promise.all([1, 2, 3, 4].map(() => openStoreAt(store.url)));
    await Promise.all(stores.map((each) => each.close()));
  });

  it.each(['SQL_ASCII', 'LATIN1'])('is rejected at startup in the encoding %s', async (encoding) => {
    const name = `${databaseName()}_other`;
    const options = `ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`;
    await rawQuery(store.url, `CREATE DATABASE ${name} ${options}`);
    try {
      const opening = openStoreAt(`${store.url}_other`);
      await expect(opening).rejects.toThrow(UsageError);
      await expect(opening).rejects.toThrow(encoding);
    } finally {
      await rawQuery(store.url, `DROP DATABASE ${name} WITH (FORCE)`);
    }
  });

  it('is rejected at startup while it is read-only, answers 503, and recovers without a restart', async () => {
    const service = await Service.start({ DATABASE_URL: store.url });
    const reconfigure = async (setting: string) => {
      await alter(setting);
      // Only new connections have it.
      const others = 'datname = current_database() AND pid <> pg_backend_pid()';
      await rawQuery(store.url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${others}`);
    };
    const pet = { name: 'Bella', categoryId: 1 };
    expect((await service.add(pet)).status).toBe(201);
    await reconfigure('SET default_transaction_read_only = on');
    await expect(openStoreAt(store.url)).rejects.toThrow(/default_transaction_read_only/);
    while ((await service.send('/health/ready')).status === 200);
    expect((await service.add(pet)).status).toBe(503);
    await reconfigure('RESET default_transaction_read_only');
    while ((await service.send('/health/ready')).status === 503);
    expect((await service.add(pet)).status).toBe(201);
    await service.stop();
  });

  it('runs no statement any more once its request has been rejected', async () => {
    const settings = readSettings({ DATABASE_URL: store.url, STATEMENT_TIMEOUT: '1200' });
    const { pets, close } = await openRepositories(settings.DATABASE_URL, settings, () => undefined);
    await pets.list({ limit: 1 });
    const other = await connectTo(store.url);
    for (const sql of ['BEGIN', 'LOCK TABLE pet']) await other.query(sql);
    const requests = [pets.add(newPet()), pets.add(newPet(), idempotencyKey()), pets.list({ limit: 1 }), pets.find(1n)];
    for (const { status } of await Promise.allSettled(requests)) expect(status).toBe('rejected');
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await until(async () => (await other.query(waiting)).length === 0, 3_000);
    await other.end();
    await close();
  });

  it('retries a create with an idempotency key whose wait for a lock other than that of its key has timed out', async () => {
    const { pets } = await store.open();
    await rawQuery(
      store.url,
      `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$`,
    );
    await rawQuery(store.url, 'CREATE TRIGGER wait BEFORE INSERT ON pet FOR EACH ROW EXECUTE FUNCTION wait()');
    const other = await connectTo(store.url);
    await other.query('SELECT pg_advisory_lock(1)');
    const adding = pets.add(newPet(), idempotencyKey());
    await delay(500);
    await other.end();
    expect((await adding).replayed).toBe(false);
    expect(await pets.list({ limit: 10 })).toHaveLength(1);
  });

  it('retries a create with an idempotency key whose id another transaction inserts', async () => {
    const { pets } = await store.open();
    const other = await connectTo(store.url);
    for (const sql of [
      'BEGIN',
      `INSERT INTO pet (id, name, category_id, status) SELECT id, 'Rex', 1, 'sold' FROM generate_series(1, 9999) AS id`,
    ])
      await other.query(sql);
    const adding = pets.add(newPet(), idempotencyKey());
    // Longer than a key that another request holds is waited for.
    await delay(2_000);
    await other.end();
    expect((await adding).replayed).toBe(false);
  });

  it('rejects a pet if a trigger has rejected or discarded it', async () => {
    const { pets } = await store.open();
    const discard = `CREATE FUNCTION discard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`;
    await rawQuery(store.url, discard);
    await rawQuery(store.url, 'CREATE TRIGGER discard BEFORE INSERT ON pet FOR EACH ROW EXECUTE FUNCTION discard()');
    const adding = [pets.add(newPet()), pets.add(newPet()), pets.add(newPet(), idempotencyKey())];
    for (const { status } of await Promise.allSettled(adding)) expect(status).toBe('rejected');
    expect(await pets.list({ limit: 1 })).toEqual([]);
    const only = discard.replace('CREATE', 'CREATE OR REPLACE').replace(
      'RETURN NULL',
      `IF NEW.name = 'Tom' THEN RAISE 'no' USING ERRCODE = 'PT409'; END IF;
        RETURN CASE NEW.name WHEN 'Rex' THEN NULL ELSE NEW END`,
    );
    await rawQuery(store.url, only);
    const some = ['Rex', 'Bella', 'Tom', 'Max'].map((name) => pets.add(newPet({ name })));
    const outcomes = await Promise.allSettled(some);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
    expect((await pets.list({ limit: 10 })).map(({ name }) => name).sort()).toEqual(['Bella', 'Max']);
  });
});

describe('a PostgreSQL that ends each connection with the packet that accepts it', () => {
  const message = (type: string, body: Buffer) => {
    const head = Buffer.from(`${type}0000`);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const packet = Buffer.concat([
    message('R', Buffer.alloc(4)),
    message('Z', Buffer.from('I')),
    message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')),
  ]);

  it('is unavailable, which ends no process', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.end(packet)).on('error', () => undefined));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const DATABASE_URL = `postgres://petstore@127.0.0.1:${port}/petstore`;
    const settings = readSettings({ DATABASE_URL, STATEMENT_TIMEOUT: '100' });
    const store = await openRepositories(settings.DATABASE_URL, settings, () => undefined);
    try {
      await expect(store.pets.list({ limit: 1 })).rejects.toThrow(DatabaseUnavailable);
    } finally {
      await store.close();
      server.close();
    }
  });
});

describe('a PostgreSQL server of its own', () => {
  let server: TestServer;
  let standby: TestServer | undefined;
  const url = (of = server) => `postgres://postgres@127.0.0.1:${of.port}/postgres`;

  beforeAll(async () => {
    server = (await newPostgres('fsync=off', 'shared_preload_libraries=pg_stat_statements'))!;
    await server.start();
  });

  afterAll(async () => {
    await standby?.remove();
    await server.remove();
  });

  it('commits durably though its configuration is reloaded with synchronous_commit=off', async () => {
    const store = await openStoreAt(url());
    try {
      for (const sql of RECORDER) await rawQuery(url(), sql);
      await store.pets.add(newPet());
      await rawQuery(url(), 'ALTER SYSTEM SET synchronous_commit = off');
      await rawQuery(url(), 'SELECT pg_reload_conf()');
      while (String(await rawQuery(url(), 'SHOW synchronous_commit')) !== 'off');
      // Sessions read the configuration before their next statement; both kinds of adds begin with another one.
      for (let i = 0; i < 5; i++) await store.pets.add(newPet(), idempotencyKey({ key: `key-${i}` }));
      await Promise.all(Array.from({ length: 20 }, () => store.pets.add(newPet())));
      expect(await recorded(url())).toEqual(['on']);
    } finally {
      await store.close();
      await rawQuery(url(), 'ALTER SYSTEM RESET synchronous_commit');
    }
  });

  it('sees one statement for all requests of a kind that arrive together', async () => {
    const store = await openStoreAt(url());
    await rawQuery(url(), 'CREATE EXTENSION pg_stat_statements');
    // For the connections, which read and write.
    await Promise.all([...addTogether(store, 'before', 2), store.pets.list({ limit: 1 })]);
    await rawQuery(url(), 'SELECT pg_stat_statements_reset()');
    const added = await Promise.all(addTogether(store, 'together', 32));
    for (const { pet } of added) expect(await store.pets.find(pet.id)).toEqual(pet);
    await Promise.all(added.flatMap(({ pet }, i) => [store.pets.find(pet.id), store.pets.list({ limit: i + 1 })]));
    const [[calls] = []] = await rawQuery(url(), `SELECT sum(calls) FROM pg_stat_statements WHERE query ~ '\\mpet\\M'`);
    // All creates, each of the finds alone, and all finds and all lists.
    expect(Number(calls)).toBe(1 + added.length + 2);
    await store.close();
  });

  it('is rejected at startup while it is a standby', async () => {
    standby = await newStandby(server);
    await standby.start();
    await expect(openStoreAt(url(standby))).rejects.toThrow(UsageError);
  });
});
