import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Connection, WireAnswer } from '../../support/connection.js';
import { expectError } from '../../support/error-body.js';
import { Service } from '../../support/service.js';

const PET = '{"name":"Bella","categoryId":1}';

let service: Service;

beforeAll(async () => {
  service = await Service.start();
  await service.add(PET);
});

afterAll(() => service.stop());

/** Sends a request of these lines, with the key, and a body if one is given. */
function ask(
  lines: string,
  body = '',
  framing = body === '' ? '' : `Content-Length: ${body.length}\r\n`,
): Promise<WireAnswer> {
  const head = lines.replaceAll('\n', '\r\n');
  return Connection.ask(
    service.port,
    `${head}\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n${framing}\r\n${body}`,
  );
}

const post = (headers: string, body?: string, framing?: string) =>
  ask(`POST /v1/pets HTTP/1.1\n${headers}`, body, framing);

/** A header section without what differs from answer to answer. */
const lasting = ({ fields }: WireAnswer) => fields.filter(([name]) => !['Date', 'X-Request-Id'].includes(name));

describe('Content-Type', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json; version=1',
    'application/json;',
    'application/json ; charset=utf-8 ; x=y',
  ])('takes %s', async (type) => {
    expect((await post(`Content-Type: ${type}`, PET)).status).toBe(201);
  });

  it.each([
    'text/plain',
    'text/json',
    'application/jsonp',
    'application/json+x',
    'application/vnd.api+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/*',
    '*/*',
    'json',
    'application/json, text/plain',
    'application/json; charset=iso-8859-1',
    'application/json; charset=utf-16',
    'application/json; charset="latin1"',
    'application/json; charset=',
    'application/json; charset',
    '',
  ])('refuses "%s" with 415', async (type) => {
    const answer = await post(`Content-Type: ${type}`, PET);
    expectError(answer, 'unsupported_media_type');
    expect(answer.header('Accept')).toBe('application/json');
  });

  it('refuses a body without one, and one with two, with 415', async () => {
    expectError(await post('X-A: b', PET), 'unsupported_media_type');
    expectError(await post('Content-Type: application/json\nContent-Type: text/plain', PET), 'unsupported_media_type');
  });

  it.each([
    ['none', ''],
    ['an empty one', 'Content-Length: 0\r\n'],
  ])('does not matter to a POST with no body (%s), which is 400', async (_what, framing) => {
    for (const type of ['X-A: b', 'Content-Type: text/plain', 'Content-Type: application/json']) {
      expectError(await post(type, '', framing), 'invalid_body');
    }
  });

  it('finds an empty chunked body to be empty', async () => {
    const framing = 'Transfer-Encoding: chunked\r\n';
    expectError(await post('Content-Type: application/json', '0\r\n\r\n', framing), 'invalid_body');
  });
});

describe('Content-Encoding', () => {
  it.each(['identity', 'Identity'])('takes %s', async (encoding) => {
    expect((await post(`Content-Type: application/json\nContent-Encoding: ${encoding}`, PET)).status).toBe(201);
  });

  it.each(['gzip', 'br', 'deflate', 'zstd', 'identity, gzip', 'aes128gcm'])('refuses %s with 415', async (encoding) => {
    const answer = await post(`Content-Type: application/json\nContent-Encoding: ${encoding}`, PET);
    expectError(answer, 'unsupported_media_type');
    expect(answer.header('Accept-Encoding')).toBe('identity');
  });

  it('refuses a transfer coding besides chunked with 415', async () => {
    const body = `${PET.length.toString(16)}\r\n${PET}\r\n0\r\n\r\n`;
    const framing = 'Transfer-Encoding: gzip, chunked\r\n';
    expectError(await post('Content-Type: application/json', body, framing), 'unsupported_media_type');
  });
});

describe('body size', () => {
  const chunked = 'Transfer-Encoding: chunked\r\n';
  const type = 'Content-Type: application/json';

  it('takes 64 KiB', async () => {
    expect((await post(type, PET.padEnd(65_536))).status).toBe(201);
    expect((await post(type, `10000\r\n${PET.padEnd(65_536)}\r\n0\r\n\r\n`, chunked)).status).toBe(201);
  });

  it.each(['65537', '1000000', '9007199254740993'])(
    'refuses a Content-Length of %s with 413 before reading',
    async (length) => {
      expectError(await post(type, '', `Content-Length: ${length}\r\n`), 'body_too_large');
    },
  );

  it('counts a chunked body, and refuses it with 413 before it ends', async () => {
    expectError(await post(type, `10001\r\n${PET.padEnd(65_537)}`, chunked), 'body_too_large');
    const one = ` `.repeat(1_000);
    expectError(await post(type, `3e8\r\n${one}\r\n`.repeat(66), chunked), 'body_too_large');
  });

  it('refuses chunk extensions without end with 413', async () => {
    expectError(await post(type, `1;${'x'.repeat(20_000)}`, chunked), 'body_too_large');
  });

  it.each([
    ['a Content-Length', `Content-Length: 5000000\r\n\r\n${' '.repeat(5_000_000)}`],
    ['chunks', `Transfer-Encoding: chunked\r\n\r\n4c4b40\r\n${' '.repeat(5_000_000)}`],
  ])('answers 413 to a client that goes on sending, by %s, and closes the connection', async (_what, rest) => {
    const connection = await Connection.open(service.port);
    connection.write(`POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n${type}\r\n${rest}`);
    const answer = await connection.answer();
    expectError(answer, 'body_too_large');
    expect(answer.header('Connection')).toBe('close');
    await connection.closed;
    expect(connection.broke).toBe(false);
  });

  it('keeps the connection if a small body is left unread', async () => {
    const connection = await Connection.open(service.port);
    connection.write('POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 31\r\n\r\n');
    expectError(await connection.answer(), 'api_key_missing');
    connection.write(`${PET}GET /v1/pets/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n\r\n`);
    expect((await connection.answer()).status).toBe(200);
    connection.destroy();
  });
});

