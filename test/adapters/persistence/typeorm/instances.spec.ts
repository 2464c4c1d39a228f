import { beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { LastingUrl } from '../../../../src/adapters/persistence/database-url.js';
import { withEngine } from '../../../../src/adapters/persistence/typeorm/open-database.js';
import { Store } from '../../../../src/open-store.js';
import { IdempotencyInProgress, StoreUnavailable } from '../../../../src/application/errors.js';
import { IDEMPOTENCY_KEY_LIFETIME, IdempotencyKey } from '../../../../src/application/pets/pet-repository.port.js';
import { readConfig } from '../../../../src/config.js';
import { NewPet } from '../../../../src/domain/pets/pet.js';
import { freshStore } from '../../../support/fresh-store.js';
import { describeOnServers, itIfHas } from '../../../support/on-servers.js';
import { lastingKinds } from '../../../support/stores.js';

const bella: NewPet = { name: 'Bella', categoryId: 1n, status: 'available' };

function sent(key: string): IdempotencyKey {
  return { scope: 'a'.repeat(64), key, fingerprint: 'f'.repeat(64), at: new Date('2026-11-21T12:00:00.000Z') };
}

describe.each(lastingKinds)('two instances on one $name', (kind) => {
  const store = freshStore(kind);
  let one: Store;
  let other: Store;

  beforeEach(async () => {
    // Both at once: the schema is made by one of them, and the other waits for it.
    [one, other] = await Promise.all([store.open(), store.open()]);
  });

  it('know each other’s idempotency keys', async () => {
    const { pet } = await one.pets.add(bella, sent('first'));
    expect(await other.pets.add(bella, sent('first'))).toEqual({ pet, replayed: true });
  });

  it('add one pet for an idempotency key that comes to both at the same time', async () => {
    for (let round = 0; round < 20; round++) {
      const twins = [one, other, one, other].map(({ pets }) => pets.add(bella, sent(`key-${round}`)));
      const added = await Promise.all(twins);
      expect(new Set(added.map(({ pet }) => pet.id)).size).toBe(1);
      expect(added.filter(({ replayed }) => !replayed)).toHaveLength(1);
    }
    expect(await one.pets.list({ limit: 100 })).toHaveLength(20);
  });

  it('take the key of a pet that was removed by hand for one that was never sent', async () => {
    const { pet } = await one.pets.add(bella, sent('first'));
    const { database, databaseLimits } = readConfig({ DATABASE_URL: store.url });
    await withEngine(database as LastingUrl, databaseLimits, async ({ dataSource }) => {
      await dataSource.query('DELETE FROM pet');
    });
    const again = await Promise.all([one, other, one].map(({ pets }) => pets.add(bella, sent('first'))));
    expect(again.filter(({ replayed }) => !replayed)).toHaveLength(1);
    const [next] = await other.pets.list({ limit: 10 });
    expect(next?.id).toBeGreaterThan(pet.id);
    expect(again.map((each) => each.pet)).toEqual([next, next, next]);
  });

  it('give ids of which none comes twice, each above all that were given before', async () => {
    const given = new Set<bigint>();
    let newest = 0n;
    for (let round = 0; round < 10; round++) {
      const added = await Promise.all(
        Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? one : other).pets.add({ ...bella, name: `${round}-${i}` })),
      );
      for (const { pet } of added) {
        expect(pet.id).toBeGreaterThan(newest);
        given.add(pet.id);
      }
      newest = [...given].reduce((a, b) => (a > b ? a : b));
    }
    expect(given.size).toBe(200);
    const listed = (await other.pets.list({ limit: 1_000 })).map(({ id }) => id);
    expect(listed).toEqual([...given].sort((a, b) => (a < b ? 1 : -1)));
  });
});

describeOnServers('an idempotency key that another instance on $name is at work on', (kind) => {
  const store = freshStore(kind);

  it('is waited for, then left to be asked for again, and keeps nothing else waiting', async () => {
    const { pets } = await store.open();
    const { database, databaseLimits } = readConfig({ DATABASE_URL: store.url });
    await withEngine(database as LastingUrl, databaseLimits, async ({ dataSource }) => {
      const runner = dataSource.createQueryRunner();
      await runner.startTransaction();
      const { scope, key } = sent('first');
      await runner.query(
        `INSERT INTO idempotency_key (scope, token, fingerprint, pet_id, created_at) VALUES ('${scope}', '${key}', '', 0, '')`,
      );
      let refused: unknown;
      const waiting = pets.add(bella, sent('first')).catch((error: unknown) => (refused = error));
      await Promise.all([pets.add(bella), pets.add(bella, sent('second'))]);
      expect(refused).toBeUndefined();
      await waiting;
      expect(refused).toBeInstanceOf(IdempotencyInProgress);
      await runner.rollbackTransaction();
      await runner.release();
    });
    expect((await pets.add(bella, sent('first'))).replayed).toBe(false);
  });

  itIfHas(kind, 'table locks')('is not taken for one if it is the pets that are locked', async () => {
    const { pets } = await store.open();
    await pets.add(bella);
    const { database, databaseLimits } = readConfig({ DATABASE_URL: store.url });
    await withEngine(database as LastingUrl, databaseLimits, async ({ dataSource }) => {
      const runner = dataSource.createQueryRunner();
      await runner.startTransaction();
      // Either keeps others from adding a pet.
      await runner.query(
        kind.name === 'PostgreSQL' ? 'LOCK TABLE pet IN SHARE MODE' : 'SELECT * FROM pet WHERE id > 0 FOR UPDATE',
      );
      await expect(pets.add(bella, sent('first'))).rejects.toThrow(StoreUnavailable);
      await runner.rollbackTransaction();
      await runner.release();
    });
    expect((await pets.add(bella, sent('first'))).replayed).toBe(false);
  });
});

describeOnServers('an idempotency key that is renewed on $name while old ones are forgotten', (kind) => {
  const store = freshStore(kind);

  itIfHas(kind, 'lock waits')('is not forgotten', async () => {
    const { pets } = await store.open();
    const old = sent('first');
    const renewed = { ...old, at: new Date(old.at.getTime() + IDEMPOTENCY_KEY_LIFETIME) };
    const { pet } = await pets.add(bella, old);
    const { database, databaseLimits } = readConfig({ DATABASE_URL: store.url });
    await withEngine(database as LastingUrl, databaseLimits, async ({ dataSource }) => {
      const runner = dataSource.createQueryRunner();
      await runner.startTransaction();
      // As the service renews a key.
      await runner.query('DELETE FROM idempotency_key');
      await runner.query(
        `INSERT INTO idempotency_key (scope, token, fingerprint, pet_id, created_at)
          VALUES ('${old.scope}', '${old.key}', '${old.fingerprint}', ${pet.id}, '${renewed.at.toISOString()}')`,
      );
      let ended = false;
      const forgetting = pets.forgetIdempotencyKeys(renewed.at).finally(() => (ended = true));
      const waiting =
        kind.name === 'PostgreSQL'
          ? `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
          : `SELECT 1 FROM information_schema.innodb_trx JOIN information_schema.processlist ON id = trx_mysql_thread_id
              WHERE trx_state = 'LOCK WAIT' AND db = DATABASE()`;
      // MariaDB looks at its transactions anew only if nobody asked for 0.1 seconds.
      while (!ended && (await dataSource.query<unknown[]>(waiting)).length === 0) await sleep(150);
      expect(ended).toBe(false);
      await runner.commitTransaction();
      await runner.release();
      await forgetting;
    });
    expect(await pets.add(bella, renewed)).toEqual({ pet, replayed: true });
  });
});
