import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { IdempotencyKeyReused } from '../../src/application/errors.js';
import { IDEMPOTENCY_KEY_LIFETIME, PetQuery, PetRepository } from '../../src/application/pets/pet-repository.port.js';
import { INT64_MAX, INT64_MIN } from '../../src/domain/int64.js';
import { NewPet, Pet, PET_STATUSES } from '../../src/domain/pets/pet.js';
import { freshStore, laterTurn } from '../support/fresh-store.js';
import { addAll, ageKeys, clearKeys, idempotencyKey, ids, newPet } from '../support/pets.js';
import { StoreKind } from '../support/stores.js';

const MINUTE = 60_000;

/** Names that collations, encodings or quoting could change or confuse. */
const NAMES = [
  'Bella',
  'bella',
  ' Bella',
  'Bella ',
  '\u00a0\u3000Bella\u2003',
  '👩‍👩‍👧‍👦🏳️‍🌈',
  'Zo\u00eb',
  'Zoe\u0308',
  'Straße',
  'ı İ ſ K',
  '\u202egnipeels\u202c\u200f',
  '\u200b\ufeff\u2060x',
  '\ufdd0\u{10ffff}\ufffd',
  `'; DROP TABLE pet; --`,
  '"quoted" \'once\' `twice` \\\' \\" \\',
  '%_?:name$1{}[]<>&',
  'a'.repeat(255),
  '\u{1f436}'.repeat(255),
];

const CATEGORIES = [INT64_MIN, -(2n ** 53n) - 1n, -1n, 0n, 1n, 2n ** 53n + 1n, INT64_MAX - 1n, INT64_MAX];

const OTHER_PAYLOAD = { fingerprint: 'e'.repeat(43) };

/** The list that a query asks for, of pets in the order of their ids. */
function matching(all: readonly Pet[], { status, maxId, limit }: PetQuery): Pet[] {
  const matches = (pet: Pet) =>
    (status === undefined || pet.status === status) && (maxId === undefined || pet.id <= maxId);
  return all.filter(matches).reverse().slice(0, limit);
}