describe('Accept', () => {
  it.each([
    '*/*',
    'application/*',
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;version=1;q=0.5',
    'text/html, application/json;q=0.001',
    'text/html;q=0, */*;q=0.1',
    'application/json, application/*;q=0, */*;q=0',
    'text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8',
    ' , application/json',
    '',
  ])('of "%s" takes JSON', async (accept) => {
    expect((await ask(`GET /v1/pets HTTP/1.1\nAccept: ${accept}`)).status).toBe(200);
  });

  it('may be absent, and may come in lines', async () => {
    expect((await ask('GET /v1/pets HTTP/1.1')).status).toBe(200);
    expect((await ask('GET /v1/pets HTTP/1.1\nAccept: text/html\nAccept: application/json')).status).toBe(200);
  });

  it.each([
    'text/html',
    'text/*',
    'application/xml',
    'application/problem+json',
    'application/json;q=0',
    'application/json; q=0',
    'application/json ; Q=0.000',
    'application/json;charset=utf-8;q=0',
    '*/*;q=0',
    '*/*, application/*;q=0',
    '*/*, application/json;q=0',
    'application/*, application/json; q=0.0',
    'json',
  ])('of "%s" is 406 before any effect', async (accept) => {
    const before = (await service.send('/v1/pets?limit=1')).body;
    for (const line of ['GET /v1/pets', 'GET /v1/pets/1', 'HEAD /v1/pets/999', 'POST /v1/pets?x=y']) {
      const answer = await ask(`${line} HTTP/1.1\nContent-Type: application/json\nAccept: ${accept}`, PET);
      if (line.startsWith('HEAD')) expect(answer.status).toBe(406);
      else expectError(answer, 'not_acceptable');
    }
    expect((await service.send('/v1/pets?limit=1')).body).toBe(before);
  });
});

describe('other methods', () => {
  const paths = [
    ['/v1/pets', 'GET, HEAD, POST, OPTIONS'],
    ['/v1/pets/1', 'GET, HEAD, OPTIONS'],
    ['/v1/pets/abc', 'GET, HEAD, OPTIONS'],
  ] as const;

  it.each(paths)('are 405 with Allow on %s', async (path, allowed) => {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'PURGE', 'M-SEARCH', 'LINK']) {
      const answer = await ask(`${method} ${path} HTTP/1.1`);
      expectError(answer, 'method_not_allowed');
      expect(answer.header('Allow')).toBe(allowed);
    }
  });

  it('are 405 for POST on a pet', async () => {
    const answer = await ask('POST /v1/pets/1 HTTP/1.1\nContent-Type: application/json', PET);
    expectError(answer, 'method_not_allowed');
    expect(answer.header('Allow')).toBe('GET, HEAD, OPTIONS');
  });

  it.each(paths)('OPTIONS answers 204 with Allow on %s', async (path, allowed) => {
    const answer = await ask(`OPTIONS ${path}?x=y HTTP/1.1\nAccept: text/html`);
    expect(answer).toMatchObject({ status: 204, body: '' });
    expect(answer.header('Allow')).toBe(allowed);
    expect(answer.header('Cache-Control')).toBe('no-store');
    expect(answer.header('Content-Length')).toBeUndefined();
    expectError(await service.send(path, { method: 'OPTIONS', key: false }), 'api_key_missing');
  });

  it('OPTIONS * answers for the server as a whole (RFC 9110, section 9.3.7)', async () => {
    const answer = await ask('OPTIONS * HTTP/1.1');
    expect(answer.status).toBe(204);
    expect(answer.header('Allow')).toBe('GET, HEAD, POST, OPTIONS');
    expectError(await service.send('*', { method: 'OPTIONS', key: false }), 'api_key_missing');
  });

  it.each(['/v1/pets', '/v1/pets?limit=0', '/v1/pets/1', '/v1/pets/999', '/v1/nothing', '/docs', '/openapi.json'])(
    'HEAD %s answers as GET does, without the body',
    async (path) => {
      const connection = await Connection.open(service.port);
      const lines = `Host: x\r\nAuthorization: Bearer ${service.key}\r\n\r\n`;
      connection.write(
        `GET ${path} HTTP/1.1\r\n${lines}HEAD ${path} HTTP/1.1\r\n${lines}GET ${path} HTTP/1.1\r\n${lines}`,
      );
      const get = await connection.answer();
      const head = await connection.answer(true);
      const again = await connection.answer();
      connection.destroy();
      expect(head.status).toBe(get.status);
      expect(lasting(head)).toEqual(lasting(get));
      expect(Number(head.header('Content-Length'))).toBe(Buffer.byteLength(get.body));
      expect(again.body).toBe(get.body);
    },
  );
});

