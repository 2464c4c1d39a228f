import { describe, expect, it } from '@jest/globals';
import { Connection, WireAnswer } from '../support/connection.js';
import { expectError } from '../support/error-body.js';
import { bytes, get, pause, petBody, post, ServiceUnderAttack, underAttack } from './under-attack.js';

/** Nothing is known of where the next request begins, or whether there is one: it is 400, and the last answer. */
const UNFRAMED: readonly (readonly [what: string, lines: string])[] = [
  ['an empty Transfer-Encoding', 'Transfer-Encoding:'],
  ['a Transfer-Encoding of blanks', 'Transfer-Encoding: \t '],
  ['a Transfer-Encoding of a comma', 'Transfer-Encoding: ,'],
  ['Transfer-Encoding twice', 'Transfer-Encoding: chunked\nTransfer-Encoding: chunked'],
  ['Transfer-Encoding twice, empty first', 'Transfer-Encoding:\nTransfer-Encoding: chunked'],
  ['Transfer-Encoding twice, empty behind', 'Transfer-Encoding: chunked\nTransfer-Encoding:'],
  ['Transfer-Encoding twice, identity behind', 'Transfer-Encoding: chunked\nTransfer-Encoding: identity'],
  ['Transfer-Encoding twice, in two cases', 'transfer-encoding: chunked\nTRANSFER-ENCODING: chunked'],
  ['a Transfer-Encoding of identity', 'Transfer-Encoding: identity'],
  ['a Transfer-Encoding of gzip', 'Transfer-Encoding: gzip'],
  ['a Transfer-Encoding of gzip behind chunked', 'Transfer-Encoding: chunked, gzip'],
  ['a Transfer-Encoding of xchunked', 'Transfer-Encoding: xchunked'],
  ['a Transfer-Encoding of chunkedx', 'Transfer-Encoding: chunkedx'],
  ['a Transfer-Encoding of chunked with a parameter', 'Transfer-Encoding: chunked;q=1'],
  ['a quoted Transfer-Encoding', 'Transfer-Encoding: "chunked"'],
  ['a Transfer-Encoding with a space before its colon', 'Transfer-Encoding : chunked'],
  ['a Transfer-Encoding on a second line', 'Transfer-Encoding:\n chunked'],
  ['an empty Transfer-Encoding and a Content-Length', 'Transfer-Encoding:\nContent-Length: LENGTH'],
  ['a Content-Length and an empty Transfer-Encoding', 'Content-Length: LENGTH\nTransfer-Encoding:'],
  ['chunked and a Content-Length', 'Transfer-Encoding: chunked\nContent-Length: LENGTH'],
  ['two Content-Lengths that agree', 'Content-Length: LENGTH\nContent-Length: LENGTH'],
  ['a list of Content-Lengths', 'Content-Length: LENGTH, LENGTH'],
  ['an empty Content-Length', 'Content-Length:'],
];

const PROTOCOLS = [
  'RTSP/1.0',
  'RTSP/1.1',
  'ICE/1.0',
  'HTTP/0.9',
  'HTTP/1.2',
  'HTTP/2.0',
  'HTTP/3.0',
  'HTTP/1.10',
  'HTTP/01.1',
];

