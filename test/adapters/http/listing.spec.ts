import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ErrorCode } from '../../../src/adapters/http/errors/error-code.js';
import { Connection } from '../../support/connection.js';
import { expectError } from '../../support/error-body.js';
import { Answer, Service } from '../../support/service.js';
import { shortened } from '../../support/shortened.js';
import { lastingKinds, storeKinds, TestStore } from '../../support/stores.js';

interface Pet {
  readonly id: number;
  readonly name: string;
  readonly status: string;
}

const LIMIT = (given: string) => `limit must be an integer from 1 to 100, not ${JSON.stringify(given)}.`;
const STATUS = (given: string) => `status must be one of available, pending, sold, not ${JSON.stringify(given)}.`;
const CURSOR = /^cursor must be one that this list gave in a Link header, sent with the same status;/;

const REFUSALS: readonly (readonly [query: string, code: ErrorCode, message: string | RegExp])[] = [
  ...['abc', '0', '101', '1.5', '', '05', '1e1', '-1', '1000', '0x10', '1_0', '9223372036854775808', '٣'].map(
    (limit) => [`limit=${encodeURIComponent(limit)}`, 'invalid_parameter', LIMIT(limit)] as const,
  ),
  ['limit=%2B5', 'invalid_parameter', LIMIT('+5')],
  ['limit=+5', 'invalid_parameter', LIMIT(' 5')],
  ['limit=%205', 'invalid_parameter', LIMIT(' 5')],
  ['limit=5%20', 'invalid_parameter', LIMIT('5 ')],
  ['limit=5%0A', 'invalid_parameter', LIMIT('5\n')],
  ['limit=5%00', 'invalid_parameter', LIMIT('5\0')],
  ['limit', 'invalid_parameter', LIMIT('')],
  ['limit=%zz', 'invalid_parameter', LIMIT('%zz')],
  ['limit=%ff', 'invalid_parameter', LIMIT('\ufffd')],
  [`limit=${'9'.repeat(10_000)}`, 'invalid_parameter', LIMIT(`${'9'.repeat(60)}…`)],
  ['status=', 'invalid_parameter', STATUS('')],
  ['status', 'invalid_parameter', STATUS('')],
  ['status=Available', 'invalid_parameter', STATUS('Available')],
  ['status=available,sold', 'invalid_parameter', STATUS('available,sold')],
  ['status=sold%20', 'invalid_parameter', STATUS('sold ')],
  ['status=null', 'invalid_parameter', STATUS('null')],
  ['status=sold&status=sold', 'repeated_parameter', 'status must be given once.'],
  ['limit=5&limit=5', 'repeated_parameter', 'limit must be given once.'],
  ['limit=5&%6Cimit=5', 'repeated_parameter', 'limit must be given once.'],
  ['page=2', 'unknown_parameter', '"page" is not a query parameter of this operation.'],
  ['offset=20', 'unknown_parameter', '"offset" is not a query parameter of this operation.'],
  ['Limit=5', 'unknown_parameter', '"Limit" is not a query parameter of this operation. Did you mean "limit"?'],
  ['limits=5', 'unknown_parameter', '"limits" is not a query parameter of this operation. Did you mean "limit"?'],
  ['limit%20=5', 'unknown_parameter', '"limit " is not a query parameter of this operation. Did you mean "limit"?'],
  ['limit[]=5', 'unknown_parameter', '"limit[]" is not a query parameter of this operation.'],
  ['stauts=sold', 'unknown_parameter', '"stauts" is not a query parameter of this operation. Did you mean "status"?'],
  ['curser=x', 'unknown_parameter', '"curser" is not a query parameter of this operation. Did you mean "cursor"?'],
  ['__proto__=x', 'unknown_parameter', '"__proto__" is not a query parameter of this operation.'],
  ['=5', 'unknown_parameter', '"" is not a query parameter of this operation.'],
  ['?limit=5', 'unknown_parameter', '"?limit" is not a query parameter of this operation. Did you mean "limit"?'],
  [
    'page=2&status=x&limit=0',
    'unknown_parameter',
    `"page" is not a query parameter of this operation. ${STATUS('x')} ${LIMIT('0')}`,
  ],
  [
    'limit=0&limit=1&status=x&page=2',
    'invalid_parameter',
    `${LIMIT('0')} limit must be given once. ${STATUS('x')} "page" is not a query parameter of this operation.`,
  ],
  ['cursor=', 'invalid_cursor', CURSOR],
  ['cursor=1', 'invalid_cursor', CURSOR],
  ['cursor=2AAAAAAAAAAAAAAAAAAAAAA', 'invalid_cursor', CURSOR],
  [`cursor=${'9'.repeat(10_000)}`, 'invalid_cursor', CURSOR],
  ['cursor=a&cursor=b', 'repeated_parameter', 'cursor must be given once.'],
];

/** The target of the `Link` to the next page, or undefined if there is none. */
function next(answer: Answer): string | undefined {
  const { link } = answer.headers;
  if (link === undefined) return undefined;
  const target = /^<([^>]+)>; rel="next"$/.exec(link as string)?.[1];
  expect(target).toMatch(/^\/v1\/pets\?limit=\d+(?:&status=[a-z]+)?&cursor=[A-Za-z0-9_-]+$/);
  return target;
}

