import { beforeAll, describe, expect, it } from '@jest/globals';
import { Connection, type WireAnswer } from '../support/connection.js';
import { expectError } from '../support/error-body.js';
import { newPetJson } from '../support/fields.js';
import { OPERATIONS } from '../support/operations.js';
import { bytes, get, KEY, rawRequest } from '../support/raw-requests.js';
import { type Answer, Service } from '../support/service.js';

const PET = newPetJson();

const service = Service.forSuite({ API_KEYS: KEY });

beforeAll(async () => {
  await service.add(PET);
});

const send = (text: string): Promise<WireAnswer> => Connection.ask(service.port, bytes(text));

/** Sends a createPet with these header lines, the Content-Type among them. */
const post = (fields: readonly string[], body = PET): Promise<WireAnswer> =>
  send(rawRequest('POST /v1/pets', ['KEY', ...fields], body));

const JSON_TYPE = 'Content-Type: application/json';

describe('Content-Type', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json;charset=utf8',
    'application/json; charset="UTF8"',
    'application/json ; x=y',
  ])('may be %s', async (type) => {
    expect((await post([`Content-Type: ${type}`])).status).toBe(201);
  });

  it.each([
    'text/plain',
    'application/jsonp',
    'application/vnd.api+json',
    'application/*',
    'application/json, text/plain',
    'application/json; charset=iso-8859-1',
    'application/json; charset=utf-16',
    'application/json; charset=utf-8x',
    'application/json; charset=xutf-8',
    'application/json; charset=',
    '',
    'application/json\nContent-Type: text/plain',
  ])('may not be %j', async (type) => {
    const response = await post([`Content-Type: ${type}`]);
    const { message } = expectError(response, 'unsupported_media_type');
    expect(message).toContain(
      type === '' ? '; it is missing.' : `; not ${JSON.stringify(type.replace('\nContent-Type:', ','))}`,
    );
    expect(response.header('Accept')).toBe('application/json');
  });

  it.each(['X-A: b', 'Content-Type: text/plain', JSON_TYPE])('does not matter without a body: %s', async (field) => {
    expectError(await post([field], ''), 'invalid_body');
    expectError(await post([field, 'Content-Length: 0'], ''), 'invalid_body');
  });
});

describe('Content-Encoding', () => {
  it.each(['identity', 'Identity'])('may be %s', async (encoding) => {
    expect((await post([JSON_TYPE, `Content-Encoding: ${encoding}`])).status).toBe(201);
  });

  it.each(['gzip', 'br', 'identity, gzip'])('may not be %s', async (encoding) => {
    const response = await post([JSON_TYPE, `Content-Encoding: ${encoding}`]);
    expectError(response, 'unsupported_media_type');
    expect(response.header('Accept-Encoding')).toBe('identity');
  });

  it('may not be replaced by a transfer coding', async () => {
    const head = rawRequest('POST /v1/pets', ['KEY', JSON_TYPE, 'Transfer-Encoding: gzip, chunked']);
    expectError(await send(`${head}2\n{}\n0\n\n`), 'unsupported_media_type');
  });
});

describe('a body', () => {
  const chunked = rawRequest('POST /v1/pets', ['KEY', JSON_TYPE, 'Transfer-Encoding: chunked']);

  it('may have 64 KiB', async () => {
    expect((await post([JSON_TYPE], PET.padEnd(65_536))).status).toBe(201);
    expect((await send(`${chunked}10000\n${PET.padEnd(65_536)}\n0\n\n`)).status).toBe(201);
  });

  it('may come in chunks that divide a character', async () => {
    const body = Buffer.from(newPetJson({ name: '"Zoë 🐕"' })).toString('latin1');
    const chunks = [...body].map((byte) => `1\n${byte}\n`).join('');
    const response = await send(`${chunked}${chunks}0\n\n`);
    expect(JSON.parse(response.body)).toMatchObject({ name: 'Zoë 🐕' });
  });

  it.each([
    ['a Content-Length of 64 KiB and a byte, before it is read', { length: '65537' }],
    ['a Content-Length beyond 2^53', { length: '9007199254740993' }],
    ['chunks of 64 KiB and a byte, before they end', { chunks: `10001\n${PET.padEnd(65_537)}` }],
    ['66 chunks of 1,000 bytes', { chunks: `3e8\n${' '.repeat(1_000)}\n`.repeat(66) }],
  ])('may not have %s', async (_what, { length, chunks }: { length?: string; chunks?: string }) => {
    const head = rawRequest('POST /v1/pets', ['KEY', JSON_TYPE, `Content-Length: ${length}`]);
    expectError(await send(chunks === undefined ? head : chunked + chunks), 'body_too_large');
  });

  it.each([
    ['a Content-Length', 'Content-Length: 5000000', ' '.repeat(5_000_000)],
    ['chunks', 'Transfer-Encoding: chunked', `4c4b40\n${' '.repeat(5_000_000)}`],
  ])('of 5 MB is answered with 413, and the connection closed: by %s', async (_what, framing, body) => {
    const connection = await Connection.send(
      service.port,
      bytes(rawRequest('POST /v1/pets', ['KEY', JSON_TYPE, framing]) + body),
    );
    const response = await connection.answer();
    expectError(response, 'body_too_large');
    expect(response.header('Connection')).toBe('close');
    await connection.closed;
    expect(connection.broke).toBe(false);
  });
});

