import { beforeEach, describe, expect, it } from '@jest/globals';
import { IdempotencyKeyReused, StoreUnavailable } from '../../src/application/errors.js';
import {
  IDEMPOTENCY_KEY_LIFETIME,
  IdempotencyKey,
  PetRepository,
} from '../../src/application/pets/pet-repository.port.js';
import { INT64_MAX, INT64_MIN } from '../../src/domain/int64.js';
import { NewPet, Pet, PET_STATUSES } from '../../src/domain/pets/pet.js';
import { freshStore, laterTurn } from '../support/fresh-store.js';
import { StoreKind } from '../support/stores.js';

const NOW = new Date('2026-11-20T12:00:00.000Z');

const NAMES = [
  'Bella',
  ' Bella',
  'Bella ',
  'Bella  ',
  'bella',
  'BELLA',
  '\u00a0\u3000Bella\u2003',
  '🐶',
  '👩‍👩‍👧‍👦🏳️‍🌈',
  'Zo\u00eb',
  'Zoe\u0308',
  'Zoe',
  'ｚｏｅ',
  'Straße',
  'ı İ ſ K',
  '\u202egnipeels\u202c\u200f',
  '\u200b\ufeff\u2060x',
  '\ufdd0\u{10ffff}\ufffd',
  `'; DROP TABLE pet; --`,
  '"quoted" \'once\' `twice` \\\' \\" \\',
  '%_?:name$1{}[]<>&',
  'null',
  '0',
  'a'.repeat(255),
  '\u{1f436}'.repeat(255),
];

function newPet(fields: Partial<NewPet> = {}): NewPet {
  return { name: 'Bella', categoryId: 1n, status: 'available', ...fields };
}

function sent(fields: Partial<IdempotencyKey> = {}): IdempotencyKey {
  return { scope: 'a'.repeat(64), key: 'first', fingerprint: 'f'.repeat(64), at: NOW, ...fields };
}

function ids(pets: readonly Pet[]): bigint[] {
  return pets.map(({ id }) => id);
}

/** Adds pets one after the other, and resolves to them in that order. */
async function addAll(pets: PetRepository, news: readonly NewPet[]): Promise<Pet[]> {
  const added: Pet[] = [];
  for (const each of news) added.push((await pets.add(each)).pet);
  return added;
}

