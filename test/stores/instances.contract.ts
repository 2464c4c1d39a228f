import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DatabaseUnavailable } from '../../src/application/errors.js';
import { UsageError } from '../../src/messages/usage-error.js';
import { IDEMPOTENCY_KEY_LIFETIME } from '../../src/application/pets/pet-repository.port.js';
import { INT64_MIN } from '../../src/domain/int64.js';
import { Repositories } from '../../src/adapters/persistence/persistence.module.js';
import { freshStore, laterTurn } from '../support/fresh-store.js';
import { StoreKind } from '../support/stores.js';
import { setWallClock } from '../support/wall-clock.js';
import { CREATED, digest, LATER, newKey, use, usesOf } from './api-key-repository.contract.js';
import { addAll, clearKeys, idempotencyKey, newPet } from '../support/pets.js';
import { rawQuery } from './raw-query.js';

/** What every database does for several instances, and after a restart. */
export function describeInstances(kind: StoreKind): void {
  describe(`instances on one ${kind.name} database`, () => {
    const store = freshStore(kind);
    let one: Repositories;
    let other: Repositories;

    beforeEach(async () => {
      // At once: on a server, one of them creates the schema while the other one waits.
      [one, other] = await Promise.all([store.open(), store.open()]);
    });

    it('find everything again after a restart, and continue the ids', async () => {
      const pets = await addAll(one.pets, [newPet(), newPet({ name: 'Rex', categoryId: INT64_MIN, status: 'sold' })]);
      await one.keys.add(newKey());
      await one.keys.recordUses([use({ deprecatedCalls: 1, lastDeprecatedCallAt: CREATED })]);
      await Promise.all([one.close(), other.close()]);
      const again = await store.open();
      expect(await again.pets.list({ limit: 10 })).toEqual(pets.toReversed());
      expect(await again.keys.list()).toEqual([newKey()]);
      expect(await again.keys.uses()).toEqual([use({ deprecatedCalls: 1, lastDeprecatedCallAt: CREATED })]);
      expect((await again.pets.add(newPet())).pet.id).toBeGreaterThan(pets[1]!.id);
    });

    it('read what the other one has just committed, and see another version, if there is one', async () => {
      for (let i = 0; i < 5; i++) {
        const expected = await one.pets.list({ limit: 5 });
        const before = one.pets.version();
        const { pet } = await other.pets.add(newPet({ name: `Pet ${i}` }));
        await other.keys.add(newKey({ digest: digest(i) }));
        await laterTurn();
        if (before !== undefined) expect(one.pets.version()).not.toBe(before);
        expect(await one.pets.list({ limit: 5 })).toEqual([pet, ...expected].slice(0, 5));
        expect(await one.pets.list({ limit: 1, status: 'available' })).toEqual([pet]);
        expect(await one.pets.find(pet.id)).toEqual(pet);
        await other.keys.revoke(digest(i), LATER);
        expect(await one.keys.find(digest(i))).toEqual(newKey({ digest: digest(i), revokedAt: LATER }));
      }
    });

    it('read what was changed or deleted by hand', async () => {
      const { pet } = await one.pets.add(newPet());
      expect(await one.pets.find(pet.id)).toEqual(pet);
      await rawQuery(store.url, `UPDATE pet SET name = 'Rex'`);
      await laterTurn();
      expect(await one.pets.find(pet.id)).toEqual({ ...pet, name: 'Rex' });
      await rawQuery(store.url, 'DELETE FROM pet');
      await laterTurn();
      expect(await one.pets.find(pet.id)).toBeUndefined();
      // Not even the id of a deleted pet is reused.
      expect((await one.pets.add(newPet())).pet.id).toBeGreaterThan(pet.id);
    });

    it('get ids behind those of rows that were inserted with their ids', async () => {
      const { pet } = await one.pets.add(newPet());
      for (const key of [undefined, idempotencyKey()]) {
        const [newest] = await one.pets.list({ limit: 1 });
        const taken = [1n, 2n, 3n, 40n].map((i) => newest!.id + i);
        const rows = taken.map((id) => `(${id}, 'Restored', 1, 'sold')`).join();
        await rawQuery(store.url, `INSERT INTO pet (id, name, category_id, status) VALUES ${rows}`);
        const adding = [one, other].map(({ pets }) => pets.add(newPet(), key && { ...key, key: `${pet.id}` }));
        for (const added of await Promise.all(adding)) expect(added.pet.id).toBeGreaterThan(taken.at(-1)!);
      }
    });

    it('add one pet for each key of batches that share their keys in another order', async () => {
      for (let round = 0; round < 5; round++) {
        const keys = Array.from({ length: 24 }, (_, i) => idempotencyKey({ key: `${round} ${i}` }));
        const batches = [one, other].map(({ pets }, i) =>
          Promise.all((i === 0 ? keys : keys.toReversed()).map((key) => pets.add(newPet(), key))),
        );
        const [mine, theirs] = await Promise.all(batches);
        expect(theirs!.toReversed().map(({ pet }) => pet)).toEqual(mine!.map(({ pet }) => pet));
        expect([...mine!, ...theirs!].filter(({ replayed }) => !replayed)).toHaveLength(24);
      }
    });

    it('replay the pet as it was added, whatever has changed since', async () => {
      const { pet } = await one.pets.add(newPet(), idempotencyKey());
      await rawQuery(store.url, `UPDATE pet SET name = 'Changed'`);
      expect(await other.pets.add(newPet(), idempotencyKey())).toEqual({ pet, replayed: true });
      expect((await other.pets.find(pet.id))?.name).toBe('Changed');
    });

    it('add one pet anew for an idempotency key whose pet was deleted by hand', async () => {
      const { pet } = await one.pets.add(newPet(), idempotencyKey());
      await rawQuery(store.url, 'DELETE FROM pet');
      const again = await Promise.all([one, other, one].map(({ pets }) => pets.add(newPet(), idempotencyKey())));
      expect(again.filter(({ replayed }) => !replayed)).toHaveLength(1);
      const [next] = await other.pets.list({ limit: 10 });
      expect(next!.id).toBeGreaterThan(pet.id);
      expect(again.map((each) => each.pet)).toEqual([next, next, next]);
    });

    it('reject one pet that cannot be stored, and store those that are added at once', async () => {
      const faulty = newPet({ name: null as unknown as string });
      const adding = [newPet(), faulty, newPet()].map((pet) => one.pets.add(pet));
      const outcomes = await Promise.allSettled([...adding, one.pets.add(faulty, idempotencyKey())]);
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
      expect(await other.pets.list({ limit: 10 })).toHaveLength(2);
      // The key was stored no more than its pet.
      expect((await other.pets.add(newPet(), idempotencyKey())).replayed).toBe(false);
    });

    it('compare the age of an idempotency key by the clock of the database, whatever their own says', async () => {
      const { pet } = await one.pets.add(newPet(), idempotencyKey());
      for (const days of [-2, 2]) {
        setWallClock(Date.now() + days * IDEMPOTENCY_KEY_LIFETIME);
        expect(await clearKeys(store.url)).toBe(0);
        expect(await other.pets.add(newPet(), idempotencyKey())).toEqual({ pet, replayed: true });
        jest.useRealTimers();
      }
    });

    it('let one of two rotations of a key win, and change nothing for the other one', async () => {
      const retired = { name: 'shop.old', expiresAt: LATER };
      await one.keys.add(newKey());
      const rotations = [one, other].map(({ keys }, i) =>
        keys.rotate(newKey(), retired, newKey({ digest: digest(i + 2), createdAt: LATER })),
      );
      const outcomes = await Promise.all(rotations);
      expect(outcomes.toSorted()).toEqual([false, true]);
      const successor = newKey({ digest: digest(outcomes.indexOf(true) + 2), createdAt: LATER });
      expect(await one.keys.list()).toEqual([newKey(retired), successor]);
    });

    it('let one of two keys with the same name win', async () => {
      for (let round = 0; round < 5; round++) {
        const adding = [one, other, one].map(({ keys }, i) =>
          keys.add(newKey({ digest: `${round} ${i}`, name: `shop-${round}` })),
        );
        const outcomes = await Promise.allSettled(adding);
        const rejected = outcomes.filter(({ status }) => status === 'rejected');
        expect(rejected).toEqual(Array(2).fill({ status: 'rejected', reason: expect.any(UsageError) }));
      }
      expect(await one.keys.list()).toHaveLength(5);
    });

    it('add up the uses that both record at once, and record all of them or none', async () => {
      const recorded = [1, 2, 3].map((n) =>
        use({ digest: digest(n), deprecatedCalls: 1, lastDeprecatedCallAt: CREATED }),
      );
      const faulty = recorded.map((each, i) => (i === 1 ? { ...each, name: null as unknown as string } : each));
      await expect(one.keys.recordUses(faulty)).rejects.toThrow();
      const recording = Array.from({ length: 10 }, (_, i) => [one, other][i % 2]!.keys.recordUses(recorded));
      await Promise.all(recording);
      expect(await usesOf(other.keys)).toEqual(recorded.map((each) => ({ ...each, deprecatedCalls: 10 })));
    });

    it('reject with DatabaseUnavailable once they are closed', async () => {
      await one.close();
      const { pets, keys } = one;
      const calls = [
        pets.add(newPet()),
        pets.add(newPet(), idempotencyKey()),
        pets.find(1n),
        pets.list({ limit: 1 }),
        keys.add(newKey()),
        keys.find(digest(1)),
        keys.list(),
        keys.revoke(digest(1), CREATED),
        keys.rotate(newKey(), newKey(), newKey({ digest: digest(2) })),
        keys.recordUses([use()]),
        keys.uses(),
      ];
      const reasons = (await Promise.allSettled(calls)).map((each) => 'reason' in each && (each.reason as unknown));
      expect(reasons).toEqual(calls.map(() => expect.any(DatabaseUnavailable)));
      expect(await other.pets.list({ limit: 1 })).toEqual([]);
    });
  });
}
