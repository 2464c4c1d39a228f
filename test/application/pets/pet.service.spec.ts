import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createHash } from 'node:crypto';
import { MemoryPetRepository } from '../../../src/adapters/persistence/memory/memory-pet.repository.js';
import { CursorRejected } from '../../../src/application/errors.js';
import { fingerprint, PageQuery, PetService, writeCursor } from '../../../src/application/pets/pet.service.js';
import { INT64_MAX, INT64_MIN } from '../../../src/domain/int64.js';
import { NewPet, Pet, PET_STATUSES, PetStatus } from '../../../src/domain/pets/pet.js';

const BELLA = { name: 'Bella', categoryId: 1n };

describe('PetService', () => {
  let repository: MemoryPetRepository;
  let service: PetService;

  beforeEach(() => {
    repository = new MemoryPetRepository();
    service = new PetService(repository);
  });

  afterEach(() => void jest.useRealTimers());

  async function add(count: number, status?: PetStatus): Promise<Pet[]> {
    const added: Pet[] = [];
    for (let i = 0; i < count; i++) added.push((await service.create({ ...BELLA, status })).pet);
    return added;
  }

  /** Follows `next` to the end, with something done before each further page. */
  async function walk(query: PageQuery, between: () => Promise<unknown> = () => Promise.resolve()): Promise<Pet[][]> {
    const pages: Pet[][] = [];
    for (let cursor: string | undefined; ;) {
      const page = await service.list({ ...query, cursor });
      pages.push([...page.pets]);
      if (page.next === undefined) return pages;
      cursor = page.next;
      await between();
    }
  }

  it.each([1, 3])('lists every pet once in pages of %d, newest first, while others are created', async (limit) => {
    const added = await add(9);
    expect(added[0]).toEqual({ id: added[0]?.id, ...BELLA, status: 'available' });
    const pages = await walk({ limit }, () => add(3));
    expect(pages.flat()).toEqual(added.toReversed());
    for (const { length } of pages) {
      expect(length).toBeGreaterThan(0);
      expect(length).toBeLessThanOrEqual(limit);
    }
  });

  it('binds a cursor to the filter, and not to the limit', async () => {
    for (const status of PET_STATUSES) await add(2, status);
    const filters = [undefined, ...PET_STATUSES];
    for (const status of filters) {
      const { next: cursor } = await service.list({ limit: 1, status });
      for (const other of filters) {
        const page = service.list({ limit: 100, status: other, cursor });
        if (other === status) expect((await page).pets).toHaveLength(status ? 1 : 5);
        else await expect(page).rejects.toThrow(CursorRejected);
      }
    }
  });

  it('accepts the cursor of an earlier release, for any instance, and one of a negative id', async () => {
    const added = await add(3);
    const cursor = 'MTo6MzpkZTZlYTIyYQ';
    expect((await service.list({ limit: 1, cursor })).pets).toEqual([added[1]]);
    const sold = { limit: 1, status: 'sold', cursor: 'MTpzb2xkOjEyOjAyNDI2NTRl' } as const;
    expect(await service.list(sold)).toEqual({ pets: [] });
    expect(await service.list({ limit: 1, cursor: writeCursor(-7n, {}) })).toEqual({ pets: [] });
  });

  it('rejects a damaged cursor', async () => {
    await add(12);
    const cursor = (await service.list({ limit: 1 })).next as string;
    const changed = [...cursor].flatMap((character, at) =>
      ['0', 'A', '_', '٣'].flatMap((other) =>
        other === character ? [] : [cursor.slice(0, at) + other + cursor.slice(at + 1), cursor.slice(0, at)],
      ),
    );
    const ends = [INT64_MAX + 1n, INT64_MIN].map((id) => writeCursor(id, {}));
    for (const bad of [...changed, ...ends, `0${cursor}`, `${cursor}=`, '', '1', 'null', 'x'.repeat(10_000)]) {
      await expect(service.list({ limit: 1, cursor: bad })).rejects.toThrow(CursorRejected);
    }
  });
});

const SENT: NewPet = { name: 'Bella "B" 🐶', categoryId: 2n ** 63n - 1n, status: 'sold' };

/** A pet with fields that a later release may add. */
const later = (fields: object): NewPet => ({ ...SENT, ...fields });

describe('the fingerprint of a payload', () => {
  it('is what the first release has stored, in whatever order the fields come', () => {
    const stored = createHash('sha256').update('["Bella \\"B\\" 🐶","9223372036854775807","sold"]').digest('base64url');
    expect(fingerprint(SENT)).toBe(stored);
    expect(fingerprint({ status: 'sold', categoryId: SENT.categoryId, name: SENT.name })).toBe(stored);
    expect(fingerprint(later({ breed: undefined }))).toBe(stored);
  });

  it('differs with the name and the value of each later field, and not with their order', () => {
    const payloads = [{}, { breed: 'x' }, { breed: 'y' }, { owner: 'x' }, { breed: null }, { age: 1 }];
    expect(new Set(payloads.map((fields) => fingerprint(later(fields)))).size).toBe(payloads.length);
    expect(fingerprint(later({ owner: 'x', breed: 'y' }))).toBe(fingerprint(later({ breed: 'y', owner: 'x' })));
  });
});