/** What every store of pets does, whatever it is made of. */
export function describePetRepository(kind: StoreKind): void {
  describe(`the pets in ${kind.name}`, () => {
    const store = freshStore(kind);
    let pets: PetRepository;

    beforeEach(async () => {
      ({ pets } = await store.open());
    });

    it('resolves to the pet as it was stored, with an id', async () => {
      const { pet, replayed } = await pets.add(newPet({ name: 'Rex', categoryId: 7n, status: 'sold' }));
      expect(pet).toStrictEqual({ id: pet.id, name: 'Rex', categoryId: 7n, status: 'sold' });
      expect(pet.id).toBeGreaterThan(0n);
      expect(replayed).toBe(false);
      expect(await pets.find(pet.id)).toStrictEqual(pet);
      expect(await pets.list({ limit: 2 })).toStrictEqual([pet]);
    });

    it('gives each pet an id above all those before it', async () => {
      const added = await addAll(pets, Array<NewPet>(10).fill(newPet()));
      for (const [index, { id }] of added.entries()) if (index > 0) expect(id).toBeGreaterThan(ids(added)[index - 1]!);
    });

    it('gives pets that are added at once an id each', async () => {
      const last = (await pets.add(newPet())).pet.id;
      const names = Array.from({ length: 600 }, (_, index) => `Pet ${index}`);
      const added = await Promise.all(names.map((name) => pets.add(newPet({ name }))));
      expect(added.map(({ pet }) => pet.name)).toEqual(names);
      expect(new Set(added.map(({ pet }) => pet.id)).size).toBe(600);
      for (const { pet } of added) expect(pet.id).toBeGreaterThan(last);
      const stored = new Map((await pets.list({ limit: 1000 })).map((pet) => [pet.id, pet.name]));
      expect(stored.size).toBe(601);
      for (const { pet } of added) expect(stored.get(pet.id)).toBe(pet.name);
    });

    it('gives back every name code point by code point', async () => {
      for (const name of NAMES) {
        const { pet } = await pets.add(newPet({ name }));
        expect(pet.name).toBe(name);
        expect((await pets.find(pet.id))?.name).toBe(name);
      }
      expect((await pets.list({ limit: 100 })).map(({ name }) => name)).toEqual([...NAMES].reverse());
    });

    it('gives back every int64 exactly as a category', async () => {
      const values = [
        INT64_MIN,
        INT64_MIN + 1n,
        -(2n ** 53n) - 1n,
        -1n,
        0n,
        1n,
        2n ** 53n + 1n,
        INT64_MAX - 1n,
        INT64_MAX,
      ];
      for (const categoryId of values) {
        const { pet } = await pets.add(newPet({ categoryId }));
        expect(pet.categoryId).toBe(categoryId);
        expect((await pets.find(pet.id))?.categoryId).toBe(categoryId);
      }
      expect((await pets.list({ limit: 100 })).map(({ categoryId }) => categoryId)).toEqual([...values].reverse());
    });

    it('keeps the pet as it was at the call, whatever the caller makes of its own afterwards', async () => {
      const mine = { ...newPet({ name: 'Before' }) } as { -readonly [Field in keyof NewPet]: NewPet[Field] };
      const adding = pets.add(mine);
      mine.name = 'During';
      const { pet } = await adding;
      Object.assign(mine, newPet({ name: 'After', categoryId: 2n, status: 'sold' }));
      const stored = { id: pet.id, ...newPet({ name: 'Before' }) };
      expect(pet).toEqual(stored);
      expect(await pets.find(pet.id)).toEqual(stored);
      expect(await pets.list({ limit: 1 })).toEqual([stored]);
    });

    it('finds nothing under an id that no pet has, whichever int64 it is', async () => {
      const { pet } = await pets.add(newPet());
      for (const id of [INT64_MIN, -(2n ** 53n), -1n, 0n, pet.id + 1n, 2n ** 53n + 1n, pet.id + 2n ** 32n, INT64_MAX]) {
        expect(await pets.find(id)).toBeUndefined();
      }
    });

    it('lists nothing if nothing is', async () => {
      expect(await pets.list({ limit: 20 })).toEqual([]);
      expect(await pets.list({ limit: 20, status: 'sold', before: 5n })).toEqual([]);
    });

    it('lists by descending id, at most as many as asked for', async () => {
      const added = await addAll(pets, Array<NewPet>(7).fill(newPet()));
      const newestFirst = added.toReversed();
      for (const limit of [1, 2, 6, 7, 8, 101]) expect(await pets.list({ limit })).toEqual(newestFirst.slice(0, limit));
    });

    it('lists only what lies below an id', async () => {
      const added = await addAll(pets, Array<NewPet>(5).fill(newPet()));
      const below = (before: bigint) => pets.list({ before, limit: 100 }).then(ids);
      const [first, , third, , fifth] = ids(added) as [bigint, bigint, bigint, bigint, bigint];
      const newestFirst = ids(added).reverse();
      expect(await below(third)).toEqual(newestFirst.slice(3));
      expect(await below(first)).toEqual([]);
      for (const nothing of [0n, -1n, INT64_MIN]) expect(await below(nothing)).toEqual([]);
      for (const all of [fifth + 1n, 2n ** 53n + 1n, INT64_MAX]) expect(await below(all)).toEqual(newestFirst);
    });

    it('lists only what has a status, below an id or not', async () => {
      const added = await addAll(
        pets,
        Array.from({ length: 12 }, (_, index) => newPet({ status: PET_STATUSES[index % 3] })),
      );
      for (const status of PET_STATUSES) {
        const expected = ids(added.filter((pet) => pet.status === status).reverse());
        expect(ids(await pets.list({ status, limit: 100 }))).toEqual(expected);
        expect(ids(await pets.list({ status, limit: 2 }))).toEqual(expected.slice(0, 2));
        expect(ids(await pets.list({ status, before: expected[1], limit: 100 }))).toEqual(expected.slice(2));
      }
    });

    it('lists nothing of a status that no pet has', async () => {
      await pets.add(newPet({ status: 'available' }));
      expect(await pets.list({ status: 'sold', limit: 20 })).toEqual([]);
    });

    it('sees in the next list every pet whose add has resolved', async () => {
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          const { pet } = await pets.add(newPet());
          expect(ids(await pets.list({ limit: 100 }))).toContain(pet.id);
          expect(ids(await pets.list({ limit: 100, status: 'available' }))).toContain(pet.id);
          expect(await pets.find(pet.id)).toEqual(pet);
        }),
      );
    });

    it('leaves a list that was handed out as it was', async () => {
      const { pet } = await pets.add(newPet());
      const before = await pets.list({ limit: 10 });
      await pets.add(newPet());
      expect(before).toEqual([pet]);
    });

    it('has another number for the lists after each pet that was added, or none', async () => {
      const numbers = [pets.listRevision()];
      for (let i = 0; i < 5; i++) {
        await pets.add(newPet());
        numbers.push(pets.listRevision());
      }
      const known = numbers.filter((number) => number !== undefined);
      expect(known).toHaveLength(new Set(known).size);
      expect([0, numbers.length]).toContain(known.length);
    });

    it('has the same lists for as long as their number is the same', async () => {
      const seen = new Map<number, readonly Pet[]>();
      const look = async () => {
        const number = pets.listRevision();
        const list = await pets.list({ limit: 100 });
        if (number === undefined || number !== pets.listRevision()) return;
        expect(list).toEqual(seen.get(number) ?? list);
        seen.set(number, list);
      };
      await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          await look();
          if (i % 4 === 0) await pets.add(newPet());
          await laterTurn();
          await look();
        }),
      );
      if (pets.listRevision() !== undefined) expect(seen.size).toBeGreaterThan(1);
    });

    it('has the same number for a pet after others were added, and for the lists after a mere look, or none', async () => {
      const { pet } = await pets.add(newPet(), sent());
      const numbers = () => [pets.listRevision(), pets.petRevision()];
      const [ofLists, ofPets] = numbers();
      await pets.find(pet.id);
      await pets.list({ limit: 1 });
      await laterTurn();
      expect(numbers()).toEqual([ofLists, ofPets]);
      await addAll(pets, [newPet(), newPet()]);
      await laterTurn();
      expect(pets.petRevision()).toBe(ofPets);
      expect(await pets.find(pet.id)).toEqual(pet);
    });

    it('adds one pet for an idempotency key, however often it comes', async () => {
      const first = await pets.add(newPet(), sent());
      expect(first.replayed).toBe(false);
      for (const at of [NOW, new Date(NOW.getTime() + 1), new Date(NOW.getTime() + IDEMPOTENCY_KEY_LIFETIME - 1)]) {
        expect(await pets.add(newPet(), sent({ at }))).toEqual({ pet: first.pet, replayed: true });
      }
      expect(await pets.list({ limit: 10 })).toEqual([first.pet]);
    });

    it('adds one pet for an idempotency key that comes many times at once', async () => {
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => pets.add(newPet(), sent())));
      expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(await pets.list({ limit: 10 })).toHaveLength(1);
      for (const { pet } of outcomes) expect(pet).toEqual(outcomes[0]?.pet);
    });

    it('refuses an idempotency key that comes with another fingerprint, and stores the others that come with it', async () => {
      const [other, ...twins] = await Promise.allSettled([
        pets.add(newPet({ name: 'Third' }), sent({ key: 'third' })),
        pets.add(newPet(), sent()),
        pets.add(newPet({ name: 'Other' }), sent({ fingerprint: 'e'.repeat(64) })),
      ]);
      expect(other.status).toBe('fulfilled');
      // Which of the two was first is for the store to say.
      const refused = twins.filter(({ status }) => status === 'rejected');
      expect(refused).toEqual([{ status: 'rejected', reason: expect.any(IdempotencyKeyReused) }]);
      expect(await pets.list({ limit: 10 })).toHaveLength(2);
    });

    it('compares each of two that come at once with what is stored', async () => {
      const first = await pets.add(newPet(), sent());
      const [other, same] = await Promise.allSettled([
        pets.add(newPet({ name: 'Other' }), sent({ fingerprint: 'e'.repeat(64) })),
        pets.add(newPet(), sent()),
      ]);
      expect(other).toEqual({ status: 'rejected', reason: expect.any(IdempotencyKeyReused) });
      expect(same).toEqual({ status: 'fulfilled', value: { ...first, replayed: true } });
    });

    it('tells idempotency keys apart by their scope and by every character of their key', async () => {
      const keys = [
        sent({ key: 'key' }),
        sent({ key: 'KEY' }),
        sent({ key: 'kEy' }),
        sent({ key: `'"\\%_?~` }),
        sent({ key: '!'.repeat(254) }),
        sent({ key: '!'.repeat(255) }),
        sent({ key: 'key', scope: 'b'.repeat(64) }),
      ];
      for (const key of keys) expect((await pets.add(newPet(), key)).replayed).toBe(false);
      for (const key of keys) expect((await pets.add(newPet(), key)).replayed).toBe(true);
    });

    it('takes an idempotency key for a new one once its lifetime is over', async () => {
      const first = await pets.add(newPet(), sent());
      const at = new Date(NOW.getTime() + IDEMPOTENCY_KEY_LIFETIME);
      const second = await pets.add(newPet({ name: 'Second' }), sent({ at, fingerprint: 'e'.repeat(64) }));
      expect(second.replayed).toBe(false);
      expect(second.pet.id).toBeGreaterThan(first.pet.id);
      expect(await pets.add(newPet(), sent({ at, fingerprint: 'e'.repeat(64) }))).toEqual({
        ...second,
        replayed: true,
      });
    });

    it('forgets the idempotency keys from before a moment, until none is left, and no other', async () => {
      const cut = new Date(NOW.getTime() + 10);
      for (let i = 0; i < 20; i++) await pets.add(newPet(), sent({ key: `key-${i}`, at: new Date(NOW.getTime() + i) }));
      let forgotten = 0;
      for (let some; (some = await pets.forgetIdempotencyKeys(cut)) > 0;) forgotten += some;
      expect(forgotten).toBe(10);
      expect((await pets.add(newPet(), sent({ key: 'key-9' }))).replayed).toBe(false);
      expect((await pets.add(newPet(), sent({ key: 'key-10' }))).replayed).toBe(true);
    });
  });
}

