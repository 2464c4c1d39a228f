import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { Server } from 'node:http';
import { connect } from 'node:net';
import { Service } from '../../support/service.js';

type Line = Record<string, unknown>;

describe('the log of the requests', () => {
  let service: Service;
  let text = '';
  let arrived: () => void = () => undefined;

  beforeAll(async () => {
    service = await Service.start(
      { NODE_ENV: 'production', LOG_LEVEL: 'info', HEADERS_TIMEOUT: '300', REQUEST_TIMEOUT: '300' },
      (line) => {
        text += line;
        arrived();
      },
    );
  });

  beforeEach(() => {
    text = '';
  });

  afterAll(() => service.stop());

  /** The next line, or the one that is there. */
  async function line(): Promise<Line> {
    if (text === '') await new Promise<void>((resolve) => (arrived = resolve));
    const lines = text.trimEnd().split('\n');
    expect(lines).toHaveLength(1);
    return JSON.parse(lines[0] as string) as Line;
  }

  it('has one line of JSON for a request', async () => {
    const before = Date.now();
    const { headers } = await service.send('/v1/pets?limit=5');
    const { time, ms, ...rest } = await line();
    expect(rest).toEqual({
      level: 'info',
      request: headers['x-request-id'],
      method: 'GET',
      route: '/v1/pets',
      status: 200,
      key: 'test',
    });
    expect(Date.parse(time as string)).toBeGreaterThanOrEqual(before);
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(ms).toBeGreaterThan(0);
  });

  it('has no key, no query, no body and no name of a pet', async () => {
    await service.add({ name: 'Zaphod', categoryId: 424242 });
    await line();
    await service.send('/v1/pets?status=Zaphod');
    await service.send('/v1/pets/Zaphod');
    await service.send('/v1/Zaphod');
    await service.send('/v1/pets', { key: false, headers: { Authorization: 'Bearer Zaphod' } });
    expect(text.split('\n').map((each) => each && (JSON.parse(each) as Line).status)).toEqual([
      201,
      400,
      404,
      404,
      401,
      '',
    ]);
    expect(text).not.toMatch(/Zaphod|424242|status=/);
    expect(text).not.toContain(service.key);
  });

  it('tells of a route by its template', async () => {
    await service.send('/v1/pets/17', { method: 'PUT' });
    expect(await line()).toMatchObject({ method: 'PUT', route: '/v1/pets/:petId', status: 405 });
    text = '';
    await service.send('/elsewhere');
    expect(await line()).toMatchObject({ route: '/{*path}', status: 404 });
  });

  it('names no key if none was accepted', async () => {
    await service.send('/v1/pets', { key: false });
    expect(await line()).not.toHaveProperty('key');
  });

  it('takes no control character from a client', async () => {
    await service.raw('GET /v1/pets/\x1b[31m HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\x1bb\r\n\r\n');
    await line();
    expect(text).toMatch(/^[\x20-\x7e]+\n$/);
  });

  it('tells of a request that cannot be read, with the id that the answer has', async () => {
    const answer = await service.raw('NONSENSE\r\n\r\n');
    const id = /X-Request-Id: (\S+)/.exec(answer)?.[1];
    expect(await line()).toMatchObject({ request: id, status: 400 });
  });

  it('tells of an expectation that cannot be met', async () => {
    await service.send('/v1/pets', { headers: { Expect: 'the moon' } });
    expect(await line()).toMatchObject({ method: 'GET', status: 417 });
  });

  it('tells of a header section that did not arrive in time', async () => {
    await service.raw('GET /v1/pets HTTP/1.1\r\n', 3_000);
    expect(await line()).toMatchObject({ status: 408 });
  });

  it('tells once of a body that did not arrive in time, with the status and the id that were answered', async () => {
    const answer = await service.raw(
      `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\nX-Request-Id: slow\r\n\r\n{',
      3_000,
    );
    expect(answer).toContain('408 Request Timeout');
    expect(answer).toContain('X-Request-Id: slow');
    const told = await line();
    expect(told).toMatchObject({ request: 'slow', method: 'POST', route: '/v1/pets', status: 408, key: 'test' });
    expect(told).not.toHaveProperty('aborted');
  });

  it('tells of a client that went away before its answer', async () => {
    const socket = connect(service.port, '127.0.0.1');
    const seen = once(service.app.getHttpServer() as Server, 'request');
    socket.write(
      `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    await seen;
    socket.resetAndDestroy();
    const told = await line();
    expect(told).toMatchObject({ method: 'POST', aborted: true });
    expect(told).not.toHaveProperty('status');
  });

  it('tells of the answer to HEAD as of any other', async () => {
    await service.send('/v1/pets', { method: 'HEAD' });
    const told = await line();
    expect(told).toMatchObject({ method: 'HEAD', status: 200 });
    expect(told).not.toHaveProperty('aborted');
  });
});
