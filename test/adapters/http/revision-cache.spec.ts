import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import Libsql from 'libsql';
import { Answer, CAPACITY, RevisionCache } from '../../../src/adapters/http/pets/revision-cache.js';
import { ApiKeyService } from '../../../src/application/keys/api-key.service.js';
import { PetRepository } from '../../../src/application/pets/pet-repository.port.js';
import { heapUsed } from '../../support/heap-used.js';
import { Service } from '../../support/service.js';
import { lastingKinds, openStoreAt, storeKinds, TestStore } from '../../support/stores.js';

/** What happens to a store and to those who ask it. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('write' as const) }),
  fc.record({ kind: fc.constant('hide' as const), hidden: fc.boolean() }),
  fc.record({ kind: fc.constant('ask' as const), target: fc.constantFrom('/a', '/b'), readsAtOnce: fc.boolean() }),
  fc.record({ kind: fc.constant('finish' as const), which: fc.nat(3) }),
);

/** Asks for a target, and tells whether it was read for that. */
async function isRead(cache: RevisionCache, target: string, body: string): Promise<boolean> {
  let read = false;
  const answer = await through(cache, target, 1, () => {
    read = true;
    return Promise.resolve({ body, headers: [] });
  });
  expect(String(answer.body)).toBe(body);
  return read;
}

/** As listPets does: what is kept, else what is read, and then kept. */
async function through(
  cache: RevisionCache,
  target: string,
  revision: number | undefined,
  read: () => Promise<Answer>,
): Promise<Answer> {
  return cache.get(target, revision) ?? (await cache.read(target, revision, read));
}

/** Asks for a target, as getPet does, until its answer is kept. */
function keep(cache: RevisionCache, target: string, revision: number, answer: Answer): void {
  while (!cache.get(target, revision)) cache.keepRepeated(target, revision, answer);
}

