import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ErrorCode } from '../../src/adapters/http/errors/error-code.js';
import { Connection } from '../support/connection.js';
import { expectError } from '../support/error-body.js';
import { newPetJson } from '../support/fields.js';
import { bytes, KEY, rawRequest } from '../support/raw-requests.js';
import { Service } from '../support/service.js';
import { ParsedPet, pets, walk } from './requests.js';

const STATUSES = ['available', 'pending', 'sold'];

const service = Service.forSuite({ API_KEYS: KEY });
/** Newest first. */
const all: ParsedPet[] = [];

beforeAll(async () => {
  for (let i = 0; i < 25; i++) {
    const created = await service.add(newPetJson({ name: `"Pet ${i}"`, status: `"${STATUSES[i % 3]}"` }));
    all.unshift(JSON.parse(created.body) as ParsedPet);
  }
});

const list = (query: string) => service.send(`/v1/pets?${query}`);

describe('pages', () => {
  it.each(['', '&', 'limit=20&', '&&limit=%32%30'])('begin with the newest 20 for "?%s"', async (query) => {
    expect(pets(await list(query))).toEqual(all.slice(0, 20));
  });

  it.each([1, 7, 24, 25, 100])('of %i are linked until every pet that matches was returned once', async (limit) => {
    expect(pets(await list(`limit=${limit}`))).toEqual(all.slice(0, limit));
    expect(await walk(service, `/v1/pets?limit=${limit}`)).toEqual(all);
    for (const status of STATUSES) {
      const expected = all.filter((pet) => pet.status === status);
      expect(await walk(service, `/v1/pets?limit=${limit}&status=${status}`)).toEqual(expected);
    }
  });
});

describe('parameters', () => {
  it('are checked, however many there are', async () => {
    expectError(await service.send(`/v1/pets?${'&'.repeat(1_000)}page=2`), 'unknown_parameter');
  });

  it('are repeated in a short message', async () => {
    const { message } = expectError(await list(`limit=${'9'.repeat(10_000)}`), 'invalid_parameter');
    expect(message).toMatch(/^limit must be an integer from 1 to 100, not .{2,110}\.$/);
  });

  it.each<[string, ErrorCode, string]>([
    ['limit=5&limit=5', 'repeated_parameter', 'limit must be given once. The parameters are limit,'],
    ['limit=5&%6Cimit=5', 'repeated_parameter', 'limit must be given once.'],
    ['Limit=5', 'unknown_parameter', 'Did you mean "limit"?'],
    ['limit%20=5', 'unknown_parameter', 'Did you mean "limit"?'],
    ['page=2', 'unknown_parameter', '"page"'],
    ['limit[]=5', 'unknown_parameter', '"limit[]"'],
    ['__proto__=x', 'unknown_parameter', '"__proto__"'],
    ['status=lost', 'invalid_parameter', 'status must be one of available, pending, sold, not "lost".'],
  ])('?%s is rejected with %s', async (query, code, text) => {
    expect(expectError(await list(query), code).message).toContain(text);
  });

  it('every fault is named in the order of the query, with the code of the first', async () => {
    const { message } = expectError(await list('limit=0&limit=1&status=x&page=2'), 'invalid_parameter');
    expect(message).toMatch(/^limit must be an .* limit must be given once\. .* status must be .* "page" is not .*\.$/);
    expectError(await list('page=2&limit=0'), 'unknown_parameter');
    expectError(await list('limit=0&5=x'), 'invalid_parameter');
    expectError(await list('limit=5&status=x&limit=6'), 'invalid_parameter');
  });
});

describe('Link and Location', () => {
  it('never have the host that the client sent', async () => {
    const hosts = ['X-Forwarded-Host: evil.example', 'Forwarded: host=evil.example', 'KEY'];
    const ask = (line: string, fields: string[] = [], body = '') =>
      Connection.ask(
        service.port,
        bytes(rawRequest(line, [...hosts, ...fields], body).replace('x\n', 'evil.example\n')),
      );
    for (const target of ['/v1/pets?limit=1', 'http://evil.example/v1/pets?limit=1'])
      expect((await ask(`GET ${target}`)).header('Link')).toMatch(/^<\/v1\/pets\?/);
    const created = await ask('POST /v1/pets', ['Content-Type: application/json'], newPetJson());
    expect(created.header('Location')).toMatch(/^\/v1\/pets\/\d+$/);
    all.unshift(JSON.parse(created.body) as ParsedPet);
  });

  it('begin with PUBLIC_BASE_URL if it is set', async () => {
    const base = 'https://pets.example.com/store/v1';
    const other = await Service.start({ PUBLIC_BASE_URL: base });
    const created = [await other.add(newPetJson()), await other.add(newPetJson())];
    expect(created.map(({ headers }) => headers.location)).toEqual([`${base}/pets/1`, `${base}/pets/2`]);
    const { link } = (await other.send('/v1/pets?limit=1')).headers;
    expect((link as string).startsWith(`<${base}/pets?limit=1&cursor=`)).toBe(true);
    const deprecation = (await other.send('/v1/pets/1')).headers.link;
    expect(deprecation).toContain('<https://pets.example.com/store/docs>; rel="deprecation"');
    expect(deprecation).toContain(`<${base}/pets>; rel="successor-version"`);
    await other.stop();
  });
});