/** What ends a connection, or may: requests, and the statuses of their answers. */
const LAST: readonly (readonly [what: string, request: string, status: number])[] = [
  ['a GET with Connection: close', get('/v1/pets').replace('\n', '\nConnection: close\n'), 200],
  ['a GET with close among others', get('/v1/pets').replace('\n', '\nConnection: x, Close\n'), 200],
  ['a POST with Connection: close', post('last').replace('\n', '\nConnection: close\n'), 201],
  ['a POST with Connection: close in its trailers', trailing('Connection: close'), 201],
  ['a POST with close among others in its trailers', trailing('X-A: b\nconnection: x, Close'), 201],
  ['a POST with Proxy-Connection: close in its trailers', trailing('Proxy-Connection: close'), 201],
  ['a GET with Connection: close in its trailers', trailing('Connection: close').replace('POST', 'GET'), 200],
  ['a POST with other trailers', trailing('X-A: b\nConnection: keep-alive'), 201],
  ['a GET of HTTP/1.0', get('/v1/pets').replace('1.1', '1.0'), 200],
  ['a health check of HTTP/1.0', 'GET /health/live HTTP/1.0\n\n', 200],
  ['a page of the docs with Connection: close', 'GET /docs HTTP/1.1\nHost: x\nConnection: close\n\n', 200],
  [
    'a file of the docs with Connection: close',
    'GET /docs/swagger-ui.css HTTP/1.1\nHost: x\nConnection: close\n\n',
    200,
  ],
  ['a GET without a key and with Connection: close', 'GET /v1/pets HTTP/1.1\nHost: x\nConnection: close\n\n', 401],
  ['no Host', 'GET /v1/pets HTTP/1.1\nKEY\n\n', 400],
  ['a target with a fragment', get('/v1/pets#x'), 400],
  ['a target that is too long', get(`/${'a'.repeat(12_288)}`), 414],
  ['a head that is too long', get(`/v1/pets HTTP/1.1\nX-A: ${'a'.repeat(20_000)}`), 431],
  ['what is no HTTP', 'hello?\n\n', 400],
  ['an expectation that cannot be met', get('/v1/pets').replace('\n', '\nExpect: x\n'), 417],
  ['such an expectation with a body', post('expect').replace('\n', '\nExpect: x\n'), 417],
  ['an expectation without a key', post('expect').replace('KEY\n', 'Expect: 100-continue\n'), 401],
  ['CONNECT', 'CONNECT x:1 HTTP/1.1\nHost: x\n\n', 400],
  ['Upgrade with a GET', get('/v1/pets').replace('\n', '\nConnection: Upgrade\nUpgrade: h2c\n'), 200],
  ['Upgrade with a POST', post('upgrade').replace('\n', '\nConnection: Upgrade\nUpgrade: websocket\n'), 201],
  ['Upgrade without a key', 'GET /v1/pets HTTP/1.1\nHost: x\nConnection: Upgrade\nUpgrade: h2c\n\n', 401],
  ['a large body without a key', large('Content-Length: 70000\n\n' + ' '.repeat(70_000)), 401],
  ['a chunked body without a key', large('Transfer-Encoding: chunked\n\n2\n{}\n0\n\n'), 401],
  ['large chunks without a key', large(`Transfer-Encoding: chunked\n\n11170\n${' '.repeat(70_000)}\n0\n\n`), 401],
  ['a body that is too large', large('KEY\nContent-Length: 70000\n\n' + ' '.repeat(70_000)), 413],
  ['chunks that are too large', large(`KEY\nTransfer-Encoding: chunked\n\n11170\n${' '.repeat(70_000)}\n0\n\n`), 413],
  ['a chunk without a size', large('KEY\nTransfer-Encoding: chunked\n\nx\n'), 400],
];

/** A POST with these lines behind its last chunk. */
function trailing(lines: string): string {
  const body = petBody('trailers');
  return large(`KEY\nTransfer-Encoding: chunked\n\n${body.length.toString(16)}\n${body}\n0\n${lines}\n\n`);
}

function large(rest: string): string {
  return `POST /v1/pets HTTP/1.1\nHost: x\nContent-Type: application/json\n${rest}`;
}

/** How long to wait for an answer that must come, and for one that must not, in milliseconds. */
const PATIENCE = 10_000;
const QUIET = 200;

/** The answers that come on a connection: at least as many as are expected of those before, and then until none has come for a while. */
async function answers(
  connection: Connection,
  expected: (found: readonly WireAnswer[]) => number = () => 0,
): Promise<WireAnswer[]> {
  const found: WireAnswer[] = [];
  for (;;) {
    const patience = found.length < expected(found) ? PATIENCE : QUIET;
    const answer = await Promise.race([connection.answer().catch(() => undefined), pause(patience)]);
    if (!answer) return found;
    if (answer.status >= 200) found.push(answer);
  }
}

/** Expects the pets with these names to be stored as often as they are here. */
async function expectStored(service: ServiceUnderAttack, prefix: string, names: readonly string[]): Promise<void> {
  expect((await service.stored()).filter((name) => name.startsWith(prefix)).sort()).toEqual([...names].sort());
}