describe('paths', () => {
  it.each([
    '/v1/pets/',
    '/v1/pets/1/',
    '/V1/pets',
    '/v1/Pets',
    '/v1/PETS/1',
    '/v1//pets',
    '//v1/pets',
    '/v1',
    '/v1/',
    '/v1/petss',
    '/pets',
    '/v2/pets',
    '/v1/pets%2F1',
    '/v1/pets;x=y',
    '/v1/./pets',
    '/Docs',
    '/docs/',
    '/nothing',
    '/%ff',
  ])('answers %s with 404, without a redirect, and 401 without a key', async (path) => {
    const answer = await service.send(path);
    expectError(answer, 'route_not_found');
    expect(answer.headers.location).toBeUndefined();
    expectError(await service.send(path, { key: false }), 'api_key_missing');
  });

  it.each([
    ['an absolute target', 'http://other.example/v1/pets'],
    ['an absolute target in capitals', 'HTTPS://OTHER.EXAMPLE/v1/pets'],
    ['escapes of letters', '/%761/pet%73'],
    ['a lone question mark', '/v1/pets?'],
  ])('takes %s for /v1/pets', async (_what, target) => {
    expect((await ask(`GET ${target} HTTP/1.1`)).body).toBe((await service.send('/v1/pets')).body);
  });

  it('takes the query of an absolute target', async () => {
    expectError(await ask('GET http://x/v1/pets?limit=0 HTTP/1.1'), 'invalid_parameter');
    expect((await ask('GET http://x?a=b HTTP/1.1')).status).toBe(302);
  });
});

describe('answers', () => {
  const lines = [
    ['a list', 'GET /v1/pets'],
    ['an animal', 'GET /v1/pets/1'],
    ['a 404', 'GET /v1/pets/999'],
    ['a 405', 'DELETE /v1/pets'],
    ['a 204', 'OPTIONS /v1/pets'],
  ] as const;

  it.each(lines)(
    'carry X-Request-Id, Cache-Control and nosniff, and nothing of what serves them: %s',
    async (_what, line) => {
      const answer = await ask(`${line} HTTP/1.1`);
      expect(answer.header('X-Request-Id')).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
      expect(answer.header('Cache-Control')).toBe('no-store');
      expect(answer.header('X-Content-Type-Options')).toBe('nosniff');
      for (const name of ['X-Powered-By', 'Server', 'ETag', 'Access-Control-Allow-Origin', 'Vary', 'Set-Cookie']) {
        expect(answer.header(name)).toBeUndefined();
      }
    },
  );

  it('carry X-Request-Id and nosniff on the docs too', async () => {
    for (const path of ['/', '/docs', '/docs/swagger-ui.css', '/openapi.json', '/openapi.yaml']) {
      const { headers } = await service.send(path, { headers: { 'X-Request-Id': 'mine' }, key: false });
      expect(headers).toMatchObject({ 'x-request-id': 'mine', 'x-content-type-options': 'nosniff' });
    }
  });

  it.each(['a', 'A.b_c-9', 'x'.repeat(64)])('keep the X-Request-Id %s', async (id) => {
    expect((await ask(`GET /v1/pets HTTP/1.1\nX-Request-Id: ${id}`)).header('X-Request-Id')).toBe(id);
    expect((await ask(`GET /v1/pets/x HTTP/1.1\nX-Request-Id: ${id}`)).header('X-Request-Id')).toBe(id);
    expect((await ask(`GET /v1/pets#x HTTP/1.1\nX-Request-Id: ${id}`)).header('X-Request-Id')).toBe(id);
  });

  it.each(['x'.repeat(65), 'a b', 'a;b', 'a/b', '', '\xe9', 'a\nX-Request-Id: b'])(
    'replace the X-Request-Id "%s"',
    async (id) => {
      const answer = await ask(`GET /v1/pets HTTP/1.1\nX-Request-Id: ${id}`);
      expect(answer.header('X-Request-Id')).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  it('have another X-Request-Id each', async () => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => (await ask('GET /v1/pets HTTP/1.1')).header('X-Request-Id')),
    );
    expect(new Set(ids).size).toBe(20);
  });

  it('carry Location: /v1/pets/{id} on 201, where the pet is', async () => {
    const answer = await post('Content-Type: application/json', PET);
    const { id } = JSON.parse(answer.body) as { id: number };
    expect(answer.header('Location')).toBe(`/v1/pets/${id}`);
    expect((await service.send(answer.header('Location') as string)).body).toBe(answer.body);
  });
});
