import { beforeEach, describe, expect, it } from '@jest/globals';
import { NodeSecrets } from '../../../src/adapters/crypto/node-secrets.js';
import { MemoryInstallation } from '../../../src/adapters/persistence/memory/memory-installation.js';
import { MemoryPetRepository } from '../../../src/adapters/persistence/memory/memory-pet.repository.js';
import { Cursors } from '../../../src/application/pets/cursors.js';
import { CursorRefused, IdempotencyKeyReused, PetNotFound, StoreUnavailable } from '../../../src/application/errors.js';
import { Installation } from '../../../src/application/installation.port.js';
import { PageQuery, PetService } from '../../../src/application/pets/pet.service.js';
import { INT64_MAX, INT64_MIN } from '../../../src/domain/int64.js';
import { Pet, PET_STATUSES, PetStatus } from '../../../src/domain/pets/pet.js';

const secrets = new NodeSecrets();

describe('PetService', () => {
  let installation: Installation;
  let service: PetService;

  beforeEach(() => {
    installation = new MemoryInstallation(secrets);
    service = new PetService(new MemoryPetRepository(), new Cursors(installation, secrets), secrets);
  });

  async function add(count: number, status?: PetStatus): Promise<Pet[]> {
    const added: Pet[] = [];
    for (let i = 0; i < count; i++) added.push((await service.create({ name: 'Bella', categoryId: 1n, status })).pet);
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

  it('adds a pet as available if it does not say otherwise', async () => {
    const { pet } = await service.create({ name: 'Bella', categoryId: 1n });
    expect(pet.status).toBe('available');
    expect((await service.get(pet.id)).status).toBe('available');
    for (const status of PET_STATUSES) {
      expect((await service.create({ name: 'Rex', categoryId: 1n, status })).pet.status).toBe(status);
    }
  });

  it('gets a pet by its id, and says of any other integer that there is none', async () => {
    const [pet] = await add(1);
    expect(await service.get(1n)).toEqual(pet);
    for (const id of [0n, -1n, 2n, INT64_MIN, INT64_MAX, INT64_MIN - 1n, INT64_MAX + 1n, 10n ** 60n]) {
      await expect(service.get(id)).rejects.toThrow(PetNotFound);
    }
  });

  it('lists nothing, and no further page, if nothing is', async () => {
    expect(await service.list({ limit: 20 })).toEqual({ pets: [] });
  });

  it('has no further page if the last one is full', async () => {
    await add(6);
    expect((await walk({ limit: 2 })).map((page) => page.map(({ id }) => id))).toEqual([
      [6n, 5n],
      [4n, 3n],
      [2n, 1n],
    ]);
    expect((await service.list({ limit: 6 })).next).toBeUndefined();
    expect((await service.list({ limit: 5 })).next).toBeDefined();
  });

  it.each([1, 2, 3, 7, 100])('walks through everything once in pages of %d, newest first', async (limit) => {
    const added = await add(10);
    const pages = await walk({ limit });
    expect(pages.flat()).toEqual(added.toReversed());
    for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit);
  });

  it('walks through one status alone', async () => {
    const sold: Pet[] = [];
    for (let i = 0; i < 5; i++) {
      sold.push(...(await add(1, 'sold')));
      await add(2, 'pending');
    }
    expect((await walk({ limit: 2, status: 'sold' })).flat()).toEqual(sold.toReversed());
    expect((await walk({ limit: 2, status: 'available' })).flat()).toEqual([]);
  });

  it('neither skips nor repeats a pet while others are added', async () => {
    const added = await add(9);
    const pages = await walk({ limit: 2 }, () => add(3));
    expect(pages.flat()).toEqual(added.toReversed());
  });

  it('lets the limit change on the way', async () => {
    await add(6);
    const { next } = await service.list({ limit: 2 });
    expect((await service.list({ limit: 100, cursor: next })).pets.map(({ id }) => id)).toEqual([4n, 3n, 2n, 1n]);
  });

  it('takes a cursor on any instance of the installation, and on no other installation', async () => {
    await add(3);
    const cursor = (await service.list({ limit: 1 })).next as string;
    const instance = new PetService(new MemoryPetRepository(), new Cursors(installation, secrets), secrets);
    expect(await instance.list({ limit: 1, cursor })).toEqual({ pets: [] });
    const cursors = new Cursors(new MemoryInstallation(secrets), secrets);
    const stranger = new PetService(new MemoryPetRepository(), cursors, secrets);
    await expect(stranger.list({ limit: 1, cursor })).rejects.toThrow(CursorRefused);
  });

  it('binds a cursor to the status of its list', async () => {
    const filters = [undefined, ...PET_STATUSES];
    for (const status of PET_STATUSES) await add(2, status);
    for (const status of filters) {
      const cursor = (await service.list({ limit: 1, status })).next as string;
      for (const other of filters) {
        const page = service.list({ limit: 1, status: other, cursor });
        if (other === status) expect((await page).pets).toHaveLength(1);
        else await expect(page).rejects.toThrow(CursorRefused);
      }
    }
  });

  it('refuses a cursor with any one character changed, cut, or with more at either end', async () => {
    await add(12);
    const cursor = (await service.list({ limit: 1 })).next as string;
    const altered = [...cursor].flatMap((character, at) =>
      ['0', '1', 'A', 'a', '-', '_', ' ', '٣'].flatMap((other) =>
        other === character ? [] : [cursor.slice(0, at) + other + cursor.slice(at + 1), cursor.slice(0, at)],
      ),
    );
    for (const bad of [
      ...altered,
      `0${cursor}`,
      `+${cursor}`,
      ` ${cursor}`,
      `${cursor} `,
      `${cursor}=`,
      `-${cursor}`,
    ]) {
      await expect(service.list({ limit: 1, cursor: bad })).rejects.toThrow(CursorRefused);
    }
  });

  it('refuses what is no cursor', async () => {
    for (const cursor of ['', '1', 'null', 'abc', '9'.repeat(41), 'x'.repeat(10_000), '../../etc', '🐶'.repeat(12)]) {
      await expect(service.list({ limit: 1, cursor })).rejects.toThrow(CursorRefused);
    }
  });

  it('passes on what the store says of changes: an add is one to the lists, and none to a pet', async () => {
    const before = [service.listRevision(), service.petRevision()];
    await add(1);
    expect(service.listRevision()).not.toBe(before[0]);
    expect(service.petRevision()).toBe(before[1]);
  });

  it('asks for the secret of the cursors again if the store could not answer', async () => {
    let asked = 0;
    const shaky: Installation = {
      cursorSecret: () => (asked++ === 0 ? Promise.reject(new Error('not now')) : installation.cursorSecret()),
    };
    const cursors = new Cursors(shaky, secrets);
    await expect(cursors.write(1n, undefined)).rejects.toThrow('not now');
    expect(await cursors.read(await cursors.write(1n, undefined), undefined)).toBe(1n);
  });

  describe('forgets idempotency keys', () => {
    /** A store that has so many steps to do, and looks whether anything else was done between two of them. */
    class ManyKeys extends MemoryPetRepository {
      left = 5;
      turns = 0;
      readonly turnsSeen: number[] = [];
      closed = false;

      override forgetIdempotencyKeys(): Promise<number> {
        if (this.closed) return Promise.reject(new StoreUnavailable());
        this.turnsSeen.push(this.turns);
        setImmediate(() => this.turns++);
        return Promise.resolve(this.left--);
      }
    }

    let keys: ManyKeys;
    let forgetting: PetService;

    beforeEach(() => {
      keys = new ManyKeys();
      forgetting = new PetService(keys, new Cursors(installation, secrets), secrets);
    });

    it('until none is left, with turns of the event loop between the steps', async () => {
      await forgetting.forgetIdempotencyKeys(new AbortController().signal);
      expect(keys.turnsSeen).toEqual([0, 1, 2, 3, 4, 5]);
    });

    it('no further if it is to stop, although the store is closed meanwhile', async () => {
      const stop = new AbortController();
      const forgotten = forgetting.forgetIdempotencyKeys(stop.signal);
      keys.closed = true;
      stop.abort();
      await forgotten;
      expect(keys.turnsSeen).toEqual([0]);
    });

    it('and says so if the store cannot answer', async () => {
      keys.closed = true;
      await expect(forgetting.forgetIdempotencyKeys(new AbortController().signal)).rejects.toThrow(StoreUnavailable);
    });
  });

  it('stores every field that is sent, and none that is undefined', async () => {
    const sent = { name: 'Bella', categoryId: 1n, breed: 'Boxer', owner: undefined };
    const { pet } = await service.create(sent);
    const stored = { id: 1n, name: 'Bella', categoryId: 1n, breed: 'Boxer', status: 'available' };
    expect(pet).toStrictEqual(stored);
    expect(await service.get(1n)).toStrictEqual(stored);
    expect((await service.list({ limit: 1 })).pets).toStrictEqual([stored]);
  });

  it('knows the keys that the first release has stored', async () => {
    const repository = new MemoryPetRepository();
    const key = { scope: 'a'.repeat(64), key: 'one' };
    const bella = { name: 'Bella', categoryId: 1n, status: 'available' } as const;
    // SHA-256 of ["Bella","1","available"].
    const digest = 'e4e5ea37b39141149a332da82fb5e0c363cd220f99ae865f17202bda82830138';
    await repository.add(bella, { ...key, fingerprint: digest, at: new Date() });
    const later = new PetService(repository, new Cursors(installation, secrets), secrets);
    expect((await later.create(bella, key)).replayed).toBe(true);
  });

  it('adds one pet for an idempotency key, for twins in flight too, and tells the copies from the first', async () => {
    const idempotency = { scope: 'a'.repeat(64), key: 'one' };
    const create = () => service.create({ name: 'Bella', categoryId: 1n }, idempotency);
    const outcomes = [...(await Promise.all([create(), create(), create()])), await create()];
    expect(outcomes.map(({ replayed }) => replayed)).toEqual([false, true, true, true]);
    expect((await service.list({ limit: 10 })).pets).toHaveLength(1);
  });

  it('takes a payload with the default written out for the same one, and any other for another', async () => {
    const idempotency = { scope: 'a'.repeat(64), key: 'one' };
    const bella = { name: 'Bella', categoryId: 1n };
    await service.create(bella, idempotency);
    expect((await service.create({ ...bella, status: 'available' }, idempotency)).replayed).toBe(true);
    for (const change of [{ name: 'bella' }, { categoryId: 2n }, { status: 'sold' as const }]) {
      await expect(service.create({ ...bella, ...change }, idempotency)).rejects.toThrow(IdempotencyKeyReused);
    }
    const first = service.create(bella, { ...idempotency, key: 'two' });
    await expect(service.create({ ...bella, name: 'Rex' }, { ...idempotency, key: 'two' })).rejects.toThrow(
      IdempotencyKeyReused,
    );
    expect((await first).replayed).toBe(false);
  });
});
