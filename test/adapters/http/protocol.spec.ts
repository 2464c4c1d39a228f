import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ErrorCode } from '../../../src/adapters/http/errors/error-code.js';
import { Connection } from '../../support/connection.js';
import { expectError } from '../../support/error-body.js';
import { Service } from '../../support/service.js';

let service: Service;

beforeAll(async () => {
  service = await Service.start();
});

afterAll(() => service.stop());

const HOST = 'Host: pets.example';
const chunked = 'POST /v1/pets HTTP/1.1\nHost: x\nKEY\nContent-Type: application/json\nTransfer-Encoding: chunked\n\n';

/** Bytes with their line ends and the key put in. */
const bytes = (text: string) => text.replaceAll('\n', '\r\n').replaceAll('KEY', `Authorization: Bearer ${service.key}`);

const FAULTS: readonly (readonly [what: string, code: ErrorCode, request: string])[] = [
  ['what is no HTTP', 'bad_request', 'hello?\n\n'],
  ['the beginning of TLS', 'bad_request', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['the preface of HTTP/2', 'bad_request', 'PRI * HTTP/2.0\n\nSM\n\n'],
  ['an unknown method', 'bad_request', `FETCH /v1/pets HTTP/1.1\n${HOST}\n\n`],
  ['a method in lower case', 'bad_request', `get /v1/pets HTTP/1.1\n${HOST}\n\n`],
  ['CONNECT', 'bad_request', `CONNECT pets.example:443 HTTP/1.1\n${HOST}\nKEY\n\n`],
  ['no target', 'bad_request', `GET HTTP/1.1\n${HOST}\n\n`],
  ['a target of two words', 'bad_request', `GET /v1/pets x HTTP/1.1\n${HOST}\n\n`],
  ['a target that is no path', 'bad_request', `GET v1/pets HTTP/1.1\n${HOST}\nKEY\n\n`],
  ['a target with a fragment', 'bad_request', `GET /v1/pets#x HTTP/1.1\n${HOST}\nKEY\n\n`],
  ['a target of a star with GET', 'bad_request', `GET * HTTP/1.1\n${HOST}\nKEY\n\n`],
  ['a target of raw bytes', 'bad_request', `GET /v1/pets/\xe9 HTTP/1.1\n${HOST}\nKEY\n\n`],
  ['another scheme', 'bad_request', `GET ftp://x/v1/pets HTTP/1.1\n${HOST}\nKEY\n\n`],
  ['no version', 'bad_request', 'GET /v1/pets\n\n'],
  ['HTTP/0.9', 'bad_request', `GET /v1/pets HTTP/0.9\n${HOST}\nKEY\n\n`],
  ['HTTP/1.2', 'bad_request', `GET /v1/pets HTTP/1.2\n${HOST}\nKEY\n\n`],
  ['HTTP/2.0', 'bad_request', `GET /v1/pets HTTP/2.0\n${HOST}\nKEY\n\n`],
  ['no Host', 'bad_request', 'GET /v1/pets HTTP/1.1\nKEY\n\n'],
  ['two Hosts', 'bad_request', `GET /v1/pets HTTP/1.1\n${HOST}\n${HOST}\nKEY\n\n`],
  [
    'two Hosts, the second behind 3,000 other lines',
    'bad_request',
    `GET /v1/pets HTTP/1.1\n${HOST}\n${'a:\n'.repeat(3_000)}${HOST}\nKEY\n\n`,
  ],
  ['two Hosts in HTTP/1.0', 'bad_request', `GET /v1/pets HTTP/1.0\n${HOST}\n${HOST}\nKEY\n\n`],
  ['a Host with a space', 'bad_request', 'GET /v1/pets HTTP/1.1\nHost: a b\nKEY\n\n'],
  ['a Host with a user', 'bad_request', 'GET /v1/pets HTTP/1.1\nHost: a@b\nKEY\n\n'],
  ['a Host with a path', 'bad_request', 'GET /v1/pets HTTP/1.1\nHost: a/b\nKEY\n\n'],
  ['a list of Hosts', 'bad_request', 'GET /v1/pets HTTP/1.1\nHost: a, b\nKEY\n\n'],
  ['a Host with a port that is none', 'bad_request', 'GET /v1/pets HTTP/1.1\nHost: a:b\nKEY\n\n'],
  ['a folded header', 'bad_request', `GET /v1/pets HTTP/1.1\n${HOST}\nKEY\nX-A: b\n c\n\n`],
  ['a space before the colon', 'bad_request', `GET /v1/pets HTTP/1.1\n${HOST}\nKEY\nX-A : b\n\n`],
  ['a header without a name', 'bad_request', `GET /v1/pets HTTP/1.1\n${HOST}\nKEY\n: b\n\n`],
  ['a control character in a header', 'bad_request', `GET /v1/pets HTTP/1.1\n${HOST}\nKEY\nX-A: \x01\n\n`],
  ['NUL in a header', 'bad_request', `GET /v1/pets HTTP/1.1\n${HOST}\nKEY\nX-A: \0\n\n`],
  [
    'lines that end with a bare carriage return',
    'bad_request',
    `GET /v1/pets HTTP/1.1\n${HOST}\nX-A: b\rX-B: c\nKEY\n\n`,
  ],
  ['a Content-Length that is none', 'bad_request', `POST /v1/pets HTTP/1.1\n${HOST}\nKEY\nContent-Length: x\n\n`],
  ['a negative Content-Length', 'bad_request', `POST /v1/pets HTTP/1.1\n${HOST}\nKEY\nContent-Length: -1\n\n`],
  ['a Content-Length with a sign', 'bad_request', `POST /v1/pets HTTP/1.1\n${HOST}\nKEY\nContent-Length: +1\n\nx`],
  [
    'a Content-Length of 30 digits',
    'bad_request',
    `POST /v1/pets HTTP/1.1\n${HOST}\nKEY\nContent-Length: ${'9'.repeat(30)}\n\n`,
  ],
  [
    'two Content-Lengths',
    'bad_request',
    `POST /v1/pets HTTP/1.1\n${HOST}\nKEY\nContent-Length: 1\nContent-Length: 2\n\nxx`,
  ],
  [
    'Content-Length and Transfer-Encoding',
    'bad_request',
    `POST /v1/pets HTTP/1.1\n${HOST}\nKEY\nContent-Length: 1\nTransfer-Encoding: chunked\n\n0\n\n`,
  ],
  [
    'a last transfer coding that is not chunked',
    'bad_request',
    `POST /v1/pets HTTP/1.1\n${HOST}\nKEY\nTransfer-Encoding: chunked, gzip\n\n`,
  ],
  ['Transfer-Encoding in HTTP/1.0', 'bad_request', chunked.replace('1.1', '1.0') + '2\n{}\n0\n\n'],
  ['a chunk size that is none', 'bad_request', `${chunked}x\n`],
  ['a chunk that is longer than its size', 'bad_request', `${chunked}2\n{}}}\n0\n\n`],
  ['a chunk size of 17 digits', 'bad_request', `${chunked}11111111111111111\n`],
  ['a target of 12,289 bytes', 'uri_too_long', `GET /${'a'.repeat(12_288)} HTTP/1.1\n${HOST}\nKEY\n\n`],
  ['a target of 20,000 bytes', 'uri_too_long', `GET /${'a'.repeat(20_000)} HTTP/1.1\n${HOST}\nKEY\n\n`],
  ['a query of 100,000 bytes', 'uri_too_long', `GET /v1/pets?${'a'.repeat(100_000)} HTTP/1.1\n${HOST}\nKEY\n\n`],
  ['a header of 17,000 bytes', 'headers_too_large', `GET /v1/pets HTTP/1.1\n${HOST}\nX-A: ${'a'.repeat(17_000)}\n\n`],
  ['headers of 20,000 bytes', 'headers_too_large', `GET /v1/pets HTTP/1.1\n${HOST}\n${'X-A: b\n'.repeat(5_000)}\n`],
  [
    'an expectation other than 100-continue',
    'expectation_failed',
    `POST /v1/pets HTTP/1.1\n${HOST}\nKEY\nExpect: 200-ok\n\n`,
  ],
  [
    'an expectation that contains 100-continue',
    'expectation_failed',
    `POST /v1/pets HTTP/1.1\n${HOST}\nKEY\nExpect: not-100-continue\n\n`,
  ],
  [
    '100-continue and another expectation',
    'expectation_failed',
    `POST /v1/pets HTTP/1.1\n${HOST}\nKEY\nExpect: 100-continue, x\n\n`,
  ],
];

describe('a protocol error', () => {
  it.each(FAULTS)('of %s is %s, with the Error body, and closes the connection', async (_what, code, request) => {
    const connection = await Connection.open(service.port);
    connection.write(bytes(request));
    const answer = await connection.answer();
    expectError(answer, code);
    expect(answer.header('Connection')).toBe('close');
    expect(answer.header('Date')).toMatch(/ GMT$/);
    await connection.closed;
    expect(connection.rest).toBe('');
  });

  it('of a request that ends in its middle is 400', async () => {
    for (const text of ['GET /v1/pets HT', 'GET /v1/pets HTTP/1.1\nHost: x\nX-', `${chunked}2\n{`]) {
      const connection = await Connection.open(service.port);
      connection.write(bytes(text));
      connection.socket.end();
      expectError(await connection.answer(), 'bad_request');
      await connection.closed;
    }
  });

  it('of a large packet is still read by a client that goes on sending', async () => {
    const connection = await Connection.open(service.port);
    connection.write('x'.repeat(5_000_000));
    expectError(await connection.answer(), 'bad_request');
    await connection.closed;
    expect(connection.broke).toBe(false);
  });

  it('behind good requests on the same connection is answered behind their answers', async () => {
    const connection = await Connection.open(service.port);
    const get = (path: string) => `GET ${path} HTTP/1.1\n${HOST}\nKEY\n\n`;
    connection.write(bytes(`${get('/v1/pets')}${get('/v1/pets/abc')}${get('/v1/nothing')}hello?\n\n`));
    expect((await connection.answer()).body).toBe('[]');
    expectError(await connection.answer(), 'pet_not_found');
    expectError(await connection.answer(), 'route_not_found');
    expectError(await connection.answer(), 'bad_request');
    await connection.closed;
    expect(connection.rest).toBe('');
  });

  it('in a body that was answered already is not answered again', async () => {
    const connection = await Connection.open(service.port);
    connection.write(bytes(chunked.replace('KEY\n', '')));
    expectError(await connection.answer(), 'api_key_missing');
    connection.write('x\r\n');
    await connection.closed;
    expect(connection.rest).toBe('');
  });

  it('keeps the X-Request-Id if the header section could be read', async () => {
    for (const text of [
      `CONNECT a:1 HTTP/1.1\n${HOST}\nX-Request-Id: mine\n\n`,
      `${chunked.replace('\n\n', '\nX-Request-Id: mine\n\n')}x\n`,
    ]) {
      const answer = await Connection.ask(service.port, bytes(text));
      expectError(answer, 'bad_request');
      expect(answer.header('X-Request-Id')).toBe('mine');
    }
  });
});

describe('a request', () => {
  const ok: readonly (readonly [what: string, request: string])[] = [
    ['of HTTP/1.0 without a Host', 'GET /v1/pets HTTP/1.0\nKEY\n\n'],
    ['with an empty Host', 'GET /v1/pets HTTP/1.1\nHost:\nKEY\n\n'],
    ['with a port in Host', 'GET /v1/pets HTTP/1.1\nHost: a.example:8080\nKEY\n\n'],
    ['with an IPv6 address in Host', 'GET /v1/pets HTTP/1.1\nHost: [::1]:8080\nKEY\n\n'],
    ['with an empty line before it', '\nGET /v1/pets HTTP/1.1\nHost: x\nKEY\n\n'],
    ['that would like another protocol', 'GET /v1/pets HTTP/1.1\nHost: x\nKEY\nConnection: Upgrade\nUpgrade: h2c\n\n'],
    ['with a body that GET has no use for', 'GET /v1/pets HTTP/1.1\nHost: x\nKEY\nContent-Length: 2\n\n{}'],
    ['of HTTP/1.0 with an expectation, which it cannot have', 'GET /v1/pets HTTP/1.0\nKEY\nExpect: 200-ok\n\n'],
    ['with a header section of 16,000 bytes', `GET /v1/pets HTTP/1.1\nHost: x\nKEY\nX-A: ${'a'.repeat(15_800)}\n\n`],
  ];

  it.each(ok)('%s is answered', async (_what, request) => {
    const answer = await Connection.ask(service.port, bytes(request));
    expect(answer).toMatchObject({ status: 200, body: '[]' });
  });

  it('that asks for another protocol is answered in this one, and closes the connection', async () => {
    for (const protocol of ['websocket', 'h2c', 'TLS/1.0']) {
      const connection = await Connection.open(service.port);
      connection.write(
        bytes(`GET /v1/pets HTTP/1.1\n${HOST}\nKEY\nConnection: Upgrade\nUpgrade: ${protocol}\n\nwhat comes behind`),
      );
      const answer = await connection.answer();
      expect([answer.status, answer.header('Connection'), answer.header('Upgrade')]).toEqual([200, 'close', undefined]);
      await connection.closed;
      expect(connection.rest).toBe('');
    }
  });

  it('that comes byte by byte is answered', async () => {
    const connection = await Connection.open(service.port);
    for (const byte of bytes('GET /v1/pets HTTP/1.1\nHost: x\nKEY\n\n')) connection.write(byte);
    expect((await connection.answer()).status).toBe(200);
    connection.destroy();
  });

  it('of HTTP/1.0 closes the connection, and of HTTP/1.1 keeps it, errors included', async () => {
    const old = await Connection.open(service.port);
    old.write(bytes('GET /v1/pets HTTP/1.0\nKEY\n\n'));
    expect((await old.answer()).header('Connection')).toBe('close');
    await old.closed;
    const connection = await Connection.open(service.port);
    for (const [path, status] of [
      ['/nothing', 404],
      ['/v1/pets/abc', 404],
      ['/v1/pets?x', 400],
      ['/v1/pets', 200],
    ] as const) {
      connection.write(bytes(`GET ${path} HTTP/1.1\n${HOST}\nKEY\n\n`));
      expect(await connection.answer()).toMatchObject({ status });
    }
    connection.write(bytes(`GET /v1/pets HTTP/1.1\n${HOST}\nKEY\nConnection: close\n\n`));
    expect((await connection.answer()).header('Connection')).toBe('close');
    await connection.closed;
  });
});

describe('Expect: 100-continue', () => {
  const head = (lines: string) => bytes(`POST /v1/pets HTTP/1.1\n${HOST}\n${lines}Expect: 100-Continue\n\n`);

  it('is met once the body is wanted', async () => {
    const connection = await Connection.open(service.port);
    connection.write(head('KEY\nContent-Type: application/json\nContent-Length: 31\n'));
    expect((await connection.answer()).status).toBe(100);
    connection.write('{"name":"Bella","categoryId":1}');
    expect((await connection.answer()).status).toBe(201);
    connection.destroy();
  });

  it.each([
    ['401', 'api_key_missing', 'Content-Type: application/json\nContent-Length: 31\n'],
    ['406', 'not_acceptable', 'KEY\nAccept: text/html\nContent-Type: application/json\nContent-Length: 31\n'],
    ['415', 'unsupported_media_type', 'KEY\nContent-Length: 31\n'],
    ['413', 'body_too_large', 'KEY\nContent-Type: application/json\nContent-Length: 65537\n'],
  ] as const)('gets %s and no 100 if the body is not wanted', async (_status, code, lines) => {
    const connection = await Connection.open(service.port);
    connection.write(head(lines));
    const answer = await connection.answer();
    expectError(answer, code);
    // Whether the body follows all the same cannot be told, so that the connection is of no further use.
    expect(answer.header('Connection')).toBe('close');
    await connection.closed;
    expect(connection.rest).toBe('');
  });
});

it('answers without a key before the body has come', async () => {
  const connection = await Connection.open(service.port);
  connection.write(bytes(`POST /v1/pets HTTP/1.1\n${HOST}\nContent-Type: application/json\nContent-Length: 31\n\n{`));
  expectError(await connection.answer(), 'api_key_missing');
  connection.destroy();
});