/** What every store of pets does besides that is there for more than one process, and longer than any of them. */
export function describeLastingPetRepository(kind: StoreKind): void {
  describe(`the pets in ${kind.name}, which lasts`, () => {
    const store = freshStore(kind);

    it('keeps the pets when it is closed', async () => {
      const first = await store.open();
      const added = await addAll(first.pets, [
        newPet(),
        newPet({ name: 'Rex', categoryId: INT64_MIN, status: 'sold' }),
      ]);
      await first.close();
      const { pets } = await store.open();
      expect(await pets.list({ limit: 10 })).toEqual(added.toReversed());
      expect((await pets.add(newPet())).pet.id).toBeGreaterThan(added[1]!.id);
    });

    it('shows in the very next read what another connection has added', async () => {
      const { pets: ours } = await store.open();
      const { pets: theirs } = await store.open();
      for (let i = 0; i < 10; i++) {
        const expected = await ours.list({ limit: 5 });
        const numbers = () => [ours.listRevision(), ours.petRevision()];
        const before = numbers();
        const { pet } = await theirs.add(newPet({ name: `Pet ${i}` }));
        await laterTurn();
        for (const [each, number] of numbers().entries())
          if (number !== undefined) expect(number).not.toBe(before[each]);
        expect(await ours.list({ limit: 5 })).toEqual([pet, ...expected].slice(0, 5));
        expect(await ours.list({ limit: 1, status: 'available' })).toEqual([pet]);
        expect(await ours.find(pet.id)).toEqual(pet);
      }
    });

    it('gives ids once, and in order, over several connections', async () => {
      const stores = [await store.open(), await store.open(), await store.open()];
      const added = await Promise.all(
        stores.flatMap(({ pets }) => Array.from({ length: 30 }, () => pets.add(newPet()))),
      );
      expect(new Set(added.map(({ pet }) => pet.id)).size).toBe(90);
      let last = 0n;
      for (let i = 0; i < 9; i++) {
        const { pet } = await stores[i % 3]!.pets.add(newPet());
        expect(pet.id).toBeGreaterThan(last);
        last = pet.id;
      }
    });

    it('adds one pet for an idempotency key that comes at once over several connections', async () => {
      const stores = [await store.open(), await store.open(), await store.open()];
      const outcomes = await Promise.all(
        stores.flatMap(({ pets }) => Array.from({ length: 5 }, () => pets.add(newPet(), sent()))),
      );
      expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(await stores[0]!.pets.list({ limit: 10 })).toHaveLength(1);
    });

    it('rejects with StoreUnavailable while it cannot answer', async () => {
      const closed = await store.open();
      await closed.close();
      const { pets } = closed;
      await expect(pets.add(newPet())).rejects.toThrow(StoreUnavailable);
      await expect(pets.add(newPet(), sent())).rejects.toThrow(StoreUnavailable);
      await expect(pets.find(1n)).rejects.toThrow(StoreUnavailable);
      await expect(pets.list({ limit: 1 })).rejects.toThrow(StoreUnavailable);
      await expect(pets.forgetIdempotencyKeys(NOW)).rejects.toThrow(StoreUnavailable);
    });

    it('forgets idempotency keys, or does not, if it is closed meanwhile, and says nothing else', async () => {
      const closed = await store.open();
      await closed.pets.add(newPet(), sent());
      const forgetting = closed.pets.forgetIdempotencyKeys(new Date(NOW.getTime() + 1));
      const [outcome] = await Promise.allSettled([forgetting, closed.close()]);
      if (outcome.status === 'fulfilled') expect(outcome.value).toBe(1);
      else expect(outcome.reason).toBeInstanceOf(StoreUnavailable);
    });
  });
}
