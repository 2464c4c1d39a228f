import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PersistentUrl } from '../../src/settings/database-url.js';
import { Repositories } from '../../src/adapters/persistence/persistence.module.js';
import { Database } from '../../src/adapters/persistence/typeorm/database.js';
import { Executor } from '../../src/adapters/persistence/typeorm/executor.js';
import { TypeOrmPetRepository } from '../../src/adapters/persistence/typeorm/pets/typeorm-pet.repository.js';
import { readSettings } from '../../src/settings/settings.js';
import { Proxy } from '../support/proxy.js';
import { newMariadb, TestServer } from '../support/servers.js';
import { Service } from '../support/service.js';
import { mariadb, openStoreAt } from '../support/stores.js';
import { describeApiKeyRepository, use } from './api-key-repository.contract.js';
import { describeInstances } from './instances.contract.js';
import { describeLocks } from './locks.contract.js';
import { checkStore } from './maintenance.js';
import { describePetRepository } from './pet-repository.contract.js';
import { idempotencyKey, newPet } from '../support/pets.js';
import { rawQuery } from './raw-query.js';

describePetRepository(mariadb);
describeApiKeyRepository(mariadb);
describeInstances(mariadb);
describeLocks(mariadb);

it('MariaDB is waited for if the answers together take too long at the start', async () => {
  const store = await mariadb.create();
  await (await openStoreAt(store.url)).close();
  const [proxy, url] = await Proxy.to(store.url);
  // Each answer is in time, but the dozen of them takes longer than the 3.6 s that there are.
  proxy.delay = 350;
  const settings = readSettings({ DATABASE_URL: url, STATEMENT_TIMEOUT: '600' });
  const lines: string[] = [];
  const database = new Database(settings.DATABASE_URL as PersistentUrl, settings, (line) => lines.push(line));
  try {
    await database.open();
    expect(lines).toEqual([expect.stringMatching(/^DATABASE_URL .* in time\.$/)]);
  } finally {
    await database.close();
    await proxy.close();
    await store.remove();
  }
});

