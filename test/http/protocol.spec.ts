import { describe, expect, it, jest } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorCode } from '../../src/adapters/http/errors/error-code.js';
import { PetRepository } from '../../src/application/pets/pet-repository.port.js';
import { Connection } from '../support/connection.js';
import { expectError } from '../support/error-body.js';
import { bytes, get, KEY, petBody, post, rawRequest } from '../support/raw-requests.js';
import { Service } from '../support/service.js';

const service = Service.forSuite({ API_KEYS: KEY });

/** A createPet up to its body, framed by these header lines. */
const head = (...framing: string[]) =>
  rawRequest('POST /v1/pets', ['KEY', 'Content-Type: application/json', ...framing]);

const chunked = (body: string) => `${body.length.toString(16)}\n${body}\n0\n\n`;

const GET = get('/v1/pets');
const PET = petBody('in the malformed request');

/** What is wrong with a request, its code, and the request. */
const MALFORMED: readonly (readonly [what: string, code: ErrorCode, request: string])[] = [
  ['what is not HTTP', 'bad_request', 'hello?\n\n'],
  ['the beginning of TLS', 'bad_request', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['the preface of HTTP/2', 'bad_request', 'PRI * HTTP/2.0\n\nSM\n\n'],
  ['an unknown method', 'bad_request', GET.replace('GET', 'FETCH')],
  ['CONNECT', 'bad_request', 'CONNECT x:1 HTTP/1.1\nHost: x\nKEY\n\n'],
  ['no target', 'bad_request', 'GET HTTP/1.1\nHost: x\n\n'],
  ['a target that is not a path', 'bad_request', get('v1/pets')],
  ['a target with a fragment', 'bad_request', get('/v1/pets#x')],
  ['a target with a user and a fragment', 'bad_request', get('//a@b#x')],
  ['a target with a bracket and a fragment', 'bad_request', get('//a@b[/#x')],
  ['a target with bytes outside ASCII', 'bad_request', get('/v1/pets/\xe9')],
  ['the target * with GET', 'bad_request', get('*')],
  ['HTTP/1.2', 'bad_request', GET.replace('1.1', '1.2')],
  ['HTTP/2.0', 'bad_request', GET.replace('1.1', '2.0')],
  ['no Host', 'bad_request', GET.replace('Host: x\n', '')],
  ['two Hosts', 'bad_request', get('/v1/pets', 'Host: x')],
  ['a Host with a space', 'bad_request', GET.replace('Host: x', 'Host: a b')],
  ['a Host with a user', 'bad_request', GET.replace('Host: x', 'Host: a@b')],
  ['a folded header', 'bad_request', get('/v1/pets', 'X-A: b', ' c')],
  ['a space before a colon', 'bad_request', get('/v1/pets', 'X-A : b')],
  ['NUL in a header', 'bad_request', get('/v1/pets', 'X-A: \0')],
  ['a bare carriage return in a header', 'bad_request', get('/v1/pets', 'X-A: b\rX-B: c')],
  ['a Content-Length with a sign', 'bad_request', `${head('Content-Length: +1')}x`],
  ['an empty Content-Length', 'bad_request', head('Content-Length:')],
  ['two Content-Lengths', 'bad_request', head(...Array<string>(2).fill(`Content-Length: ${PET.length}`)) + PET],
  ['an empty Transfer-Encoding', 'bad_request', head('Transfer-Encoding:') + chunked(PET)],
  ['Transfer-Encoding twice', 'bad_request', head('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')],
  ['an empty Transfer-Encoding and another', 'bad_request', head('Transfer-Encoding:', 'Transfer-Encoding: chunked')],
  ['an empty Transfer-Encoding and a length', 'bad_request', head('Transfer-Encoding:', 'Content-Length: 3') + '{}\n'],
  ['Transfer-Encoding and a length', 'bad_request', head('Transfer-Encoding: chunked', 'Content-Length: 5') + '0\n\n'],
  ['the Transfer-Encoding identity', 'bad_request', head('Transfer-Encoding: identity') + PET],
  ['gzip behind chunked', 'bad_request', head('Transfer-Encoding: chunked, gzip') + chunked(PET)],
  ['the Transfer-Encoding xchunked', 'bad_request', head('Transfer-Encoding: xchunked') + chunked(PET)],
  ['chunked in HTTP/1.0', 'bad_request', head('Transfer-Encoding: chunked').replace('1.1', '1.0') + chunked(PET)],
  ['an invalid chunk size', 'bad_request', head('Transfer-Encoding: chunked') + 'x\n'],
  ['a chunk size beyond 64 bits', 'bad_request', head('Transfer-Encoding: chunked') + '11111111111111111\n'],
  ['a chunk longer than its size', 'bad_request', head('Transfer-Encoding: chunked') + '2\n{}}}\n0\n\n'],
  ['a target of 12,289 bytes', 'uri_too_long', get(`/${'a'.repeat(12_288)}`)],
  ['a target of 100,000 bytes', 'uri_too_long', get(`/v1/pets?${'a'.repeat(100_000)}`)],
  ['a header of 17,000 bytes', 'headers_too_large', get('/v1/pets', `X-A: ${'a'.repeat(17_000)}`)],
  ['5,000 headers', 'headers_too_large', get('/v1/pets', ...Array<string>(5_000).fill('X-A: b'))],
  ['an unknown expectation', 'expectation_failed', post('expects a miracle', 'Expect: a-miracle')],
];

describe('a protocol error', () => {
  it.each(MALFORMED)('is the last response of the connection: %s is %s', async (_what, code, request) => {
    const connection = await Connection.send(service.port, bytes(request + post('behind the malformed request')));
    const response = await connection.answer();
    expectError(response, code);
    expect(response.header('Connection')).toBe('close');
    expect(response.header('Date')).toMatch(/ GMT$/);
    expect(await connection.untilClosed()).toBe('');
    expect((await service.send('/v1/pets')).body).toBe('[]');
  });

  it.each(['GET /v1/pets HT', 'GET /v1/pets HTTP/1.1\nHost: x\nX-', `${head('Content-Length: 99')}{`])(
    'is the answer to a request that ends in its middle: %j',
    async (text) => {
      const connection = await Connection.open(service.port);
      connection.socket.end(bytes(text));
      expectError(await connection.answer(), 'bad_request');
      await connection.closed;
    },
  );

  it('reaches a client that goes on sending', async () => {
    const connection = await Connection.send(service.port, 'x'.repeat(5_000_000));
    expectError(await connection.answer(), 'bad_request');
    await connection.closed;
    expect(connection.broke).toBe(false);
  });

  it('in a body whose request has been answered already brings no second response', async () => {
    const connection = await Connection.send(
      service.port,
      bytes(head('Transfer-Encoding: chunked').replace('KEY\n', '')),
    );
    expectError(await connection.answer(), 'api_key_missing');
    connection.write('x\r\n');
    expect(await connection.untilClosed()).toBe('');
  });

  it.each([
    'CONNECT a:1 HTTP/1.1\nHost: x\nX-Request-Id: mine\n\n',
    get('/v1/pets#x', 'X-Request-Id: mine'),
    `${head('Transfer-Encoding: chunked', 'X-Request-Id: mine')}x\n`,
  ])('keeps the X-Request-Id if the header section could be parsed: %j', async (text) => {
    const response = await Connection.ask(service.port, bytes(text));
    expectError(response, 'bad_request');
    expect(response.header('X-Request-Id')).toBe('mine');
  });
});

describe('a valid request', () => {
  it.each([
    ['HTTP/1.0 without Host', 'GET /v1/pets HTTP/1.0\nKEY\n\n'],
    ['an empty Host', GET.replace('Host: x', 'Host:')],
    ['an IPv6 address and a port as Host', GET.replace('Host: x', 'Host: [::1]:8080')],
    ['an absolute target', get('http://other.example/v1/pets')],
    ['an empty line before it', `\n${GET}`],
    ['a body that GET has no use for', rawRequest('GET /v1/pets', ['KEY'], '{}')],
    ['a header section of 16,000 bytes', get('/v1/pets', `X-A: ${'a'.repeat(15_800)}`)],
  ])('may have %s', async (_what, request) => {
    expect(await Connection.ask(service.port, bytes(request))).toMatchObject({ status: 200, body: '[]' });
  });

  it('may arrive byte by byte', async () => {
    const connection = await Connection.open(service.port);
    for (const byte of bytes(GET)) connection.write(Buffer.of(byte));
    expect((await connection.answer()).status).toBe(200);
    connection.destroy();
  });

  it.each(['chunked', 'Chunked', '  CHUNKED '])('may have the Transfer-Encoding %j', async (coding) => {
    const connection = await Connection.send(
      service.port,
      bytes(`${head(`Transfer-Encoding: ${coding}`)}2;a="b"\n[]\n0\nX-Trailer: b\n\n${GET}`),
    );
    expectError(await connection.answer(), 'invalid_body');
    expect((await connection.answer()).status).toBe(200);
    connection.destroy();
  });
});

describe('Expect: 100-continue', () => {
  it('is met once the body is wanted', async () => {
    const connection = await Connection.send(service.port, bytes(head('Content-Length: 2', 'Expect: 100-Continue')));
    expect((await connection.answer()).status).toBe(100);
    connection.write('[]');
    expectError(await connection.answer(), 'invalid_body');
    connection.destroy();
  });

  it.each([
    ['api_key_missing', head('Content-Length: 31', 'Expect: 100-continue').replace('KEY\n', '')],
    ['not_acceptable', head('Content-Length: 31', 'Expect: 100-continue', 'Accept: text/html')],
    ['unsupported_media_type', rawRequest('POST /v1/pets', ['KEY', 'Content-Length: 31', 'Expect: 100-continue'])],
    ['body_too_large', head('Content-Length: 65537', 'Expect: 100-continue')],
  ] as const)('gets %s and no 100 if the body is not wanted', async (code, request) => {
    const connection = await Connection.send(service.port, bytes(request));
    const response = await connection.answer();
    expectError(response, code);
    // The client may send the body all the same, so nobody can tell where the next request begins.
    expect(response.header('Connection')).toBe('close');
    expect(await connection.untilClosed()).toBe('');
  });
});

describe('a slow client', () => {
  const impatient = Service.forSuite({ API_KEYS: KEY, REQUEST_TIMEOUT: '150', KEEP_ALIVE_TIMEOUT: '100' });

  it.each([
    ['sends nothing', '', ''],
    ['stops in the request line', 'GET /v1/p', ''],
    ['drips its headers', 'GET /v1/pets HTTP/1.1\nHost: x\nX-A: ', 'a'],
    ['stops in the body', head('Content-Length: 100', 'X-Request-Id: slow') + '{', ''],
    ['drips chunks', head('Transfer-Encoding: chunked', 'X-Request-Id: slow'), '1\n \n'],
  ])('that %s gets 408, and the connection is closed', async (_what, text, drop) => {
    const connection = await Connection.send(impatient.port, bytes(text));
    const timer = setInterval(() => connection.write(bytes(drop)), 20);
    const response = await connection.answer();
    expectError(response, 'request_timeout');
    expect(response.header('Connection')).toBe('close');
    if (text.includes('slow')) expect(response.header('X-Request-Id')).toBe('slow');
    clearInterval(timer);
    expect(await connection.untilClosed()).toBe('');
  });

  it('is not waited for behind 408: the rest of its request has no effect', async () => {
    const connection = await Connection.open(impatient.port);
    connection.socket.allowHalfOpen = true;
    const request = bytes(post('late'));
    connection.write(request.subarray(0, -1));
    expectError(await connection.answer(), 'request_timeout');
    connection.socket.end(request.subarray(-1));
    expect(await connection.untilClosed()).toBe('');
    expect((await impatient.send('/v1/pets')).body).toBe('[]');
  });

  it.each([
    ['has been answered already, and drips on', head('Content-Length: 60000').replace('KEY\n', ''), 401],
    ['sends no further request', GET, 200],
  ])('that %s loses the connection without another response', async (_what, text, status) => {
    const connection = await Connection.send(impatient.port, bytes(text));
    expect((await connection.answer()).status).toBe(status);
    const timer = setInterval(() => status === 401 && connection.write(' '), 20);
    await connection.closed;
    clearInterval(timer);
    expect(connection.rest).toBe('');
  });

  it('gets 408 behind a slow response, even if it half-closes its connection meanwhile', async () => {
    const pets = impatient.app.get(PetRepository);
    const original = pets.add.bind(pets);
    const add = jest.spyOn(pets, 'add').mockImplementationOnce(async (pet) => {
      await delay(1_800);
      return original(pet);
    });
    const connection = await Connection.send(impatient.port, bytes(`${post('slow')}GET /v1/p`));
    await delay(1_500);
    connection.socket.allowHalfOpen = true;
    connection.socket.end();
    expect((await connection.answer()).status).toBe(201);
    expectError(await connection.answer(), 'request_timeout');
    add.mockRestore();
  });

  it('takes nothing from the time of the database while it sends its body', async () => {
    const add = jest.spyOn(service.app.get(PetRepository), 'add');
    const request = bytes(post('slow'));
    const connection = await Connection.send(service.port, request.subarray(0, -1));
    await delay(300);
    const sent = performance.now();
    connection.write(request.subarray(-1));
    expect((await connection.answer()).status).toBe(201);
    const [, , deadline = 0] = add.mock.lastCall!;
    // 8 seconds, less what the guard took.
    expect(deadline - sent).toBeGreaterThan(7_800);
    add.mockRestore();
  });
});

it('a header may be named __proto__, also beside Transfer-Encoding', async () => {
  const request = head('Transfer-Encoding: chunked', '__proto__: x') + chunked(PET);
  expect((await Connection.ask(service.port, bytes(request))).status).toBe(201);
});
