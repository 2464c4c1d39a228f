import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { databaseUrl, PersistentUrl } from '../../src/settings/database-url.js';
import { requestKeyOf } from '../../src/adapters/persistence/typeorm/pets/pet-table.js';
import { withDataSourceAt } from '../../src/adapters/persistence/typeorm/data-source.js';
import { migrate } from '../../src/adapters/persistence/typeorm/migrate.js';
import { IdempotencyInProgress, DatabaseUnavailable } from '../../src/application/errors.js';
import { IDEMPOTENCY_KEY_LIFETIME } from '../../src/application/pets/pet-repository.port.js';
import { freshStore } from '../support/fresh-store.js';
import { connectTo, Session, withParameter } from '../support/sql.js';
import { openStoreAt, StoreKind } from '../support/stores.js';
import { ageKeys, clearKeys, idempotencyKey, newPet } from '../support/pets.js';

/** What a database server does while another transaction holds locks. */
export function describeLocks(kind: StoreKind): void {
  describe(`another transaction on ${kind.name}`, () => {
    const store = freshStore(kind);
    let sessions: Session[] = [];
    const isPostgres = kind.name === 'PostgreSQL';

    afterEach(async () => {
      for (const session of sessions) await session.end();
      sessions = [];
    });

    async function transaction(...statements: string[]): Promise<Session> {
      const session = await connectTo(store.url);
      sessions.push(session);
      for (const statement of ['START TRANSACTION', ...statements]) await session.query(statement);
      return session;
    }

    /** Creates a pet as a request with this key does that is in flight. */
    const insertTwin = (key = idempotencyKey()) =>
      `INSERT INTO pet (name, category_id, status, request_key, fingerprint, requested_at)
        VALUES ('Bella', 1, 'available', '${requestKeyOf(key)}', '${key.fingerprint}', ${Date.now()})`;

    /** Selects a row while a connection to the database waits for a lock. */
    const waiting = isPostgres
      ? `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
      : `SELECT 1 FROM information_schema.processlist WHERE db = DATABASE() AND
          (state LIKE 'Waiting for%lock' OR id IN (SELECT trx_mysql_thread_id FROM information_schema.innodb_trx
            WHERE trx_state = 'LOCK WAIT'))`;

    it.each([
      ['the pets', ['LOCK TABLE pet IN SHARE MODE'], ['SELECT * FROM pet WHERE id > 0 FOR UPDATE']],
      ['their table', ['LOCK TABLE pet'], ['LOCK TABLES pet READ']],
    ])('that locks %s makes an add with an idempotency key unavailable', async (_what, ...[onPostgres, onMariadb]) => {
      const { pets } = await store.open();
      await pets.add(newPet());
      const other = await transaction(...(isPostgres ? onPostgres : onMariadb));
      const adding = pets.add(newPet(), idempotencyKey(), performance.now() + 2_500);
      await expect(adding).rejects.toThrow(DatabaseUnavailable);
      await other.query(isPostgres ? 'ROLLBACK' : 'UNLOCK TABLES; ROLLBACK');
      // The server may have run the abandoned statement once the lock was released.
      const { pet } = await pets.add(newPet(), idempotencyKey());
      expect(await pets.list({ limit: 1 })).toEqual([pet]);
      expect(await pets.list({ limit: 10 })).toHaveLength(2);
    });

    it('that holds an idempotency key makes no other wait for the clearing of old keys', async () => {
      const { pets } = await store.open();
      const old = Array.from({ length: 50 }, (_, i) => idempotencyKey({ key: `old ${i}` }));
      await Promise.all(old.map((each) => pets.add(newPet(), each)));
      await ageKeys(store.url, IDEMPOTENCY_KEY_LIFETIME);
      const other = await transaction(insertTwin(idempotencyKey({ key: 'other' })));
      const clearing = clearKeys(store.url).catch(() => 0);
      await delay(100);
      const begun = performance.now();
      const adding = pets.add(newPet(), idempotencyKey()).then(() => performance.now() - begun);
      await Promise.allSettled([adding, clearing]);
      await other.query('ROLLBACK');
      expect(await adding).toBeLessThan(1_000);
    });

    it('that holds an idempotency key rejects its twin in the end, and delays no other pet', async () => {
      const { pets } = await store.open();
      await pets.add(newPet(), idempotencyKey({ key: 'before' }));
      const other = await transaction(insertTwin());
      const twin = pets.add(newPet(), idempotencyKey()).catch((error: unknown) => error);
      let isPending = true;
      void twin.finally(() => (isPending = false));
      const rest = Array.from({ length: 31 }, (_, i) => pets.add(newPet(), idempotencyKey({ key: `key-${i}` })));
      rest.push(pets.add(newPet()));
      expect(new Set((await Promise.all(rest)).map(({ pet }) => pet.id)).size).toBe(32);
      expect(isPending).toBe(true);
      expect(await twin).toBeInstanceOf(IdempotencyInProgress);
      await other.query('ROLLBACK');
      expect((await pets.add(newPet(), idempotencyKey())).replayed).toBe(false);
    });

    it('that holds a table lets requests pass while a migration waits for it, and is named after its timeout', async () => {
      await (await store.open()).close();
      const session = await connectTo(store.url);
      sessions.push(session);
      await session.query('ALTER TABLE api_key DROP COLUMN active_name');
      await session.query(`DELETE FROM migrations WHERE name LIKE 'UniqueKeyNames%'`);
      const other = await transaction('SELECT count(*) FROM api_key');
      const [[id] = []] = await other.query(`SELECT ${isPostgres ? 'pg_backend_pid()' : 'connection_id()'}`);
      const url = databaseUrl('DATABASE_URL', store.url) as PersistentUrl;
      const failing = withDataSourceAt(url, (source) => migrate(source, undefined, undefined, 0));
      await expect(failing).rejects.toThrow(new RegExp(` ${String(id)}\\D.* may hold`));
      const applied: string[] = [];
      const migrating = withDataSourceAt(url, (source) => migrate(source, undefined, (name) => applied.push(name)));
      while ((await session.query(waiting)).length === 0) await delay(50);
      await session.query('SELECT count(*) FROM api_key');
      await other.query('ROLLBACK');
      await migrating;
      expect(applied).toEqual(['UniqueKeyNames1795651200000']);
    });

    it('that makes all writes wait does not make reads wait', async () => {
      const opened = await openStoreAt(withParameter(store.url, 'pool', 4));
      try {
        const { pets, keys } = opened;
        const other = await transaction(isPostgres ? 'LOCK TABLE pet IN SHARE MODE' : 'LOCK TABLES pet READ');
        let settled = 0;
        const adding = Array.from({ length: 20 }, (_, i) =>
          pets.add(newPet(), idempotencyKey({ key: `key-${i}` })).finally(() => settled++),
        );
        for (let i = 0; i < 20; i++) {
          expect(await pets.list({ limit: 1 })).toEqual([]);
          expect(await pets.find(1n)).toBeUndefined();
          expect(await keys.find('absent')).toBeUndefined();
        }
        expect(settled).toBe(0);
        await other.query(isPostgres ? 'ROLLBACK' : 'UNLOCK TABLES');
        await Promise.all(adding);
      } finally {
        await opened.close();
      }
    });
  });
}
