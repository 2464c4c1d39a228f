import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ErrorCode } from '../../src/adapters/http/errors/error-code.js';
import { Connection } from '../support/connection.js';
import { expectError } from '../support/error-body.js';
import { newPetJson } from '../support/fields.js';
import { OPERATIONS } from '../support/operations.js';
import { Service } from '../support/service.js';
import { nextPage, operation, ParsedPet, pets, sendTo } from './requests.js';

const listPets = operation('listPets');

let service: Service;
/** Newest first. */
const all: ParsedPet[] = [];

beforeAll(async () => {
  service = await Service.start();
  for (const status of ['available', 'pending', 'sold', 'sold', 'sold']) {
    const created = await service.add(newPetJson({ name: `"Pet ${all.length}"`, status: `"${status}"` }));
    all.unshift(JSON.parse(created.body) as ParsedPet);
  }
});

afterAll(() => service.stop());

const list = (query: string) => service.send(`/v1/pets?${query}`);

describe('parameters', () => {
  it.each(listPets.invalid)('$target is rejected with $code', async (request) => {
    expectError(await sendTo(service, listPets, request), request.code);
  });

  it.each([
    'limit',
    'limit=%35%00',
    'limit=5%0A',
    'limit=%zz',
    'limit=%ff',
    'limit=%D9%A3',
    `limit=${'9'.repeat(10_000)}`,
  ])('?%.20s is rejected with a short message about the limit', async (query) => {
    const { message } = expectError(await list(query), 'invalid_parameter');
    expect(message).toMatch(/^limit must be an integer from 1 to 100, not .{2,70}\.$/);
  });

  it.each(['', '&', 'limit=20&', '&&limit=%32%30'])('"?%s" returns the first page', async (query) => {
    expect(pets(await list(query))).toEqual(all);
  });

  it.each<[string, ErrorCode, string]>([
    ['limit=5&limit=5', 'repeated_parameter', 'limit must be given once.'],
    ['limit=5&%6Cimit=5', 'repeated_parameter', 'limit must be given once.'],
    ['cursor=a&cursor=b', 'repeated_parameter', 'cursor must be given once.'],
    ['Limit=5', 'unknown_parameter', 'Did you mean "limit"?'],
    ['limit%20=5', 'unknown_parameter', 'Did you mean "limit"?'],
    ['stauts=sold', 'unknown_parameter', 'Did you mean "status"?'],
    ['curser=x', 'unknown_parameter', 'Did you mean "cursor"?'],
    ['page=2', 'unknown_parameter', '"page"'],
    ['limit[]=5', 'unknown_parameter', '"limit[]"'],
    ['__proto__=x', 'unknown_parameter', '"__proto__"'],
    ['=5', 'unknown_parameter', '""'],
  ])('?%s is rejected with %s', async (query, code, text) => {
    expect(expectError(await list(query), code).message).toContain(text);
  });

  it('every fault is named in the order of the query, with the code of the first', async () => {
    const { message } = expectError(await list('limit=0&limit=1&status=x&page=2'), 'invalid_parameter');
    expect(message).toMatch(/^limit must be an .* limit must be given once\. status must be .* "page" is not .*\.$/);
    expectError(await list('page=2&limit=0'), 'unknown_parameter');
  });

  it.each(OPERATIONS)('an unknown one is rejected by $name', async (operation) => {
    const { target } = operation.valid;
    const unknown = `${target}${target.includes('?') ? '&' : '?'}dryRun=1`;
    const { message } = expectError(
      await sendTo(service, operation, { ...operation.valid, target: unknown }),
      'unknown_parameter',
    );
    expect(message).toContain('"dryRun"');
  });
});