describe('the cache of answers', () => {
  it('answers nothing that is older than the question, whatever is written meanwhile', async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const cache = new RevisionCache();
      const underWay: (() => void)[] = [];
      const answers: Promise<void>[] = [];
      let written = 0;
      let hidden = false;
      const ask = async (target: string, readsAtOnce: boolean) => {
        const before = written;
        const { body, headers } = await through(cache, target, hidden ? undefined : written, async () => {
          const early = written;
          await new Promise<void>((resolve) => underWay.push(resolve));
          const found = readsAtOnce ? early : written;
          return { body: `${target} ${found}`, headers: ['Link', `${found}`] };
        });
        const [of, found] = String(body).split(' ');
        expect(of).toBe(target);
        expect(headers).toEqual(['Link', found]);
        expect(Number(found)).toBeGreaterThanOrEqual(before);
      };
      for (const each of steps) {
        if (each.kind === 'write') written++;
        if (each.kind === 'hide') ({ hidden } = each);
        if (each.kind === 'ask') answers.push(ask(each.target, each.readsAtOnce));
        if (each.kind === 'finish') underWay.splice(each.which, 1)[0]?.();
        await new Promise(setImmediate);
      }
      for (const finish of underWay) finish();
      await Promise.all(answers);
    });
    await fc.assert(property, { numRuns: 500 });
  });

  it('reads once while the revision is the same, and each time if there is none', async () => {
    const cache = new RevisionCache();
    const read = jest.fn(() => Promise.resolve({ body: 'é', headers: [] }));
    for (const revision of [1, 1, 2, 2, 1]) await through(cache, '/a', revision, read);
    expect(read).toHaveBeenCalledTimes(3);
    for (let i = 0; i < 3; i++) await through(cache, '/b', undefined, read);
    expect(read).toHaveBeenCalledTimes(6);
    expect((await through(cache, '/a', 1, read)).body).toBe('é');
  });

  it('reads once for all who ask at the same revision meanwhile, and for nobody else', async () => {
    const cache = new RevisionCache();
    const reading: ((body: string) => void)[] = [];
    const read = async () => ({ body: await new Promise<string>((resolve) => reading.push(resolve)), headers: [] });
    const asked = [1, 1, 2, 1, undefined, undefined].map((revision) => through(cache, '/a', revision, read));
    asked.push(through(cache, '/b', 1, read));
    expect(reading).toHaveLength(6);
    for (const [i, resolve] of reading.entries()) resolve(`read ${i}`);
    const bodies = (await Promise.all(asked)).map(({ body }) => body);
    expect(bodies).toEqual(['read 0', 'read 0', 'read 1', 'read 2', 'read 3', 'read 4', 'read 5']);
  });

  it('reads by itself for each who waited for what could not be read', async () => {
    const cache = new RevisionCache();
    let times = 0;
    const read = async () => {
      const time = ++times;
      await new Promise(setImmediate);
      if (time !== 3) throw new Error(`failed ${time}`);
      return { body: 'x', headers: [] };
    };
    const asked = [1, 1, 1].map((revision) => through(cache, '/a', revision, read));
    const outcomes = await Promise.allSettled(asked);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect(times).toBe(3);
    expect(cache.get('/a', 1)?.body).toBe('x');
  });

  it('takes no more memory however often an answer is kept anew', () => {
    const cache = new RevisionCache();
    const anew = (times: number) => {
      for (let revision = 0; revision < times; revision++) keep(cache, '/a', revision, { body: 'x', headers: [] });
      return heapUsed();
    };
    const before = anew(1_000);
    expect(anew(200_000) - before).toBeLessThan(5_000_000);
  });

  it('holds nothing of the text that a target was cut out of', () => {
    const cache = new RevisionCache();
    const before = heapUsed();
    for (let i = 0; i < 3_000; i++) {
      const absolute = `http://${'a'.repeat(12_000)}/v1/pets/${1_000_000 + i}`;
      keep(cache, absolute.slice(absolute.indexOf('/v1')), 1, { body: 'x', headers: [] });
    }
    expect(heapUsed() - before).toBeLessThan(5_000_000);
    expect(cache.get('/v1/pets/1000000', 1)?.body).toBe('x');
  });

  it.each([
    ['a letter', 'x'],
    ['one beyond Latin-1', '€'],
  ])('takes no more memory than it counts, with %s in the texts', (_what, letter) => {
    const cache = new RevisionCache();
    const before = heapUsed();
    for (let i = 0; i < 60_000; i++)
      keep(cache, `/v1/pets/${i}`, 1, { body: `${i}${letter}${'x'.repeat(i % 2000)}`, headers: ['Link', `${i}`] });
    expect(heapUsed() - before).toBeLessThan(CAPACITY);
    expect(cache.get('/v1/pets/59999', 1)).toBeDefined();
  });

  it('forgets what was read at another revision, and keeps none that was asked for at one', async () => {
    const cache = new RevisionCache();
    let finish = (): void => undefined;
    await isRead(cache, '/a', 'x');
    const late = through(cache, '/b', 1, async () => {
      await new Promise<void>((resolve) => (finish = resolve));
      return { body: 'late', headers: [] };
    });
    cache.get('/a', 2);
    finish();
    expect((await late).body).toBe('late');
    for (const revision of [2, 1]) {
      for (const target of ['/a', '/b']) expect(cache.get(target, revision)).toBeUndefined();
    }
  });

  it('keeps what is asked for again at the same revision, and of very many that are not next to none', () => {
    const cache = new RevisionCache();
    const answer = { body: 'x', headers: [] };
    const ask = (target: string, revision: number) =>
      cache.get(target, revision) ?? cache.keepRepeated(target, revision, answer);
    for (const revision of [1, 2]) {
      ask('/a', revision);
      expect(cache.get('/a', revision)).toBeUndefined();
      ask('/a', revision);
      expect(cache.get('/a', revision)).toBeDefined();
    }
    const targets = Array.from({ length: 100_000 }, (_, i) => `/v1/pets/${i}`);
    const kept = (times: number, of: readonly string[]) => {
      for (let i = 0; i < times; i++) for (const target of of) ask(target, 3);
      return of.filter((target) => cache.get(target, 3)).length;
    };
    expect(kept(3, targets)).toBeLessThan(1_000);
    // Many of these share their places.
    expect(
      kept(
        30,
        targets.filter((_, i) => i % 50 === 7),
      ),
    ).toBeGreaterThan(1_900);
  });

  it('keeps no answer that could not be read', async () => {
    const cache = new RevisionCache();
    await expect(through(cache, '/a', 1, () => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
    expect(await isRead(cache, '/a', 'there')).toBe(true);
  });

  it.each([
    ['bodies', '', 'x'.repeat(100_000)],
    ['targets', 'x'.repeat(12_000), 'x'],
    ['very many', '', 'x'],
  ])('keeps no more bytes than it may, the oldest go first: %s', (_what, target, body) => {
    const most = Math.ceil(CAPACITY / (target.length + body.length));
    // Some bytes go for each entry itself.
    const targets = Array.from({ length: Math.min(most, 100_000) }, (_, i) => `${i} ${target}`);
    const cache = new RevisionCache();
    for (const each of targets) keep(cache, each, 1, { body, headers: [] });
    // From the newest on, until one was pushed out.
    let kept = 0;
    while (cache.get(targets.at(-1 - kept) as string, 1)) kept++;
    expect(kept).toBeLessThan(targets.length);
    expect(targets.slice(0, -kept).filter((each) => cache.get(each, 1))).toEqual([]);
    const bytes = kept * (target.length + body.length + 260);
    expect(bytes).toBeLessThan(1.01 * CAPACITY);
    expect(bytes).toBeGreaterThan(0.49 * CAPACITY);
  });
});

/** Of ASCII, of Latin-1, and with characters beyond. */
const NAMES = ['pet', 'pét', '犬 🐶'];