describe.each([1, 2])('of %i process(es), on one connection', (workers) => {
  const service = underAttack(workers);
  let tries = 0;

  it.each([
    ['a tab behind close', '1.1', 'Connection: close\t'],
    ['a tab before close', '1.1', 'Connection:\tclose'],
    ['tabs around close in a list', '1.1', 'Connection: x,\tclose\t,y'],
    ['keep-alive and close in HTTP/1.0', '1.0', 'Connection: keep-alive, close'],
    ['keep-alive and close in two lines of HTTP/1.0', '1.0', 'Connection: keep-alive\nConnection: close'],
  ])('nothing is done behind a request with %s', async (_what, version, field) => {
    const name = `closed-${++tries}-`;
    const connection = await service().open();
    connection.socket.allowHalfOpen = true;
    connection.write(bytes(get('/v1/pets').replace('1.1\n', `${version}\n${field}\n`) + post(`${name}0`)));
    const found = await answers(connection, () => 1);
    expect(found.map((answer) => [answer.status, answer.header('Connection')])).toEqual([[200, 'close']]);
    await expectStored(service(), name, []);
    connection.destroy();
  });

  it.each(LAST)('nothing behind the last answer is done: %s', async (_what, request, status) => {
    const name = `behind-${++tries}-`;
    const connection = await service().open();
    connection.socket.allowHalfOpen = true;
    // In the same write, and when the service has closed its side.
    connection.write(bytes(request + post(`${name}0`)));
    const isLast = (answer?: WireAnswer) => answer?.header('Connection') === 'close';
    const [first, ...more] = await answers(connection, ([one]) => (isLast(one) ? 1 : 2));
    if (!connection.socket.destroyed) connection.write(bytes(post(`${name}1`)));
    more.push(...(await answers(connection, () => (isLast(first) ? 0 : 1))));
    expect(first?.status).toBe(status);
    const done = more
      .filter((answer) => answer.status === 201)
      .map(({ body }) => (JSON.parse(body) as { name: string }).name);
    await expectStored(service(), name, done);
    // Both of them if the connection goes on, and none if it does not.
    expect(done).toHaveLength(first?.header('Connection') === 'close' ? 0 : 2);
    connection.destroy();
  });

  it.each(UNFRAMED)('%s is 400, and nothing of it or behind it is done', async (_what, lines) => {
    const name = `unframed-${++tries}-`;
    const body = petBody(`${name}body`);
    const chunk = `${body.length.toString(16)}\n${body}\n0\n\n`;
    for (const version of ['1.1', '1.0']) {
      for (const rest of [body, chunk, '0\n\n', '']) {
        const connection = await service().open();
        const framing = lines.replaceAll('LENGTH', String(body.length));
        const head = `POST /v1/pets HTTP/${version}\nHost: x\nKEY\nContent-Type: application/json\n${framing}\n\n`;
        connection.write(bytes(head + rest + post(`${name}behind`)));
        const answer = await connection.answer();
        expectError(answer, 'bad_request');
        expect(answer.header('Connection')).toBe('close');
        await connection.closed;
        expect(connection.rest).toBe('');
      }
    }
    await expectStored(service(), name, []);
  });

  it.each(['chunked', 'Chunked', 'CHUNKED', '  chunked '])(
    'a Transfer-Encoding of %j is read as chunks',
    async (coding) => {
      const name = `chunked-${++tries}-`;
      const body = petBody(`${name}body`);
      const connection = await service().open();
      const head = `POST /v1/pets HTTP/1.1\nHost: x\nKEY\nContent-Type: application/json\nTransfer-Encoding: ${coding}\n\n`;
      connection.write(
        bytes(`${head}${body.length.toString(16)};a="b"\n${body}\n0\nX-A: b\n\n${post(`${name}behind`)}`),
      );
      expect((await answers(connection, () => 2)).map(({ status }) => status)).toEqual([201, 201]);
      await expectStored(service(), name, [`${name}body`, `${name}behind`]);
      connection.destroy();
    },
  );

  it.each(PROTOCOLS)('%s is 400, and nothing of it or behind it is done', async (protocol) => {
    const name = `protocol-${++tries}-`;
    for (const request of [post(`${name}body`), get('/v1/pets'), get('/v1/pets').replace('GET', 'OPTIONS')]) {
      for (const space of [' ', '  ']) {
        const connection = await service().open();
        connection.write(bytes(request.replace(' HTTP/1.1', space + protocol) + post(`${name}behind`)));
        const answer = await connection.answer();
        expectError(answer, 'bad_request');
        expect(answer.header('Connection')).toBe('close');
        await connection.closed;
        expect(connection.rest).toBe('');
      }
    }
    await expectStored(service(), name, []);
  });

  it.each(['GET', 'POST'])(
    'a %s of HTTP/1.0 is answered, and one of RTSP behind it, alike but for that, is 400',
    async (method) => {
      const of10 = get('/v1/pets')
        .replace('GET', method)
        .replace('1.1', '1.0')
        .replace('KEY', 'KEY\nConnection: keep-alive');
      const of11 = of10.replace('1.0', '1.1');
      const connection = await service().open();
      connection.write(bytes(of11 + of10 + of11 + of10 + of10.replace('HTTP', 'RTSP') + of10));
      const found = await answers(connection, () => 5);
      expect(found.map((answer) => answer.header('Connection'))).toEqual([
        ...Array<string>(4).fill('keep-alive'),
        'close',
      ]);
      expectError(found[4] as WireAnswer, 'bad_request');
      await connection.closed;
    },
  );

  it('a request that holds the request line of another protocol is answered', async () => {
    const line = 'POST /v1/pets RTSP/1.0';
    const request = post(`${++tries}${line}`).replace('\n', `\nX-A: ${line}\n`);
    const whole = bytes(request);
    for (const cut of [0, whole.indexOf(line), whole.indexOf('KEY'), whole.lastIndexOf(line) - 40]) {
      const connection = await service().open();
      connection.write(whole.subarray(0, cut));
      await pause(20);
      connection.write(whole.subarray(cut));
      expect((await connection.answer()).status).toBe(201);
      connection.destroy();
    }
  });

  it.each([
    ['RTSP/1.0', 'GET', 0],
    ['ICE/1.0', 'SOURCE', 0],
    ['RTSP/1.1', 'POST', 0],
    ['RTSP/1.0', 'POST', 1],
    ['RTSP/1.1', 'GET', 1],
    // The second of them waits for the first, and nothing is read meanwhile.
    ['RTSP/1.0', 'GET', 2],
  ])('%s of a %s behind %i requests is 400 wherever packets end', async (protocol, method, before) => {
    const name = `cut-${++tries}-`;
    const request = bytes(
      (method === 'POST' ? post(`${name}body`) : get('/v1/pets').replace('GET', method))
        .replace('HTTP/1.1', protocol)
        .replace('KEY', `KEY\nX-A: ${protocol}\nX-B:${protocol}`),
    );
    const all = Buffer.concat([bytes(get('/v1/pets').repeat(before)), request, bytes(post(`${name}behind`))]);
    const begin = all.length - bytes(post(`${name}behind`)).length - request.length;
    const end = all.indexOf('\r\n\r\n', begin) + 4;
    for (let cut = begin + 1; cut < end; cut++) {
      const connection = await service().open();
      connection.write(all.subarray(0, cut));
      for (let i = 0; i < before; i++) expect((await connection.answer()).status).toBe(200);
      await pause(2);
      connection.write(all.subarray(cut, cut + 1));
      await pause(2);
      connection.write(all.subarray(cut + 1));
      expectError(await connection.answer(), 'bad_request');
      await connection.closed;
      expect(connection.rest).toBe('');
    }
    await expectStored(service(), name, []);
  });

  it('a head of another protocol that comes byte by byte is 400', async () => {
    const connection = await service().open();
    for (const byte of bytes(`\n\n${get('/v1/pets').replace('HTTP/1.1', 'RTSP/1.0')}`)) {
      connection.write(Buffer.of(byte));
      await pause(1);
    }
    expectError(await connection.answer(), 'bad_request');
    await connection.closed;
  });

  it('a request of HTTP is answered wherever a packet ends, though its fields and its neighbours name another protocol', async () => {
    const name = `cut-${++tries}-`;
    const line = 'GET /v1/pets RTSP/1.0';
    const before = bytes(post(`${name}${line}`).replace('KEY', `KEY\nX-A: ${line}`));
    for (const [version, behind] of [
      ['1.0', `${line}\n\n`],
      ['1.1', get('/v1/pets')],
    ] as const) {
      const request = bytes(get('/v1/pets').replace('1.1', version).replace('KEY', `KEY\nX-A: ${line}\nX-B:RTSP/1.0`));
      for (let end = 1; end < request.length; end++) {
        const connection = await service().open();
        connection.write(Buffer.concat([before, request.subarray(0, end)]));
        expect((await connection.answer()).status).toBe(201);
        connection.write(Buffer.concat([request.subarray(end), bytes(behind)]));
        expect((await connection.answer()).status).toBe(200);
        if (version === '1.1') expect((await connection.answer()).status).toBe(200);
        connection.destroy();
      }
    }
  });

  it('requests of HTTP/1.0 are answered wherever a packet ends', async () => {
    const request = bytes(get('/v1/pets').replace('1.1', '1.0').replace('KEY', 'KEY\nConnection: keep-alive'));
    const { length } = request;
    const all = Buffer.concat(Array<Buffer>(4).fill(request));
    for (let end = 1; end <= length; end++) {
      const connection = await service().open();
      for (const [from, to] of [
        [0, 1],
        [1, 3],
        [3, 4],
      ] as const) {
        connection.write(all.subarray(from && from * length + end, to * length + end));
        for (let i = from; i < to; i++) expect((await connection.answer()).status).toBe(200);
      }
      connection.destroy();
    }
  });

  it.each([
    ['without a key', 'POST /v1/pets', 'X: y'],
    ['to no route', 'GET /v1/nothing', 'KEY'],
  ])('a request %s whose trailers are refused with it has its answer, and is read on', async (_what, line, field) => {
    const connection = await service().open();
    connection.socket.allowHalfOpen = true;
    connection.write(bytes(`${line} HTTP/1.1\nHost: x\n${field}\nTransfer-Encoding: chunked\n\n0\nX-T\n\n`));
    expectError(await connection.answer(), 'bad_request');
    // A connection that is closed on them answers them with a reset, which can overtake the answer.
    for (let i = 0; i < 5; i++) {
      connection.write('x');
      await pause(20);
    }
    expect(connection.broke).toBe(false);
    connection.destroy();
  });
});