/** What every pet repository does, wherever it keeps the pets. */
export function describePetRepository(kind: StoreKind): void {
  describe(`pets in ${kind.name}`, () => {
    const store = freshStore(kind);
    let pets: PetRepository;

    beforeEach(async () => {
      ({ pets } = await store.open());
    });

    it('keep every name code point by code point, and every int64 exactly', async () => {
      const news = [
        ...NAMES.map((name) => newPet({ name })),
        ...CATEGORIES.map((categoryId) => newPet({ categoryId })),
      ];
      const added = await addAll(pets, news);
      expect(added).toEqual(news.map((pet, i) => ({ ...pet, id: added[i]?.id })));
      for (const pet of added) expect(await pets.find(pet.id)).toStrictEqual(pet);
      expect(await pets.list({ limit: 100 })).toStrictEqual(added.toReversed());
    });

    it('may have the longest names in the largest batch of creates with keys, of finds and of different lists', async () => {
      const all = Array.from({ length: 256 }, (_, i) => i);
      const name = '\u{1f436}'.repeat(255);
      const added = await Promise.all(all.map((i) => pets.add(newPet({ name }), idempotencyKey({ key: `key-${i}` }))));
      const found = await Promise.all(added.map(({ pet }) => pets.find(pet.id)));
      expect(found).toEqual(added.map(({ pet }) => pet));
      const lists = await Promise.all(found.map((pet) => pets.list({ maxId: pet!.id, limit: 1 })));
      expect(lists).toEqual(found.map((pet) => [pet]));
    });

    it('are not found under any other int64', async () => {
      const { pet } = await pets.add(newPet());
      for (const id of [INT64_MIN, -1n, 0n, pet.id + 1n, pet.id + 2n ** 32n, 2n ** 53n + 1n, INT64_MAX])
        expect(await pets.find(id)).toBeUndefined();
    });

    it('each get an id of their own, and keep their own name, when hundreds are added at once', async () => {
      const names = Array.from({ length: 600 }, (_, i) => `Pet ${i}`);
      const added = await Promise.all(names.map((name) => pets.add(newPet({ name }))));
      expect(added).toEqual(
        names.map((name, i) => ({ pet: { ...newPet({ name }), id: added[i]?.pet.id }, replayed: false })),
      );
      const stored = new Map((await pets.list({ limit: 1_000 })).map((pet) => [pet.id, pet]));
      expect(stored.size).toBe(600);
      for (const { pet } of added) expect(stored.get(pet.id)).toEqual(pet);
    });

    it('do not change with the objects of the caller', async () => {
      const mine = { ...newPet({ name: 'Before' }) } as { -readonly [Field in keyof NewPet]: NewPet[Field] };
      const adding = pets.add(mine);
      mine.name = 'During';
      const { pet } = await adding;
      const listed = await pets.list({ limit: 1 });
      await pets.add(newPet());
      expect(pet.name).toBe('Before');
      expect(listed).toEqual([pet]);
      expect(await pets.find(pet.id)).toEqual(pet);
    });

    it('are listed by descending id, filtered by status and by the highest id', async () => {
      expect(await pets.list({ limit: 20 })).toEqual([]);
      const news = Array.from({ length: 12 }, (_, i) => newPet({ status: i === 5 ? 'sold' : PET_STATUSES[i % 2] }));
      const added = await addAll(pets, news);
      const maxIds = [-1n, 0n, added[0]!.id, added[6]!.id, added[11]!.id + 1n, 2n ** 53n + 1n, INT64_MAX];
      for (const status of [undefined, ...PET_STATUSES])
        for (const maxId of [undefined, ...maxIds])
          for (const limit of [1, 5, 12, 101]) {
            const query = { limit, ...(status && { status }), ...(maxId !== undefined && { maxId }) };
            expect({ query, list: await pets.list(query) }).toEqual({ query, list: matching(added, query) });
          }
    });

    it('are read exactly as alone when many are read at once', async () => {
      const news = Array.from({ length: 60 }, (_, i) => newPet({ name: `Pet ${i}`, status: PET_STATUSES[i % 3] }));
      const added = (await Promise.all(news.map((pet) => pets.add(pet)))).map(({ pet }) => pet);
      added.sort((a, b) => Number(a.id - b.id));
      const id = fc.oneof(fc.constantFrom(...ids(added)), fc.constantFrom(-1n, INT64_MAX, 2n ** 32n + 1n));
      const query = fc.record(
        { status: fc.constantFrom(...PET_STATUSES), maxId: id, limit: fc.integer({ min: 1, max: 101 }) },
        { requiredKeys: ['limit'], noNullPrototype: true },
      );
      const reads = fc.record({ finds: fc.array(id, { maxLength: 80 }), lists: fc.array(query, { maxLength: 80 }) });
      await fc.assert(
        fc.asyncProperty(reads, async ({ finds, lists }) => {
          const [found, listed] = await Promise.all([
            Promise.all(finds.map((each) => pets.find(each))),
            Promise.all(lists.map((each) => pets.list(each))),
          ]);
          expect(found).toEqual(finds.map((each) => added.find((pet) => pet.id === each)));
          expect(listed).toEqual(lists.map((each) => matching(added, each)));
        }),
        { numRuns: 20 },
      );
    });

    it('are visible to every read that begins after their add has resolved', async () => {
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          const { pet } = await pets.add(newPet());
          expect(ids(await pets.list({ limit: 100 }))).toContain(pet.id);
          expect(ids(await pets.list({ limit: 100, status: 'available' }))).toContain(pet.id);
          expect(await pets.find(pet.id)).toEqual(pet);
        }),
      );
    });

    it('read the same for as long as the version is the same, if there is one', async () => {
      const seen = new Map<number, readonly Pet[]>();
      const read = async () => {
        const version = pets.version();
        const list = await pets.list({ limit: 100 });
        if (version === undefined || version !== pets.version()) return;
        expect(list).toEqual(seen.get(version) ?? list);
        seen.set(version, list);
      };
      await Promise.all(
        Array.from({ length: 20 }, async (_, i) => {
          await read();
          if (i % 4 === 0) await pets.add(newPet());
          await laterTurn();
          await read();
        }),
      );
      if (pets.version() !== undefined) expect(seen.size).toBeGreaterThan(1);
    });
  });

  describe(`idempotency keys in ${kind.name}`, () => {
    const store = freshStore(kind);
    let pets: PetRepository;

    beforeEach(async () => {
      ({ pets } = await store.open());
    });

    afterEach(() => void jest.useRealTimers());

    it('add one pet, however often they are sent within their lifetime', async () => {
      const first = await pets.add(newPet(), idempotencyKey());
      expect(first.replayed).toBe(false);
      for (const later of [0, 1, IDEMPOTENCY_KEY_LIFETIME - MINUTE]) {
        await ageKeys(store.url, later);
        expect(await pets.add(newPet(), idempotencyKey())).toEqual({ pet: first.pet, replayed: true });
      }
      expect(await pets.list({ limit: 10 })).toEqual([first.pet]);
    });

    it('add one pet when they are sent many times at once', async () => {
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => pets.add(newPet(), idempotencyKey())));
      expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(1);
      const [pet] = await pets.list({ limit: 10 });
      expect(outcomes.map((each) => each.pet)).toEqual(Array(20).fill(pet));
    });

    it('are rejected with another payload, and nothing else is rejected with them', async () => {
      const [third, ...twins] = await Promise.allSettled([
        pets.add(newPet({ name: 'Third' }), idempotencyKey({ key: 'third' })),
        pets.add(newPet(), idempotencyKey()),
        pets.add(newPet({ name: 'Other' }), idempotencyKey(OTHER_PAYLOAD)),
      ]);
      expect(third.status).toBe('fulfilled');
      // Either of the two may have been first.
      const rejected = twins.filter(({ status }) => status === 'rejected');
      expect(rejected).toEqual([{ status: 'rejected', reason: expect.any(IdempotencyKeyReused) }]);
      expect(await pets.list({ limit: 10 })).toHaveLength(2);
    });

    it('are compared with the stored payload when two payloads are sent at once', async () => {
      const { pet } = await pets.add(newPet(), idempotencyKey());
      const [other, same] = await Promise.allSettled([
        pets.add(newPet({ name: 'Other' }), idempotencyKey(OTHER_PAYLOAD)),
        pets.add(newPet(), idempotencyKey()),
      ]);
      expect(other).toEqual({ status: 'rejected', reason: expect.any(IdempotencyKeyReused) });
      expect(same).toEqual({ status: 'fulfilled', value: { pet, replayed: true } });
    });

    it('differ by scope and by every character', async () => {
      const texts = ['key', 'KEY', 'kEy', 'key~', `'"\\%_?~`, '!'.repeat(254), '!'.repeat(255)];
      const keys = [...texts.map((key) => ({ key })), { key: 'key', scope: 'b'.repeat(64) }].map(idempotencyKey);
      for (const key of keys) expect((await pets.add(newPet(), key)).replayed).toBe(false);
      for (const key of keys) expect((await pets.add(newPet(), key)).replayed).toBe(true);
    });

    it('start anew once their lifetime is over', async () => {
      const first = await pets.add(newPet(), idempotencyKey());
      await ageKeys(store.url, IDEMPOTENCY_KEY_LIFETIME);
      const add = () => pets.add(newPet({ name: 'Second' }), idempotencyKey(OTHER_PAYLOAD));
      const twins = await Promise.all([add(), add(), add()]);
      expect(twins.map(({ replayed }) => replayed).sort()).toEqual([false, true, true]);
      const [second] = await pets.list({ limit: 1 });
      expect(second!.id).toBeGreaterThan(first.pet.id);
      expect(twins.map(({ pet }) => pet)).toEqual([second, second, second]);
      expect(await pets.list({ limit: 10 })).toEqual([second, first.pet]);
    });

    it('are cleared once their lifetime is over, and none before', async () => {
      const add = (key: string) => pets.add(newPet(), idempotencyKey({ key }));
      const [old, young] = ['old', 'young'].map((age) => Array.from({ length: 120 }, (_, i) => `${age} ${i}`));
      await Promise.all(old!.map(add));
      await ageKeys(store.url, MINUTE);
      await Promise.all(young!.map(add));
      await ageKeys(store.url, IDEMPOTENCY_KEY_LIFETIME - MINUTE);
      // More than are cleared at a time.
      expect(await clearKeys(store.url)).toBe(kind.name === 'memory' ? 0 : 120);
      expect((await add('old 1')).replayed).toBe(false);
      expect((await add('young 1')).replayed).toBe(true);
      expect(await pets.list({ limit: 1_000 })).toHaveLength(241);
    });

    it('and pets without any, created at once, each get the pet of their own payload', async () => {
      const sent = Array.from({ length: 60 }, (_, i) => newPet({ name: `Pet ${i}` }));
      const add = (pet: NewPet, i: number) =>
        pets.add(pet, i % 3 > 0 ? idempotencyKey({ key: `key-${i}` }) : undefined);
      const added = await Promise.all(sent.map(add));
      for (const [i, { pet }] of added.entries()) expect(await pets.find(pet.id)).toEqual({ ...sent[i], id: pet.id });
      const idsWithoutKey = ids(added.map(({ pet }) => pet)).filter((_, i) => i % 3 === 0);
      expect(idsWithoutKey).toEqual(idsWithoutKey.toSorted((a, b) => Number(a - b)));
      const again = await Promise.all(sent.map(add));
      expect(again.map(({ replayed }) => replayed)).toEqual(sent.map((_, i) => i % 3 > 0));
      expect(await pets.list({ limit: 1_000 })).toHaveLength(80);
    });
  });
}
