import { beforeEach, describe, expect, it } from '@jest/globals';
import { Log } from '../../src/adapters/observability/log.js';
import { rawQuery } from '../stores/raw-query.js';
import { Connection } from '../support/connection.js';
import { newPetJson } from '../support/fields.js';
import { OPERATIONS } from '../support/operations.js';
import { Service } from '../support/service.js';
import { sqlite } from '../support/stores.js';
import { linesOf, LogLine, until } from '../support/working-folder.js';

const SECRET = 'Zaphod';

let log = '';

const variables = { NODE_ENV: 'production', LOG_LEVEL: 'debug', REQUEST_TIMEOUT: '400' };
const service = Service.forSuite(variables, sqlite, (line) => (log += line));

beforeEach(() => {
  log = '';
});

/** The lines of requests, once this number has been logged. */
async function requestLines(count = 1): Promise<LogLine[]> {
  await until(() => linesOf(log).filter(({ request }) => request !== undefined).length >= count);
  const lines = linesOf(log).filter(({ request }) => request !== undefined);
  expect(lines).toHaveLength(count);
  return lines;
}

describe('the log of requests', () => {
  it('has one line of JSON for a request, with the id in its response', async () => {
    const before = Date.now();
    const { headers } = await service.send('/v1/pets?limit=5');
    const [line] = await requestLines();
    const { time, ms, ...rest } = line as LogLine;
    expect(rest).toEqual({
      level: 'info',
      request: headers['x-request-id'],
      method: 'GET',
      route: '/v1/pets',
      status: 200,
      key: 'test',
      msg: 'GET /v1/pets 200',
    });
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(time as string)).toBeGreaterThanOrEqual(before);
    expect(ms).toBeGreaterThan(0);
  });

  it('has no API key, no query, no body and no parameter of a path', async () => {
    const body = newPetJson({ name: `"${SECRET}"`, categoryId: '424242' });
    await service.add(body, { 'Idempotency-Key': SECRET });
    await service.add(newPetJson({ [SECRET]: '1' }));
    const targets = [`/v1/pets?status=${SECRET}`, `/v1/pets/${SECRET}`, `/nowhere?${SECRET}`, `/${service.key}/pets`];
    for (const target of targets) await service.send(target);
    await service.send('/v1/pets', { key: false, headers: { Authorization: `Bearer ${SECRET}` } });
    await service.send('/v1/pets', { headers: { Authorization: `Bearer ${service.key}x` } });
    await service.send(`/v1/pets?key=${service.key}`, { key: false });
    const statuses = (await requestLines(9)).map(({ status }) => status);
    expect(statuses).toEqual([201, 400, 400, 404, 404, 404, 401, 401, 401]);
    for (const secret of [SECRET, '424242', 'status=', service.key.slice(9)]) expect(log).not.toContain(secret);
  });

  it('names the route by its template, the code of an error, and no key unless one was accepted', async () => {
    await service.send('/v1/pets/17', { method: 'PROPFIND' });
    await service.send('/v1/pets', { key: false });
    await service.add('{');
    const [first, second, third] = await requestLines(3);
    const route = '/v1/pets/:petId';
    expect(first).toMatchObject({ route, status: 405, key: 'test', msg: `PROPFIND ${route} 405` });
    expect(first).not.toHaveProperty('address');
    expect(second).toMatchObject({ route: '/v1/pets', code: 'api_key_missing', address: '127.0.0.1' });
    for (const absent of ['key', 'path']) expect(second).not.toHaveProperty(absent);
    expect(third).toMatchObject({ route: '/v1/pets', code: 'invalid_json', msg: 'POST /v1/pets 400' });
  });

  it.each([
    ['/favicon.ico?x=1', '/favicon.ico'],
    ['/a"b\\c<d>/%22%0a', '/a%22b%5Cc<d>/%22%0a'],
    ['/%ff/%', '/%25ff/%25'],
    [`//x${'%'.repeat(300)}`, `//x${'%25'.repeat(84)}%`],
  ])('has the path of a request without a route, escaped and not too long: case %#', async (target, path) => {
    await service.raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const [line] = await requestLines();
    expect(line).toMatchObject({ path, status: 401, code: 'api_key_missing', msg: `GET ${path} 401` });
    expect(line).not.toHaveProperty('route');
  });

  it('keeps the request id of the client, and no control characters', async () => {
    await service.send('/v1/pets', { headers: { 'X-Request-Id': 'my.id-1' } });
    await service.raw('GET /v1/pets/\x1b[31m HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\x1bb\r\n\r\n');
    const [first] = await requestLines(2);
    expect(first).toMatchObject({ request: 'my.id-1' });
    expect(log).toMatch(/^[\x20-\x7e\n]+$/);
  });

  it.each([
    ['cannot be parsed', 'NONSENSE\r\n\r\n', 400, 'bad_request', 'Unparsed request 400'],
    [
      'expects what cannot be met',
      'GET /v1/pets HTTP/1.1\r\nHost: x\r\nExpect: the moon\r\n\r\n',
      417,
      'expectation_failed',
      'GET /v1/pets 417',
    ],
    ['does not arrive in time', 'GET /v1/pets HTTP/1.1\r\n', 408, 'request_timeout', 'Unparsed request 408'],
    [
      'has a malformed body',
      'GET /health/live HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx',
      400,
      'bad_request',
      'GET /health/live 400',
    ],
  ])('has the status, id and code of a request that %s', async (_what, request, status, code, msg) => {
    const response = await service.raw(request, 3_000);
    expect(response).toContain(`HTTP/1.1 ${status} `);
    const id = /X-Request-Id: (\S+)/.exec(response)?.[1];
    expect(await requestLines()).toMatchObject([{ request: id, status, code, msg }]);
  });

  it('says that a client has closed the connection before the response', async () => {
    const connection = await Connection.open(service.port);
    connection.write(
      `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n` +
        'Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n',
    );
    // 100 Continue: the body is awaited.
    await until(() => connection.rest.includes('100 Continue'));
    connection.socket.resetAndDestroy();
    const [line] = await requestLines();
    expect(line).toMatchObject({ method: 'POST', aborted: true, msg: 'POST /v1/pets aborted' });
    for (const absent of ['status', 'code']) expect(line).not.toHaveProperty(absent);
  });

  it('has nothing but a line at level info for a request that is rejected', async () => {
    const requests = OPERATIONS.flatMap(({ method, invalid }) => invalid.map((request) => ({ ...request, method })));
    for (const { target, ...request } of requests) await service.send(target, request);
    for (const line of await requestLines(requests.length)) expect(line.level).toBe('info');
    expect(linesOf(log)).toHaveLength(requests.length);
  });

  it('has a line for each request whose body turns out to be malformed', async () => {
    const head = `Host: x\r\nAuthorization: Bearer ${service.key}\r\n`;
    for (let i = 0; i < 100; i++) {
      const connection = await Connection.open(service.port);
      connection.write(
        `GET /v1/pets HTTP/1.1\r\n${head}\r\nPOST /v1/pets HTTP/1.1\r\n${head}` +
          'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
      );
      // Just before the POST is handled, once in a while.
      for (let turn = 0; turn < i % 8; turn++) await new Promise((resolve) => setImmediate(resolve));
      connection.write('x');
      for (const status of [200, 400]) expect((await connection.answer()).status).toBe(status);
      await connection.closed;
    }
    for (const line of await requestLines(200)) expect(line.level).toBe('info');
  });

  it.each(['/', '/docs/page.css', '/health/live'])(
    'has no error if the body of a request for %s is malformed',
    async (path) => {
      const response = await service.raw(`GET ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nx`);
      expect(response).toContain('HTTP/1.1 400 ');
      await requestLines();
      expect(linesOf(log)).toHaveLength(1);
    },
  );
});