describe('a MariaDB server of its own', () => {
  let server: TestServer;
  let url: string;
  /** Root is spared what init_connect sets. */
  let asRoot: string;

  beforeAll(async () => {
    server = (await newMariadb(
      ...['--completion-type=CHAIN', '--transaction-isolation=READ-UNCOMMITTED', '--character-set-server=latin1'],
      ...['--auto-increment-increment=5', '--sql-mode=', '--autocommit=OFF', '--default-storage-engine=Aria'],
      ...['--init-connect=SET NAMES latin1, SESSION max_join_size = 1', '--lower-case-table-names=1'],
    ))!;
    await server.start();
    const root = `mariadb://root@127.0.0.1:${server.port}/mysql`;
    await rawQuery(root, 'CREATE DATABASE Pets');
    await rawQuery(root, 'SET GLOBAL sql_select_limit = 2, GLOBAL sql_safe_updates = 1');
    // Root may write to a server that is read-only.
    await rawQuery(root, `CREATE USER petstore@'127.0.0.1'`);
    await rawQuery(root, `GRANT ALL ON Pets.* TO petstore@'127.0.0.1'`);
    await rawQuery(root, 'COMMIT');
    asRoot = `mariadb://root@127.0.0.1:${server.port}/Pets`;
    url = `mariadb://petstore@127.0.0.1:${server.port}/Pets`;
  });

  afterAll(() => server.remove());

  const set = (setting: string) => rawQuery(`mariadb://root@127.0.0.1:${server.port}/mysql`, `SET GLOBAL ${setting}`);

  it('keeps what was acknowledged, and reads nothing else, whatever it sets for its sessions', async () => {
    const store = await openStoreAt(url);
    const added = [
      await store.pets.add(newPet({ name: '🐶' }), idempotencyKey()),
      await store.pets.add(newPet()),
      ...(await Promise.all(Array.from({ length: 20 }, (_, i) => store.pets.add(newPet({ name: `Pet ${i}` }))))),
    ];
    // What another connection sees is committed.
    const [[count] = []] = await rawQuery(asRoot, 'SELECT count(*) FROM pet');
    expect(count).toBe(22);
    for (const { pet } of added) expect(await store.pets.find(pet.id)).toEqual(pet);
    expect(await store.pets.list({ limit: 100 })).toHaveLength(22);
    expect(await rawQuery(asRoot, `SELECT hex(name) FROM pet WHERE id = ${added[0]!.pet.id}`)).toEqual([['F09F90B6']]);
    await store.close();
    expect((await checkStore(url, 1)).filter(({ state }) => state !== 'ok')).toEqual([]);
  });

  it('ends the start and fails the check if it enforces another engine, or the account may not migrate', async () => {
    const admin = `mariadb://root@127.0.0.1:${server.port}/mysql`;
    await rawQuery(admin, 'CREATE DATABASE fresh');
    await rawQuery(admin, `CREATE USER guest@'127.0.0.1'`);
    await rawQuery(admin, `GRANT SELECT, INSERT, UPDATE, DELETE ON fresh.* TO guest@'127.0.0.1'`);
    const fresh = `mariadb://guest@127.0.0.1:${server.port}/fresh`;
    const rejected = async (message: RegExp) => {
      await expect(openStoreAt(fresh)).rejects.toThrow(message);
      const found = expect.stringMatching(message);
      expect(await checkStore(fresh)).toContainEqual({ name: 'database', state: 'fail', found });
    };
    await rejected(/ALTER command denied .* Migrations need ALL\.$/);
    await rawQuery(admin, `GRANT ALL ON fresh.* TO guest@'127.0.0.1'`);
    await set('enforce_storage_engine = Aria');
    await rejected(/enforce_storage_engine must be InnoDB, or not set\.$/);
    await set('enforce_storage_engine = NULL');
    await (await openStoreAt(fresh)).close();
  });

  it('replays a pet only once the commit that added it is on disk', async () => {
    const { pets, close } = await openStoreAt(url);
    const flushed = async () =>
      Number((await rawQuery(asRoot, `SHOW GLOBAL STATUS LIKE 'Innodb_lsn_flushed'`))[0]?.[1]);
    await pets.add(newPet(), idempotencyKey({ key: 'flushed' }));
    // Several times: the server itself may write something in between.
    for (let i = 0; i < 5; i++) {
      const before = await flushed();
      expect((await pets.add(newPet(), idempotencyKey({ key: 'flushed' }))).replayed).toBe(true);
      // A replay that writes nothing would flush nothing, not even the commit of the pet.
      expect(await flushed()).toBeGreaterThan(before);
    }
    await close();
  });

  it.each<[what: string, write: (opened: Repositories, count: number) => Promise<unknown>]>([
    [
      'creates with a key',
      ({ pets }, count) =>
        Promise.all(
          Array.from({ length: count }, (_, i) => pets.add(newPet(), idempotencyKey({ key: `${count} ${i}` }))),
        ),
    ],
    [
      'uses of keys',
      ({ keys }, count) => keys.recordUses(Array.from({ length: count }, (_, i) => use({ digest: `${count} ${i}` }))),
    ],
  ])('sees as many statements for 64 %s as for one', async (_what, write) => {
    const opened = await openStoreAt(url);
    const statements = async () => Number((await rawQuery(asRoot, `SHOW GLOBAL STATUS LIKE 'Questions'`))[0]?.[1]);
    await write(opened, 2);
    const counts: number[] = [];
    for (const together of [1, 64]) {
      const before = await statements();
      await write(opened, together);
      counts.push((await statements()) - before);
    }
    expect(counts[1]).toBe(counts[0]);
    await opened.close();
  });

  it('keeps what was acknowledged after a write for which no time was left', async () => {
    // To switch it on commits, which hides what CHAIN does.
    await set('autocommit = ON');
    const settings = readSettings({ DATABASE_URL: url });
    const database = new Database(settings.DATABASE_URL as PersistentUrl, settings, () => undefined);
    await database.open();
    await expect(database.run('transaction', () => Promise.resolve(), performance.now())).rejects.toThrow('in time');
    const { pet } = await new TypeOrmPetRepository(new Executor(database, settings), () => undefined).add(newPet());
    // The end of its connection rolls back what is not committed.
    await database.close();
    expect(await rawQuery(asRoot, `SELECT count(*) FROM pet WHERE id = ${pet.id}`)).toEqual([[1]]);
    await set('autocommit = OFF');
  });

  it('rejects a pet alone that a trigger rejects', async () => {
    const store = await openStoreAt(url);
    await rawQuery(
      asRoot,
      `CREATE TRIGGER reject BEFORE INSERT ON pet FOR EACH ROW
        IF NEW.name = 'Tom' THEN SIGNAL SQLSTATE 'PT409'; END IF`,
    );
    try {
      const outcomes = await Promise.allSettled(['Tom', 'Max'].map((name) => store.pets.add(newPet({ name }))));
      expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    } finally {
      await rawQuery(asRoot, 'DROP TRIGGER reject');
      await store.close();
    }
  });

  it('is rejected at startup while it is read-only, answers 503, and recovers without a restart', async () => {
    const service = await Service.start({ DATABASE_URL: url });
    const pet = { name: 'Bella', categoryId: 1 };
    try {
      await set('read_only = 1');
      await expect(openStoreAt(url)).rejects.toThrow(/read-only/);
      expect((await service.add(pet)).status).toBe(503);
      while ((await service.send('/health/ready')).status === 200);
      await set('read_only = 0');
      while ((await service.send('/health/ready')).status === 503);
      expect((await service.add(pet)).status).toBe(201);
    } finally {
      await set('read_only = 0');
      await service.stop();
    }
  });

  it('is rejected at startup and by check, is not ready, and adds no pet while its commits are not durable', async () => {
    const pet = { name: 'Bella', categoryId: 1 };
    const lines: string[] = [];
    const service = await Service.start({ DATABASE_URL: url, LOG_LEVEL: 'warn' }, (line) => lines.push(line));
    try {
      expect((await service.add(pet)).status).toBe(201);
      await set('innodb_flush_log_at_trx_commit = 2');
      const found = expect.stringContaining('innodb_flush_log_at_trx_commit must be 1');
      expect(await checkStore(url)).toMatchObject([{ name: 'database', state: 'fail', found }]);
      await expect(openStoreAt(url)).rejects.toThrow(/innodb_flush_log_at_trx_commit/);
      expect((await service.send('/health/ready')).status).toBe(503);
      expect((await service.add(pet)).status).toBe(503);
      expect(lines).toEqual([found]);
      await set('innodb_flush_log_at_trx_commit = 1');
      expect((await service.send('/health/ready')).status).toBe(200);
      expect((await service.add(pet)).status).toBe(201);
    } finally {
      await set('innodb_flush_log_at_trx_commit = 1');
      await service.stop();
    }
  });
});
