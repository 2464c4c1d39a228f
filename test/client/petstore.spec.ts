import { inspect } from 'node:util';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { type NewPet, PetStore, PetStoreError, type PetStoreOptions, type Retry } from '../../client/petstore.js';
import { BELLA, FakeFetch, failure, html, response, type Step } from './fake-fetch.js';

const KEY = 'pets_VF4WgIxRfrMmbZGT6N8VLVQDsU9yJe1nc61l';
const NEW: NewPet = { name: 'Bella', categoryId: 42n };

function client(steps: readonly Step[], options: Partial<PetStoreOptions> = {}): { store: PetStore; fake: FakeFetch } {
  const fake = new FakeFetch(steps);
  return { fake, store: new PetStore({ baseUrl: 'http://shop/v1', apiKey: KEY, fetch: fake.fetch, ...options }) };
}

/** What something thrown is, in all that a program or a log may see of it. */
const shown = (value: unknown): string =>
  inspect(value, { showHidden: true, depth: null, getters: true }) + String((value as Error).stack) + String(value);

afterEach(() => void jest.restoreAllMocks());

describe('requests', () => {
  it('are what the interface asks for', async () => {
    const { store, fake } = client([response(200)]);
    await store.createPet({ ...NEW, status: 'sold' }, { idempotencyKey: 'order-7' });
    await store.getPet(9_223_372_036_854_775_807n);
    expect(fake.requests).toMatchObject([
      {
        url: 'http://shop/v1/pets',
        method: 'POST',
        body: '{"name":"Bella","categoryId":42,"status":"sold"}',
        headers: {
          Accept: 'application/json',
          Authorization: `Bearer ${KEY}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': 'order-7',
        },
      },
      { url: 'http://shop/v1/pets/9223372036854775807', method: 'GET' },
    ]);
    expect(fake.requests[1]).not.toHaveProperty('body');
  });

  it.each(['http://shop/petstore/v1', 'http://shop/petstore/v1/'])('go to the address %s', async (baseUrl) => {
    const { store, fake } = client([response(200, '[]')], { baseUrl });
    await store.pages({ limit: 5 }).next();
    expect(fake.requests[0]?.url).toBe('http://shop/petstore/v1/pets?limit=5');
  });

  it('have a random UUID as Idempotency-Key, also in pages without https', async () => {
    Object.defineProperty(globalThis.crypto, 'randomUUID', { value: undefined, configurable: true });
    const { store, fake } = client([response(201)]);
    for (let i = 0; i < 50; i++) await store.createPet(NEW);
    Reflect.deleteProperty(globalThis.crypto, 'randomUUID');
    const keys = new Set(fake.sent('Idempotency-Key'));
    expect(keys.size).toBe(50);
    for (const key of keys) expect(key).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  });

  it('are sent by the fetch of the platform, as it is then', async () => {
    const store = new PetStore({ baseUrl: 'http://shop/v1', apiKey: KEY });
    const mock = jest.spyOn(globalThis, 'fetch').mockResolvedValue(response(200));
    expect((await store.getPet(1)).name).toBe('Bella');
    expect(mock).toHaveBeenCalledTimes(1);
  });
});

describe('a TypeError, and no request, comes of', () => {
  const numbers = [1.5, NaN, Infinity, 2 ** 53, '42', null, undefined, {}, true, 2n ** 63n, -(2n ** 63n) - 1n];

  it.each(numbers)('the number %s', async (value) => {
    const { store, fake } = client([response(201)]);
    await expect(store.createPet({ name: 'Bella', categoryId: value as bigint })).rejects.toThrow(TypeError);
    await expect(store.getPet(value as bigint)).rejects.toThrow(TypeError);
    expect(fake.requests).toEqual([]);
  });

  it.each(['', 'ä', 'a b', 'x'.repeat(256), null])('the idempotencyKey %j', async (idempotencyKey) => {
    const { store, fake } = client([response(201)]);
    await expect(store.createPet(NEW, { idempotencyKey: idempotencyKey as string })).rejects.toThrow(TypeError);
    expect(fake.requests).toEqual([]);
  });

  it.each([`${KEY}\n`, `ä${KEY}`, '', null, undefined])('the apiKey %j', async (apiKey) => {
    const errors = [];
    try {
      client([response(201)], { apiKey: apiKey as string });
    } catch (error) {
      errors.push(error);
    }
    const { store, fake } = client([response(201)], { apiKey: () => apiKey as string });
    errors.push(await store.createPet(NEW).catch((error: unknown) => error));
    expect(errors).toEqual([expect.any(TypeError), expect.any(TypeError)]);
    expect(errors.map(shown).join()).not.toContain(KEY);
    expect(fake.requests).toEqual([]);
  });

  it.each([
    `http://${KEY}@shop/v1`,
    `http://me:${KEY}@shop/v1`,
    `http://:${KEY}@shop/v1`,
    `http://shop/v1?key=${KEY}`,
    `http://${KEY}:x/v1`,
    '/v1',
  ])('the baseUrl %s', (baseUrl) => {
    let thrown: unknown;
    try {
      client([response(201)], { baseUrl });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(TypeError);
    expect(shown(thrown)).not.toContain(KEY);
  });

  it.each<Partial<PetStoreOptions>>([{ timeout: 0 }, { deadline: NaN }, { retries: -1 }, { retries: NaN }])(
    'the options %j',
    (options) => {
      expect(() => client([response(201)], options)).toThrow(TypeError);
    },
  );
});

describe('lists', () => {
  const page = (ids: number[], link?: string) =>
    response(
      200,
      `[${ids.map((id) => BELLA.replace('1', String(id))).join()}]`,
      link === undefined ? {} : { Link: link },
    );
  const next = '</v1/pets?limit=2&status=sold&cursor=AAAAAAAAAAAAAAA_-b>; rel="next"';

  it('continue at the cursor of each page with the same limit and status', async () => {
    const { store, fake } = client([page([4, 3], next), page([2, 1])]);
    const pages = [];
    for await (const each of store.pages({ limit: 2, status: 'sold' })) pages.push(each);
    expect(pages.map(({ pets, cursor }) => [pets.map(({ id }) => id), cursor])).toEqual([
      [[4n, 3n], 'AAAAAAAAAAAAAAA_-b'],
      [[2n, 1n], undefined],
    ]);
    const first = 'http://shop/v1/pets?limit=2&status=sold';
    expect(fake.requests.map(({ url }) => url)).toEqual([first, `${first}&cursor=AAAAAAAAAAAAAAA_-b`]);
  });

  it('may begin at a cursor', async () => {
    const { store, fake } = client([page([2, 1])]);
    for await (const pet of store.listPets({ cursor: 'AAAAAAAAAAAAAAA_-b' })) expect(pet.name).toBe('Bella');
    expect(fake.requests.map(({ url }) => url)).toEqual(['http://shop/v1/pets?cursor=AAAAAAAAAAAAAAA_-b']);
  });

  it('fetch no page that is not asked for', async () => {
    const { store, fake } = client([page([2, 1], next)]);
    for await (const pet of store.listPets()) {
      expect(pet.id).toBe(2n);
      break;
    }
    expect(fake.requests).toHaveLength(1);
  });

  it.each([
    ['an absolute one', '<https://shop.example/v1/pets?cursor=A&limit=2>; rel="next"', 'A'],
    ['one among others', '</docs?cursor=B>; rel="help", </v1/pets?limit=2&cursor=A>; title="x"; rel=next', 'A'],
    ['only others', '</v1/pets?limit=2&cursor=B>; rel="first"', undefined],
  ])('find the link of the next page: %s', async (_what, link, cursor) => {
    const { value } = await client([page([1], link)])
      .store.pages()
      .next();
    expect(value).toMatchObject({ cursor });
  });
});

describe('responses of a later release', () => {
  it('may have other fields, another status and other codes', async () => {
    const pet =
      '{"id":1,"name":"Bella","categoryId":42,"status":"lost","chip":9007199254740993,"weight":1.5,"tags":[]}';
    const { store } = client([response(200, pet), failure(410, 'pet_has_left')]);
    const found = await store.getPet(1);
    expect(found).toMatchObject({ status: 'lost', chip: 9_007_199_254_740_993n, weight: 1.5, tags: [] });
    expect(PetStore.stringify(found)).toBe(pet);
    await expect(store.getPet(2)).rejects.toMatchObject({ code: 'pet_has_left', status: 410 });
  });
});

it('stringify gives exact JSON', () => {
  const pets = [{ ...NEW, categoryId: -(2n ** 63n) }, NEW];
  expect(PetStore.stringify(pets)).toBe(
    '[{"name":"Bella","categoryId":-9223372036854775808},{"name":"Bella","categoryId":42}]',
  );
});

describe('PetStoreError', () => {
  it('is recognised by its code, which narrows its type', async () => {
    const error: unknown = await client([failure(404, 'pet_not_found')])
      .store.getPet(7)
      .catch((thrown: unknown) => thrown);
    expect([PetStoreError.is(error, 'pet_not_found'), PetStoreError.is(error, 'network')]).toEqual([true, false]);
    expect(PetStoreError.is(new Error('pet_not_found'), 'pet_not_found')).toBe(false);
    if (PetStoreError.is(error, 'pet_not_found')) error.code satisfies 'pet_not_found';
    expect(error).toMatchObject({ name: 'PetStoreError', message: 'It is pet_not_found.', requestId: 'request-7' });
    expect((error as Error).stack).toMatch(/^PetStoreError: It is pet_not_found\./);
  });

  it('says which connection failed, and why', async () => {
    const port = 1;
    const store = new PetStore({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: KEY, retries: 0 });
    const error: unknown = await store.getPet(7).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'network', status: undefined, requestId: undefined, tries: 1 });
    expect((error as Error).cause).toMatchObject({ name: 'TypeError', cause: expect.any(Error) });
  });

  it('says that a redirect hints at a wrong address', async () => {
    await expect(client([html(301)]).store.getPet(7)).rejects.toThrow(/redirect: check baseUrl/);
  });
});

describe('the API key', () => {
  it('is nowhere in the client, its iterators, events and errors', async () => {
    const config = { headers: { Authorization: `Bearer ${KEY}` } };
    const leak = Object.assign(new Error(`Bearer ${KEY} was sent`, { cause: new Error(KEY, { cause: KEY }) }), {
      config,
    });
    const retries: Retry[] = [];
    const echo = response(400, JSON.stringify({ code: 'invalid_field', message: `No ${KEY}.`, status: 400 }));
    const onRetry = (retry: Retry) => retries.push(retry);
    jest.spyOn(Math, 'random').mockReturnValue(0);
    const { store } = client([leak, echo], { onRetry });
    const error: unknown = await store.createPet(NEW).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'invalid_field', tries: 2 });
    expect(retries).toMatchObject([{ error: { code: 'network' } }]);
    const all = [store, store.listPets(), store.pages(), error, retries, retries[0]?.error];
    for (const each of all) expect(shown(each)).not.toContain(KEY);
    expect(JSON.stringify([store, error, retries])).not.toContain(KEY);
  });

  it('is in no error of the platform about a connection that fails', async () => {
    const store = new PetStore({ baseUrl: 'http://127.0.0.1:1/v1', apiKey: KEY, retries: 0 });
    const error: unknown = await store.createPet(NEW).catch((thrown: unknown) => thrown);
    expect(shown(error)).not.toContain(KEY);
  });
});