function petsOf(answer: Answer): Pet[] {
  expect(answer.status).toBe(200);
  return JSON.parse(answer.body) as Pet[];
}

async function walk(service: Service, from: string, between: () => Promise<unknown> = () => Promise.resolve()) {
  const found: Pet[] = [];
  for (let target: string | undefined = from; target !== undefined; await between()) {
    const answer = await service.send(target);
    found.push(...petsOf(answer));
    target = next(answer);
  }
  return found;
}

describe.each(storeKinds)('listing on $name', (kind) => {
  let store: TestStore;
  let service: Service;
  /** Newest first. */
  let all: Pet[];

  beforeAll(async () => {
    store = await kind.create();
    service = await Service.start({ DATABASE_URL: store.url });
    expect(petsOf(await service.send('/v1/pets'))).toEqual([]);
    all = [];
    for (let i = 0; i < 45; i++) {
      const status = ['available', 'pending', 'sold'][i % 3];
      all.unshift(JSON.parse((await service.add({ name: `pet ${i}`, categoryId: i, status })).body) as Pet);
    }
  });

  afterAll(async () => {
    await service.stop();
    await store.remove();
  });

  it('answers newest first, 20 of them if no limit is given', async () => {
    expect(petsOf(await service.send('/v1/pets'))).toEqual(all.slice(0, 20));
  });

  it.each(['1', '20', '44', '45', '46', '99', '100', '%31%30'])('takes a limit of %s', async (limit) => {
    const found = petsOf(await service.send(`/v1/pets?limit=${limit}`));
    expect(found).toEqual(all.slice(0, Number(decodeURIComponent(limit))));
  });

  it.each(['available', 'pending', 'sold'])('filters by the status %s', async (status) => {
    const found = petsOf(await service.send(`/v1/pets?limit=100&status=${status}`));
    expect(found).toEqual(all.filter((pet) => pet.status === status));
    expect(found).toHaveLength(15);
  });

  it.each(['', '?', '?&', '?limit=20&', '?&&limit=20'])('takes the query "%s" for the first page', async (query) => {
    expect(petsOf(await service.send(`/v1/pets${query}`))).toEqual(all.slice(0, 20));
  });

  it.each(REFUSALS.map((row) => [shortened(row[0]), ...row] as const))(
    'refuses ?%s',
    async (_short, query, code, says) => {
      const { message } = expectError(await service.send(`/v1/pets?${query}`), code);
      if (typeof says === 'string') expect(message).toBe(says);
      else expect(message).toMatch(says);
    },
  );

  it.each(['?limit=5', '?status=sold', '?dryRun=1', '?a&a'])(
    'refuses every parameter of createPet, as %s',
    async (query) => {
      const body = '{"name":"Bella","categoryId":1}';
      const headers = { 'Content-Type': 'application/json' };
      expectError(await service.send(`/v1/pets${query}`, { method: 'POST', headers, body }), 'unknown_parameter');
    },
  );

  it('leads through further pages by Link, which the last page has not', async () => {
    const first = await service.send('/v1/pets?limit=20');
    const second = await service.send(next(first) as string);
    const third = await service.send(next(second) as string);
    expect([first, second, third].flatMap(petsOf)).toEqual(all);
    expect(petsOf(third)).toHaveLength(5);
    expect(next(third)).toBeUndefined();
  });

  it.each([1, 7, 15, 44, 45, 46])('walks the whole list in pages of %i', async (limit) => {
    expect(await walk(service, `/v1/pets?limit=${limit}`)).toEqual(all);
    expect(await walk(service, `/v1/pets?limit=${limit}&status=sold`)).toEqual(
      all.filter((pet) => pet.status === 'sold'),
    );
  });

  it('lets a walk change its limit', async () => {
    const target = next(await service.send('/v1/pets?limit=2')) as string;
    expect(petsOf(await service.send(target.replace('limit=2', 'limit=3')))).toEqual(all.slice(2, 5));
    expect(petsOf(await service.send(target.replace('limit=2&', '')))).toEqual(all.slice(2, 22));
  });

  it('gives no total count', async () => {
    const { headers } = await service.send('/v1/pets?limit=1');
    expect(Object.keys(headers).filter((name) => /total|count/.test(name))).toEqual([]);
  });

  it('gives absolute paths as links, whatever Host says', async () => {
    const request = `GET /v1/pets?limit=1 HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nForwarded: host=evil.example\r\nAuthorization: Bearer ${service.key}\r\n\r\n`;
    const answer = await Connection.ask(service.port, request);
    expect(answer.header('Link')).toMatch(/^<\/v1\/pets\?/);
    const post = await Connection.ask(
      service.port,
      request
        .replace('GET', 'POST')
        .replace('?limit=1', '')
        .replace('\r\n\r\n', '\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx'),
    );
    for (const { fields, body } of [answer, post]) expect(JSON.stringify([fields, body])).not.toContain('evil');
  });

  describe('a cursor', () => {
    let cursor: string;

    beforeEach(async () => {
      const target = next(await service.send('/v1/pets?limit=10')) as string;
      cursor = new URL(target, 'http://x').searchParams.get('cursor') as string;
    });

    it('is valid again and again', async () => {
      for (let i = 0; i < 2; i++) {
        expect(petsOf(await service.send(`/v1/pets?limit=3&cursor=${cursor}`))).toEqual(all.slice(10, 13));
      }
    });

    it('is refused where one character of it is another', async () => {
      for (let i = 0; i < cursor.length; i++) {
        for (const other of ['0', 'A', '-']) {
          if (cursor[i] === other) continue;
          const tampered = cursor.slice(0, i) + other + cursor.slice(i + 1);
          expectError(await service.send(`/v1/pets?cursor=${tampered}`), 'invalid_cursor');
        }
      }
    });

    it('is refused if it is truncated or longer', async () => {
      for (let i = 0; i < cursor.length; i++) {
        expectError(await service.send(`/v1/pets?cursor=${cursor.slice(0, i)}`), 'invalid_cursor');
        expectError(await service.send(`/v1/pets?cursor=${cursor.slice(i + 1)}`), 'invalid_cursor');
      }
      for (const more of [`0${cursor}`, `${cursor}=`, `${cursor}A`, ` ${cursor}`, cursor.toUpperCase()]) {
        expectError(await service.send(`/v1/pets?cursor=${encodeURIComponent(more)}`), 'invalid_cursor');
      }
    });

    it("is refused with another filter's list", async () => {
      expectError(await service.send(`/v1/pets?status=sold&cursor=${cursor}`), 'invalid_cursor');
      const filtered = next(await service.send('/v1/pets?limit=1&status=sold')) as string;
      expectError(await service.send(filtered.replace('sold', 'pending')), 'invalid_cursor');
      expectError(await service.send(filtered.replace('&status=sold', '')), 'invalid_cursor');
    });
  });
});

