import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { rawQuery } from '../stores/raw-query.js';
import { Connection } from '../support/connection.js';
import { expectError } from '../support/error-body.js';
import { bytes, rawRequest } from '../support/raw-requests.js';
import { Service } from '../support/service.js';
import { sqlite } from '../support/stores.js';

const service = Service.forSuite({}, sqlite);

const open = (path: string, headers: Record<string, string> = {}) => service.send(path, { key: false, headers });

describe('health', () => {
  it.each(['/health/live', '/health/ready'])('at %s is ok, and needs no key', async (path) => {
    expect(await open(path)).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
      body: '{"status":"ok"}',
    });
  });

  it('is 503 at /health/ready while the database lacks the pets, and ok at /health/live', async () => {
    await rawQuery(service.url, 'ALTER TABLE pet RENAME TO elsewhere');
    const response = await open('/health/ready');
    expectError(response, 'service_unavailable');
    expect(response.headers['retry-after']).toBe('1');
    expect((await open('/health/live')).status).toBe(200);
    await rawQuery(service.url, 'ALTER TABLE elsewhere RENAME TO pet');
    expect((await open('/health/ready')).status).toBe(200);
  });

  it('is 503 at /health/ready from the first moment of a graceful shutdown, without a line in the log', async () => {
    let log = '';
    const stopping = await Service.start({ LOG_LEVEL: 'warn' }, (line) => (log += line));
    const connection = await Connection.open(stopping.port);
    const request = bytes(rawRequest('GET /health/ready', []));
    // The second request is in flight when the shutdown begins.
    connection.write(Buffer.concat([request, request.subarray(0, -2)]));
    expect((await connection.answer()).status).toBe(200);
    const stopped = stopping.stop();
    connection.write(request.subarray(-2));
    const response = await connection.answer();
    expect(expectError(response, 'service_unavailable').message).toBe('The service is shutting down.');
    expect(response.header('Retry-After')).toBe('1');
    await Promise.all([connection.closed, stopped]);
    expect(log).toBe('');
  });
});

describe('the docs page', () => {
  /** The addresses of what the page loads, as they stand in it. */
  const references = async () => [...(await open('/docs')).body.matchAll(/(?:src|href)="([^"]+)"/g)].map((m) => m[1]!);

  const pathOf = (reference: string) => new URL(reference, 'http://x/docs').pathname;

  it('is HTML that may load nothing from elsewhere, and call no one else', async () => {
    const { status, headers } = await open('/docs');
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(policy).toMatch(/script-src 'self';/);
    expect(policy).toMatch(/connect-src 'self'$/);
    expect(headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' });
  });

  it('has relative addresses, also of its files and in the redirect of /, since a proxy may add to its path', async () => {
    expect(await open('/')).toMatchObject({ status: 302, headers: { location: 'docs' } });
    expect(await open('/docs/')).toMatchObject({ status: 302, headers: { location: '../docs' } });
    const found = await references();
    expect(found.length).toBeGreaterThan(3);
    for (const reference of found) {
      expect(reference).not.toMatch(/^(\w+:|\/)/);
      const { status, headers, body } = await open(pathOf(reference));
      expect([reference, status]).toEqual([reference, 200]);
      expect(headers['content-type']).toMatch(/^((text|application)\/(javascript|css)|image\/)/);
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff' });
      expect(body.length).toBeGreaterThan(0);
    }
  });

  it('and its files are not sent again to a client that has them', async () => {
    for (const path of ['/docs', '/openapi.json', '/openapi.yaml', ...(await references()).map(pathOf)]) {
      const { etag } = (await open(path)).headers;
      expect([path, etag]).toEqual([path, expect.stringMatching(/"/)]);
      expect([path, (await open(path, { 'If-None-Match': String(etag) })).status]).toEqual([path, 304]);
      expect((await open(path, { 'If-None-Match': '"x"' })).status).toBe(200);
    }
  });

  it('has files without ranges, which are sent whole', async () => {
    for (const path of ['/docs', ...(await references()).map(pathOf)]) {
      const { body } = await open(path);
      for (const range of ['bytes=0-1', 'bytes=999999999-', 'bytes=-1,0-0,5-', 'pages=1']) {
        const ranged = await open(path, { Range: range, 'If-Range': '"x"' });
        expect([path, range, ranged.status, ranged.body === body]).toEqual([path, range, 200, true]);
        for (const absent of ['content-range', 'accept-ranges']) expect(ranged.headers).not.toHaveProperty(absent);
      }
    }
  });

  it('has files whose preconditions count', async () => {
    const file = pathOf((await references()).at(-1)!);
    const { etag = '' } = (await open(file)).headers;
    for (const [name, value, status] of [
      ['If-Match', '"x"', 412],
      ['If-Match', '*', 200],
      ['If-Match', etag, 200],
      ['If-Unmodified-Since', 'Thu, 01 Jan 1970 00:00:00 GMT', 412],
      ['If-Unmodified-Since', 'yesterday', 200],
      ['If-Modified-Since', 'yesterday', 200],
    ] as const) {
      const response = await open(file, { [name]: value });
      expect([name, value, response.status]).toEqual([name, value, status]);
      if (status === 412) expect(JSON.parse(response.body)).toMatchObject({ code: 'bad_request', status });
    }
  });

  it('survives a client that goes while a file is sent', async () => {
    const file = pathOf((await references()).at(-1)!);
    for (let i = 0; i < 20; i++) {
      const connection = await Connection.send(service.port, bytes(rawRequest(`GET ${file}`, []).repeat(3)));
      await once(connection.socket, 'data');
      connection.socket.resetAndDestroy();
    }
    expect((await open('/health/live')).status).toBe(200);
  });
});
