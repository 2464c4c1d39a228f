import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Libsql from 'libsql';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:net';
import { once } from 'node:events';
import { Service } from '../../support/service.js';
import { storeKinds, TestStore } from '../../support/stores.js';

describe.each(storeKinds)('health on $name', (kind) => {
  let store: TestStore;
  let service: Service;

  beforeAll(async () => {
    store = await kind.create();
    service = await Service.start({ DATABASE_URL: store.url });
  });

  afterAll(async () => {
    await service.stop();
    await store.remove();
  });

  it.each(['/health/live', '/health/ready'])('answers 200 at %s without a key', async (path) => {
    const answer = await service.send(path, { key: false });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.body).toBe('{"status":"ok"}');
  });

  it('says what it takes if it is asked otherwise', async () => {
    const options = await service.send('/health/ready', { method: 'OPTIONS', key: false });
    expect([options.status, options.headers.allow]).toEqual([204, 'GET, HEAD, OPTIONS']);
    const post = await service.send('/health/live', { method: 'POST', key: false });
    expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    expect(JSON.parse(post.body)).toMatchObject({ code: 'method_not_allowed', status: 405 });
  });
});

describe('readiness', () => {
  it('goes with the pets and comes back with them', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    const file = join(folder, 'test.sqlite');
    const service = await Service.start({ DATABASE_URL: `sqlite:${file}` });
    const other = new Libsql(file);
    try {
      other.exec('ALTER TABLE pet RENAME TO gone');
      const away = await service.send('/health/ready', { key: false });
      expect([away.status, away.headers['retry-after']]).toEqual([503, '1']);
      const message = 'The store cannot answer now; try again.';
      expect(JSON.parse(away.body)).toEqual({ code: 'service_unavailable', message, status: 503 });
      expect((await service.send('/health/live', { key: false })).status).toBe(200);
      other.exec('ALTER TABLE gone RENAME TO pet');
      expect((await service.send('/health/ready', { key: false })).status).toBe(200);
    } finally {
      other.close();
      await service.stop();
      rmSync(folder, { recursive: true });
    }
  });

  it('ends when a graceful stop begins', async () => {
    const service = await Service.start();
    const socket = connect(service.port, '127.0.0.1');
    let answers = '';
    socket.setEncoding('latin1').on('data', (data: string) => (answers += data));
    // The request comes before the stop, and its end after it.
    socket.write('GET /health/ready HTTP/1.1\r\nHost: x\r\n\r\nGET /health/ready HTTP/1.1\r\n');
    await once(socket, 'data');
    const stopped = service.stop();
    socket.write('Host: x\r\n\r\n');
    await once(socket, 'close');
    await stopped;
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 503']);
    expect(answers).toContain('"code":"service_unavailable"');
  });
});