it('the log of a fault has the stack and the request id, and nothing of the pet', async () => {
  await rawQuery(service.url, 'DROP TABLE pet');
  const answer = await service.add(newPetJson({ name: `"${SECRET}"` }));
  expect(answer.status).toBeGreaterThanOrEqual(500);
  await requestLines(2);
  const request = answer.headers['x-request-id'];
  expect(linesOf(log)).toContainEqual(expect.objectContaining({ level: 'error', request }));
  expect(log).not.toContain(SECRET);
});

it('the log has a health check for whose response its client did not wait', () => {
  let text = '';
  const observer = new Log({ LOG_LEVEL: 'info', NODE_ENV: 'production' }, (line) => (text += line));
  const none = { path: undefined, code: undefined, key: undefined, span: undefined };
  const check = {
    ...none,
    id: 'a',
    method: 'GET',
    route: '/health/ready',
    address: '',
    operation: 'other',
    deprecated: false,
    duration: 1,
  };
  observer.finish({ ...check, status: 200, aborted: false });
  observer.finish({ ...check, status: 0, aborted: true });
  expect(linesOf(text)).toMatchObject([{ route: '/health/ready', aborted: true }]);
});

// Nest's logger is one for all applications of a process: these come last.
it.each([
  ['silent', 'production', /^$/],
  ['warn', 'production', /^$/],
  ['debug', 'production', /\{"level":"debug",[^\n]*"route":"\/health\/ready","status":200/],
  ['info', 'production', /^\{"level":"info",[^\n]*"route":"\/v1\/pets"[^\n]*\}\n$/],
  [
    'info',
    'development',
    /^\d\d:\d\d:\d\d\.\d{3} INFO {2}request=\S+ method=GET route=\/v1\/pets status=200 [^\n]* GET \/v1\/pets 200\n$/,
  ],
])('the level of the log %s in %s', async (LOG_LEVEL, NODE_ENV, expected) => {
  let text = '';
  const other = await Service.start({ LOG_LEVEL, NODE_ENV }, (line) => (text += line));
  await other.send('/health/ready', { key: false });
  await other.send('/v1/pets');
  await other.stop();
  expect(text).toMatch(expected);
});