describe.each([1, 2])('of %i process(es), while answers take longer than a request may', (workers) => {
  const service = underAttack(workers, { HEADERS_TIMEOUT: '300', REQUEST_TIMEOUT: '600' });
  const MANY = 500;

  it.each([
    ['a whole head', ''],
    ['half a head', 'GET /v1/pets HTTP/1.1\nHost: x\n'],
    ['half a body', post('half').slice(0, -1)],
  ])('what was sent at once is taken, and what ends in %s in time or not', async (what, rest) => {
    const name = `at once, ${what}`;
    const connections = await Promise.all(Array.from({ length: 3 }, () => service().open()));
    await Promise.all(
      connections.map(async (connection) => {
        connection.write(bytes(post(name).repeat(MANY) + rest));
        for (let i = 0; i < MANY; i++) expect((await connection.answer()).status).toBe(201);
        if (rest !== '') expectError(await connection.answer(), 'request_timeout');
        connection.destroy();
      }),
    );
  });
});

describe.each([1, 2])('of %i process(es), behind 408', (workers) => {
  const service = underAttack(workers, { HEADERS_TIMEOUT: '300', REQUEST_TIMEOUT: '600' });

  it.each([
    ['the rest of a head', 40],
    ['the rest of a body', -1],
  ])('%s is not taken any more', async (what, end) => {
    const request = bytes(post(what) + post(`${what}, and behind it`));
    const connection = await service().open();
    connection.socket.allowHalfOpen = true;
    const cut = end < 0 ? bytes(post(what)).length + end : end;
    connection.write(request.subarray(0, cut));
    expectError(await connection.answer(), 'request_timeout');
    connection.write(request.subarray(cut));
    expect(await answers(connection)).toEqual([]);
    await expectStored(service(), what, []);
    connection.destroy();
  });
});