describe.each(storeKinds)('an answer on $name', (kind) => {
  let store: TestStore;
  let service: Service;

  beforeEach(async () => {
    store = await kind.create();
    service = await Service.start({ DATABASE_URL: store.url });
    for (const [i, name] of NAMES.entries()) await service.add({ name, categoryId: i });
  });

  afterEach(async () => {
    await service.stop();
    await store.remove();
  });

  it('is the same each time, to HEAD too, with the headers that belong to it', async () => {
    for (const path of ['/v1/pets?limit=2', '/v1/pets/1', '/v1/pets/2', '/v1/pets/3']) {
      const first = await service.send(path);
      expect(NAMES.filter((name) => first.body.includes(`"${name}"`))).toHaveLength(path.includes('limit') ? 2 : 1);
      const second = await service.send(path);
      const third = await service.send(path);
      const head = await service.send(path, { method: 'HEAD' });
      for (const { body } of [second, third]) expect(body).toBe(first.body);
      expect(head.body).toBe('');
      for (const { headers } of [second, third, head]) {
        for (const name of ['link', 'content-length', 'content-type', 'deprecation'])
          expect(headers[name]).toBe(first.headers[name]);
        expect(headers['x-request-id']).not.toBe(first.headers['x-request-id']);
      }
    }
  });

  it('that is a list shows what was added before it was asked for', async () => {
    for (let i = 0; i < 5; i++) {
      const { body } = await service.add({ name: `new ${i}`, categoryId: i });
      expect((await service.send('/v1/pets?limit=1')).body).toBe(`[${body}]`);
    }
  });

  it('is given to whoever has a key, and to nobody else', async () => {
    await service.send('/v1/pets');
    expect((await service.send('/v1/pets')).status).toBe(200);
    expect((await service.send('/v1/pets', { key: false })).status).toBe(401);
    expect((await service.send('/v1/pets', { headers: { Accept: 'text/html' } })).status).toBe(406);
  });

  it('is counted for its key each time', async () => {
    const keys = service.app.get(ApiKeyService);
    for (let i = 0; i < 3; i++) await service.send('/v1/pets/1');
    await keys.recordUses();
    expect((await keys.uses()).map(({ getPetCalls }) => getPetCalls)).toEqual([3]);
  });
});

describe.each(lastingKinds)('an answer on $name that was read before another process wrote', (kind) => {
  let store: TestStore;
  let service: Service;

  beforeEach(async () => {
    store = await kind.create();
    service = await Service.start({ DATABASE_URL: store.url });
    await service.add({ name: 'Bella', categoryId: 1 });
  });

  afterEach(async () => {
    await service.stop();
    await store.remove();
  });

  it('is not given after it', async () => {
    await service.send('/v1/pets');
    const other = await openStoreAt(store.url);
    for (let i = 0; i < 3; i++) {
      const { pet } = await other.pets.add({ name: `Max ${i}`, categoryId: 2n, status: 'sold' });
      expect((await service.send('/v1/pets?limit=1')).body).toContain(`"id":${pet.id},"name":"Max ${i}"`);
      expect((await service.send('/v1/pets')).body).toContain(`"name":"Max ${i}"`);
    }
    await other.close();
  });
});

describe('an answer on SQLite', () => {
  let store: TestStore;
  let service: Service;

  beforeEach(async () => {
    store = await (lastingKinds[0] as (typeof lastingKinds)[0]).create();
    service = await Service.start({ DATABASE_URL: store.url });
    for (let i = 0; i < 3; i++) await service.add({ name: 'Bella', categoryId: i });
  });

  afterEach(async () => {
    await service.stop();
    await store.remove();
  });

  it('is read once until something is written; that of one pet twice, until another process writes', async () => {
    const pets = service.app.get(PetRepository);
    const list = jest.spyOn(pets, 'list');
    const find = jest.spyOn(pets, 'find');
    for (let i = 0; i < 3; i++) for (const path of ['/v1/pets', '/v1/pets/1']) await service.send(path);
    expect([list, find].map(({ mock }) => mock.calls.length)).toEqual([1, 2]);
    await service.add({ name: 'Max', categoryId: 1 });
    for (let i = 0; i < 3; i++) for (const path of ['/v1/pets', '/v1/pets/1']) await service.send(path);
    expect([list, find].map(({ mock }) => mock.calls.length)).toEqual([2, 2]);
    const file = new Libsql(store.url.slice('sqlite:'.length));
    file.exec("UPDATE pet SET name = 'Bello'");
    file.close();
    for (let i = 0; i < 3; i++) {
      for (const path of ['/v1/pets', '/v1/pets/1']) expect((await service.send(path)).body).toContain('"Bello"');
    }
    expect([list, find].map(({ mock }) => mock.calls.length)).toEqual([3, 4]);
  });

  it('is not given any more once another process has removed the pet', async () => {
    expect((await service.send('/v1/pets/1')).status).toBe(200);
    const file = new Libsql(store.url.slice('sqlite:'.length));
    file.exec('DELETE FROM pet WHERE id = 1');
    file.close();
    for (let i = 0; i < 2; i++) expect((await service.send('/v1/pets/1')).status).toBe(404);
  });
});
