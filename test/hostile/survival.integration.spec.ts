import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { Connection } from '../support/connection.js';
import { expectError } from '../support/error-body.js';
import { bytes, get, pause, post, postHead, underAttack } from './under-attack.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'];

const DOCS = [
  ...['/', '/docs', '/docs/start.js', '/docs/page.css', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js'],
  ...['/docs/favicon-32x32.png', '/docs/favicon-16x16.png', '/openapi.json', '/openapi.yaml'],
  ...['/health/live', '/health/ready'],
];

/** Headers that ask for a part of a file, or for it on a condition. */
const CONDITIONS = [
  ...['Range: bytes=0-1', 'Range: bytes=999999999-', 'Range: bytes=-1', 'Range: bytes=5-1', 'Range: bytes=0-1,5-6'],
  ...[
    'Range: lines=1-2',
    `Range: bytes=${'0-0,'.repeat(2_000)}0-0`,
    'If-Match: "x"',
    'If-Match: *',
    'If-None-Match: "x"',
  ],
  ...['If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT', 'If-Modified-Since: x'],
  ...['If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT', 'If-Range: "x"\nRange: bytes=0-1'],
  ...['If-Range: Thu, 01 Jan 1970 00:00:00 GMT\nRange: bytes=999999999-', 'Accept-Encoding: x, *;q=0'],
];

/** Requests that end a connection in other ways than by an answer. */
const RESET: readonly (readonly [what: string, request: string])[] = [
  ['CONNECT', 'CONNECT x:1 HTTP/1.1\nHost: x\n\n'],
  ['CONNECT without a Host', 'CONNECT x:1 HTTP/1.1\n\n'],
  ['CONNECT with bytes behind it', `CONNECT x:1 HTTP/1.1\nHost: x\n\n${'x'.repeat(100_000)}`],
  ['CONNECT behind a GET', `${get('/v1/pets')}CONNECT x:1 HTTP/1.1\nHost: x\n\n`],
  ['CONNECT behind a POST', `${post('connect')}CONNECT x:1 HTTP/1.1\nHost: x\n\n`],
  ['a request to upgrade', 'GET /v1/pets HTTP/1.1\nHost: x\nConnection: Upgrade\nUpgrade: websocket\n\n'],
  ['a POST to upgrade', `${post('upgrade').replace('\n', '\nConnection: Upgrade\nUpgrade: h2c\n')}x`],
  ['an expectation that cannot be met', 'GET /v1/pets HTTP/1.1\nHost: x\nExpect: x\n\n'],
  ['what is no HTTP', 'x'.repeat(1_000)],
  ['half a head', 'GET /v1/pets HTTP/1.1\nHost:'],
  ['half a body', `${postHead(50)}{`],
  ['a large file asked for', get('/docs/swagger-ui-bundle.js').repeat(10)],
  ['a list asked for', get('/v1/pets?limit=100').repeat(10)],
];

describe.each([1, 2])('a service of %i process(es) outlives', (workers) => {
  const service = underAttack(workers);

  it.each(RESET)('%s, then a reset', async (_what, request) => {
    for (let i = 0; i < 30; i++) {
      const connection = await service().open();
      connection.write(bytes(request));
      // Before it is read, while it is worked on, and behind its answer.
      await pause(i % 3 === 0 ? 0 : (i % 3) * 5);
      connection.socket.resetAndDestroy();
    }
    await pause(100);
  });

  it('a reset behind each byte of a request', async () => {
    const request = bytes(post('cut').replace('\n', '\nConnection: Upgrade\nUpgrade: x\n'));
    for (let end = 0; end <= request.length; end++) {
      const connection = await service().open();
      connection.socket.write(request.subarray(0, end), () => connection.socket.resetAndDestroy());
    }
    await pause(200);
  });

  it('more connections than it may have descriptors, and then serves what it has not served before', async () => {
    const open = await Promise.all(Array.from({ length: 4 * workers }, () => service().open()));
    // Else some are not accepted yet.
    for (const connection of open) {
      connection.write(bytes(get('/health/live')));
      expect((await connection.answer()).status).toBe(200);
    }
    // A worker has one descriptor more than it has in use now.
    for (const pid of service().pids) {
      const used = readdirSync(`/proc/${pid}/fd`).length;
      execFileSync('prlimit', ['--pid', String(pid), `--nofile=${used + 1}:`]);
    }
    const flood = Array.from({ length: 30 }, () => Connection.open(service().port).catch(() => undefined));
    const wrong = bytes(postHead(10) + '{"name":1}');
    try {
      for (const connection of open) {
        connection.write(bytes(get('/docs/swagger-ui.css') + get('/docs') + get('/openapi.json') + get('/nothing')));
        connection.write(wrong);
        for (const status of [200, 200, 200, 404]) expect((await connection.answer()).status).toBe(status);
        expectError(await connection.answer(), 'invalid_field');
      }
    } finally {
      for (const connection of [...open, ...(await Promise.all(flood))]) connection?.destroy();
      for (const pid of service().pids) execFileSync('prlimit', ['--pid', String(pid), '--nofile=4096:']);
    }
    for (let i = 0; i < workers; i++) expectError(await Connection.ask(service().port, wrong), 'invalid_field');
  });

  it('more connections at once than it has descriptors for, again and again', async () => {
    // Not the primary, which would refuse them.
    for (const pid of service().pids.slice(-workers)) {
      const used = readdirSync(`/proc/${pid}/fd`).length;
      execFileSync('prlimit', ['--pid', String(pid), `--nofile=${used + 8}:`]);
    }
    try {
      for (let round = 0; round < 3; round++) {
        const flood = await Promise.all(Array.from({ length: 60 }, () => Connection.open(service().port)));
        await pause(300);
        for (const connection of flood) connection.destroy();
        // Each worker serves again, as soon as it has seen the ends of those.
        const live = () => Connection.ask(service().port, bytes(get('/health/live')));
        const end = performance.now() + 5_000;
        for (let served = 0; served < 4 * workers;) {
          const answer = await live().catch(() => undefined);
          served = answer?.status === 200 ? served + 1 : 0;
          if (served === 0) await pause(20);
          expect(performance.now()).toBeLessThan(end);
        }
      }
    } finally {
      for (const pid of service().pids) execFileSync('prlimit', ['--pid', String(pid), '--nofile=4096:']);
    }
  });
});

describe.each([1, 2])('of %i process(es), without a key', (workers) => {
  const service = underAttack(workers);
  const head = (method: string, path: string, lines: string) => `${method} ${path} HTTP/1.1\nHost: x\n${lines}\n\n`;
  it.each(DOCS)(
    '%s is answered whole and well, whatever part of it and on whatever condition it is asked for',
    async (path) => {
      const whole = await service().ask(head('GET', path, 'Connection: close'));
      for (const condition of CONDITIONS) {
        for (const method of ['GET', 'HEAD']) {
          const answer = await service().ask(head(method, path, condition));
          expect({ method, condition, status: answer.status }).toEqual({ method, condition, status: whole.status });
          expect(answer.body).toBe(method === 'GET' ? whole.body : '');
          expect(answer.header('Content-Length')).toBe(whole.header('Content-Length'));
        }
      }
    },
  );

  it.each(DOCS)('%s answers every method, and no error but 405', async (path) => {
    for (const method of METHODS) {
      for (const condition of ['X-A: b', 'Range: bytes=999999999-', 'If-Match: "x"']) {
        const answer = await service().ask(head(method, path, condition));
        expect({ method, condition, status: answer.status }).toEqual({
          ...{ method, condition },
          status: method === 'OPTIONS' ? 204 : ['GET', 'HEAD'].includes(method) ? (path === '/' ? 302 : 200) : 405,
        });
      }
    }
  });

  it('a file of the docs is not fetched again by whoever has it', async () => {
    const tag = (await service().ask(head('GET', '/docs/swagger-ui.css', 'X-A: b'))).header('ETag');
    expect(tag).toBeDefined();
    for (const tags of [tag, '*', `"x", ${tag}`]) {
      const answer = await service().ask(
        head('GET', '/docs/swagger-ui.css', `If-None-Match: ${tags}\nRange: bytes=0-1`),
      );
      expect(answer).toMatchObject({ status: 304, body: '' });
    }
  });
});