describe.each(storeKinds)('a walk on $name while pets are added', (kind) => {
  let store: TestStore;
  let service: Service;

  beforeAll(async () => {
    store = await kind.create();
    service = await Service.start({ DATABASE_URL: store.url });
  });

  afterAll(async () => {
    await service.stop();
    await store.remove();
  });

  it.each(['', '&status=sold'])(
    'meets every animal that was acknowledged before it began exactly once%s',
    async (filter) => {
      const add = async (name: string) =>
        JSON.parse((await service.add({ name, categoryId: 1, status: 'sold' })).body) as Pet;
      const before = await Promise.all(Array.from({ length: 60 }, (_, i) => add(`before ${i}`)));
      let walking = true;
      let during = 0;
      const writers = Array.from({ length: 4 }, async () => {
        while (walking) await add(`during ${during++}`);
      });
      const found = await walk(service, `/v1/pets?limit=3${filter}`);
      walking = false;
      await Promise.all(writers);
      const ids = found.map(({ id }) => id);
      expect(during).toBeGreaterThan(10);
      expect(ids).toEqual([...new Set(ids)].sort((a, b) => b - a));
      expect(found.filter(({ name }) => name.startsWith('before')).map(({ id }) => id)).toEqual(
        expect.arrayContaining(before.map(({ id }) => id)),
      );
    },
  );
});

describe.each(lastingKinds)('a cursor on $name', (kind) => {
  it('is valid for ever: behind a restart, and on other instances', async () => {
    const store = await kind.create();
    let service = await Service.start({ DATABASE_URL: store.url });
    for (let i = 0; i < 4; i++) await service.add({ name: `pet ${i}`, categoryId: i });
    const target = next(await service.send('/v1/pets?limit=2')) as string;
    const expected = petsOf(await service.send(target));
    const replica = await Service.start({ DATABASE_URL: store.url });
    expect(petsOf(await replica.send(target))).toEqual(expected);
    await replica.stop();
    await service.stop();
    service = await Service.start({ DATABASE_URL: store.url });
    expect(petsOf(await service.send(target))).toEqual(expected);
    expect(next(await service.send('/v1/pets?limit=2'))).toBe(target);
    await service.stop();
    await store.remove();
  });
});

describe('links if PUBLIC_BASE_URL is set', () => {
  it('begin with it', async () => {
    const base = 'https://pets.example.com/store/v1';
    const service = await Service.start({ PUBLIC_BASE_URL: base });
    const added = await service.add('{"name":"Bella","categoryId":1}');
    expect(added.headers.location).toBe(`${base}/pets/1`);
    await service.add('{"name":"Zoe","categoryId":1}');
    const { headers } = await service.send('/v1/pets?limit=1');
    expect(headers.link).toMatch(
      /^<https:\/\/pets\.example\.com\/store\/v1\/pets\?limit=1&cursor=[^>&]+>; rel="next"$/,
    );
    const pet = await service.send('/v1/pets/1');
    expect(pet.headers.link).toBe(
      '<https://pets.example.com/store/docs>; rel="deprecation"; type="text/html", <https://pets.example.com/store/v1/pets>; rel="successor-version"',
    );
    await service.stop();
  });
});