describe('Link', () => {
  it('keeps the limit and the status, and is absent on the last page', async () => {
    const first = await list('limit=2&status=sold');
    const next = nextPage(first) as string;
    expect(next).toMatch(/\?limit=2&status=sold&cursor=/);
    const last = await service.send(next);
    expect([...pets(first), ...pets(last)]).toEqual(all.slice(0, 3));
    expect(nextPage(last)).toBeUndefined();
    expect(nextPage(await list('limit=5'))).toBeUndefined();
  });

  it('is the only header about further pages: there is no total count', async () => {
    expect(Object.keys((await list('limit=1')).headers).filter((name) => /total|count/.test(name))).toEqual([]);
  });

  it('and Location never have the host that the client sent', async () => {
    const ask = (line: string, body: string) =>
      Connection.ask(
        service.port,
        [
          `${line} HTTP/1.1`,
          ...['Host: evil.example', 'X-Forwarded-Host: evil.example', 'Forwarded: host=evil.example'],
          ...[`Authorization: Bearer ${service.key}`, 'Content-Type: application/json'],
          `Content-Length: ${body.length}\r\n\r\n${body}`,
        ].join('\r\n'),
      );
    expect((await ask('GET /v1/pets?limit=1', '')).header('Link')).toMatch(/^<\/v1\/pets\?/);
    expect((await ask('GET http://evil.example/v1/pets?limit=1', '')).header('Link')).toMatch(/^<\/v1\/pets\?/);
    const created = await ask('POST /v1/pets', newPetJson());
    expect(created.header('Location')).toMatch(/^\/v1\/pets\/\d+$/);
    all.unshift(JSON.parse(created.body) as ParsedPet);
  });
});

describe('if PUBLIC_BASE_URL is set', () => {
  const base = 'https://pets.example.com/store/v1';
  let other: Service;

  beforeAll(async () => {
    other = await Service.start({ PUBLIC_BASE_URL: base });
  });

  afterAll(() => other.stop());

  it('Link and Location begin with it', async () => {
    const created = [await other.add(newPetJson()), await other.add(newPetJson())];
    expect(created.map(({ headers }) => headers.location)).toEqual([`${base}/pets/1`, `${base}/pets/2`]);
    const { link } = (await other.send('/v1/pets?limit=1')).headers;
    expect((link as string).startsWith(`<${base}/pets?limit=1&cursor=`)).toBe(true);
    const deprecation = (await other.send('/v1/pets/1')).headers.link;
    expect(deprecation).toContain('<https://pets.example.com/store/docs>; rel="deprecation"');
    expect(deprecation).toContain(`<${base}/pets>; rel="successor-version"`);
  });
});

describe('a cursor', () => {
  let cursor: string;

  beforeAll(async () => {
    const next = nextPage(await list('limit=2')) as string;
    cursor = new URL(next, 'http://x').searchParams.get('cursor') as string;
  });

  it('is valid again and again, with any limit', async () => {
    for (const limit of [1, 1, 2, 100]) {
      expect(pets(await list(`limit=${limit}&cursor=${cursor}`))).toEqual(all.slice(2, 2 + limit));
    }
  });

  it('is rejected if one character differs, or if it is truncated or longer', async () => {
    const places = [...cursor].keys();
    const damaged = [...places].flatMap((i) => [
      cursor.slice(0, i) + (cursor[i] === 'A' ? 'B' : 'A') + cursor.slice(i + 1),
      cursor.slice(0, i),
      cursor.slice(i + 1),
    ]);
    for (const each of [...damaged, `0${cursor}`, `${cursor}A`, `${cursor}=`, ` ${cursor}`, '9'.repeat(10_000)])
      expectError(await list(`cursor=${encodeURIComponent(each)}`), 'invalid_cursor');
  });

  it('is rejected with another status than that of its list', async () => {
    expectError(await list(`status=sold&cursor=${cursor}`), 'invalid_cursor');
    const filtered = nextPage(await list('limit=1&status=sold')) as string;
    expectError(await service.send(filtered.replace('sold', 'pending')), 'invalid_cursor');
    expectError(await service.send(filtered.replace('&status=sold', '')), 'invalid_cursor');
  });
});