describe('Accept', () => {
  it.each([
    '*/*',
    'application/*',
    'APPLICATION/JSON; charset=utf-8',
    'application/json; version=1; q=0.5',
    'text/html, application/json;q=0.001',
    'text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8',
    'text/html\nAccept: application/json',
    '',
  ])('may be %j', async (accept) => {
    expect((await send(get('/v1/pets', `Accept: ${accept}`))).status).toBe(200);
  });

  it.each(['text/html', 'application/xml', 'application/json;q=0', '*/*;q=0', '*/*, application/json;q=0.0', 'json'])(
    'gets 406 before any effect if it is %s',
    async (accept) => {
      const before = (await service.send('/v1/pets?limit=1')).body;
      for (const { method, valid } of OPERATIONS) {
        const headers = { ...valid.headers, Accept: accept };
        const response = await service.send(valid.target, { method, headers, body: valid.body });
        expectError(response, 'not_acceptable');
      }
      expect((await service.send('/v1/pets?limit=1')).body).toBe(before);
    },
  );
});

/** The target of each path of the interface, and the methods that it allows. */
const ALLOWED = [...new Set(OPERATIONS.map(({ path }) => path))].map((path): [target: string, string[]] => {
  const operations = OPERATIONS.filter((each) => each.path === path);
  const methods = operations.map(({ method }) => method);
  const [target = ''] = (operations[0]?.valid.target ?? '').split('?');
  return [target, [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].sort()];
});

const allowOf = ({ headers }: Answer) => headers.allow?.split(', ').sort();

describe('methods', () => {
  it.each(ALLOWED)('of %s are in Allow, of a 405 and of OPTIONS', async (target, allowed) => {
    for (const method of ['PROPFIND', 'TRACE', 'M-SEARCH']) {
      const response = await service.send(target, { method });
      expectError(response, 'method_not_allowed');
      expect(allowOf(response)).toEqual(allowed);
    }
    const response = await service.send(`${target}?x=y`, { method: 'OPTIONS', headers: { Accept: 'text/html' } });
    expect(response).toMatchObject({ status: 204, body: '', headers: { 'cache-control': 'no-store' } });
    expect(allowOf(response)).toEqual(allowed);
  });

  it.each(['/', '/docs', '/openapi.json', '/health/live'])('of %s are GET, HEAD and OPTIONS', async (target) => {
    const response = await service.send(target, { method: 'PROPFIND', key: false });
    expectError(response, 'method_not_allowed');
    expect(allowOf(response)).toEqual(['GET', 'HEAD', 'OPTIONS']);
  });

  it.each(['/v1/pets', '/v1/pets?limit=0', '/v1/pets/1', '/v1/pets/999', '/v1/nothing', '/docs', '/openapi.json'])(
    'include HEAD, which answers %s as GET does but without the body',
    async (path) => {
      const [ofGet, ofHead] = [await service.send(path), await service.send(path, { method: 'HEAD' })];
      expect([ofHead.status, ofHead.body]).toEqual([ofGet.status, '']);
      const own = { date: ofHead.headers.date, 'x-request-id': ofHead.headers['x-request-id'] };
      expect(ofHead.headers).toEqual({ ...ofGet.headers, ...own });
      expect(ofGet.headers['content-length']).toBe(String(Buffer.byteLength(ofGet.body)));
    },
  );
});

describe('paths', () => {
  it.each([
    '/v1/pets/',
    '/v1/pets/1/',
    '/V1/pets',
    '/v1/Pets',
    '/v1//pets',
    '/v1',
    '/pets',
    '/v2/pets',
    '/v1/./pets',
    '/v1/pets%2F1',
    '/Docs',
    '/docs//',
    '/nothing',
    '/%ff',
  ])('are exact: %s is 404, without a redirect', async (path) => {
    const response = await service.send(path);
    expectError(response, 'route_not_found');
    expect(response.headers.location).toBeUndefined();
  });

  it('may be absolute, with a query, or end in a lone question mark', async () => {
    expectError(await send(get('http://x/v1/pets?limit=0')), 'invalid_parameter');
    expect((await send(get('/v1/pets?'))).status).toBe(200);
  });
});

const RESPONSES = [
  ['a list', 'GET', '/v1/pets'],
  ['a pet', 'GET', '/v1/pets/1'],
  ['a 404', 'GET', '/v1/pets/999'],
  ['a 405', 'TRACE', '/v1/pets'],
  ['a 204', 'OPTIONS', '/v1/pets'],
] as const;

describe('responses', () => {
  it.each(RESPONSES)('have X-Request-Id, no-store and nosniff, and name no software: %s', async (_w, method, path) => {
    const { headers } = await service.send(path, { method });
    expect(headers['x-request-id']).toMatch(/^[A-Za-z0-9._-]{16,64}$/);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    for (const name of ['x-powered-by', 'server', 'etag', 'set-cookie', 'ratelimit'])
      expect(headers).not.toHaveProperty(name);
  });

  it.each(['a', 'A.b_c-9', 'x'.repeat(64)])('keep the X-Request-Id %s', async (id) => {
    for (const path of ['/v1/pets', '/v1/pets/x', '/nothing', '/docs', '/health/live', '/openapi.yaml'])
      expect((await send(get(path, `X-Request-Id: ${id}`))).header('X-Request-Id')).toBe(id);
  });

  it.each(['x'.repeat(65), 'a b', 'a;b', '', '\xe9', 'a\nX-Request-Id: b'])(
    'replace the X-Request-Id %j, by another each',
    async (id) => {
      const ids = [];
      for (let i = 0; i < 5; i++) ids.push((await send(get('/v1/pets', `X-Request-Id: ${id}`))).header('X-Request-Id'));
      for (const each of ids) expect(each).toMatch(/^[A-Za-z0-9._-]{16,64}$/);
      expect(new Set(ids).size).toBe(5);
    },
  );
});
