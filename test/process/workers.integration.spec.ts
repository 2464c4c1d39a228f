import { describe, expect, it } from '@jest/globals';
import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Connection, WireAnswer } from '../support/connection.js';
import { newPetJson } from '../support/fields.js';
import { freshFolder } from '../support/fresh-folder.js';
import { freePort } from '../support/servers.js';
import { isRunning, RunningService, until, WorkingFolder } from '../support/working-folder.js';

const KEY = 'key-of-the-workers-test';
const PRODUCTION = { NODE_ENV: 'production', WEB_CONCURRENCY: '2', API_KEYS: KEY };
const BODY = newPetJson();

const folder = freshFolder();

/** Sends a request on a new connection, which another worker accepts. */
const get = (service: RunningService, target: string, key = KEY): Promise<WireAnswer> =>
  Connection.ask(
    service.port,
    `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    false,
    1_000,
  );

const create = (service: RunningService, headers = ''): Promise<WireAnswer> =>
  Connection.ask(
    service.port,
    Buffer.from(
      `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\n` +
        `${headers}Content-Length: ${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`,
    ),
    false,
    1_000,
  );

/** Runs an action concurrently, this number of times. */
const times = <T>(count: number, act: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => act(index)));

/** Resolves once there are two workers again, and requests are answered. */
const untilBothServe = (service: RunningService): Promise<void> =>
  until(
    async () => service.workers.length === 2 && (await get(service, '/v1/pets').catch(() => undefined))?.status === 200,
  );

describe('several workers', () => {
  it('serve on one port, and accept the key of the greeting, which is printed once', async () => {
    const service = await folder().serve({ WEB_CONCURRENCY: '3' });
    expect(service.workers).toHaveLength(3);
    expect(service.log).toMatch(/^The pet store is open at \S+\nDocs: .*\nKey: .*\nKeep: .*\nTry: .*\n$/);
    const connections = await times(6, () => Connection.open(service.port));
    for (const connection of connections) {
      connection.write(`GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n\r\n`);
      expect(await connection.answer()).toMatchObject({ status: 200, body: '[]' });
    }
    for (const connection of connections) connection.destroy();
    const { workers } = service;
    expect(await service.end('SIGTERM')).toBe(0);
    await until(() => !workers.some(isRunning));
  });

  it('see what any of them has created, give out each id once, and create one pet for an Idempotency-Key', async () => {
    const service = await folder().serve(PRODUCTION);
    const bodies = await times(8, async () => {
      const created: string[] = [];
      for (let i = 0; i < 10; i++) {
        const { status, body } = await create(service);
        expect(status).toBe(201);
        expect((await get(service, '/v1/pets?limit=100')).body).toContain(body);
        created.push(body);
      }
      return created;
    });
    expect(new Set(bodies.flat()).size).toBe(80);
    const retries = await times(6, () => create(service, 'Idempotency-Key: retry\r\n'));
    for (const { status } of retries) expect([201, 409]).toContain(status);
    expect(new Set(retries.filter(({ status }) => status === 201).map(({ body }) => body)).size).toBe(1);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('end if the primary is killed', async () => {
    const service = await folder().serve(PRODUCTION);
    const { workers } = service;
    process.kill(service.pid, 'SIGKILL');
    await until(() => !workers.some(isRunning));
  });
});

describe('a worker that crashes', () => {
  it('is replaced, and every pet that it acknowledged is stored', async () => {
    const service = await folder().serve(PRODUCTION);
    const [victim] = service.workers as [number];
    const acknowledged: string[] = [];
    let left = 80;
    await times(8, async () => {
      while (left-- > 0) {
        if (left === 40) process.kill(victim, 'SIGKILL');
        // A response may be lost with the worker, but its connection ends.
        const answer = await create(service).catch(() => undefined);
        if (answer?.status === 201) acknowledged.push(answer.body);
      }
    });
    await untilBothServe(service);
    expect(service.workers).not.toContain(victim);
    expect(acknowledged.length).toBeGreaterThan(40);
    for (const body of acknowledged) {
      const { id } = JSON.parse(body) as { id: number };
      expect(await get(service, `/v1/pets/${id}`)).toMatchObject({ status: 200, body });
    }
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(service.lines.filter(({ msg }) => msg === 'The pet store is open.')).toHaveLength(1);
  });

  it('is replaced if it has not listened yet; the greeting and the first key follow once all listen', async () => {
    const service = folder().start({ WEB_CONCURRENCY: '2' });
    await until(() => service.workers.length === 2);
    process.kill(service.workers[1]!, 'SIGKILL');
    await service.greeted(/^Try: .*\n/m);
    expect(service.workers).toHaveLength(2);
    expect((await service.send(service.key!)).status).toBe(200);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.log.match(/^Key: /gm)).toHaveLength(1);
  });

  it('is replaced once it can start again, and retried with a growing backoff', async () => {
    const { program } = folder();
    const copy = `${program}-${process.pid}`;
    cpSync(program, copy, { recursive: true });
    const elsewhere = new WorkingFolder(copy);
    try {
      const service = await elsewhere.serve({ ...PRODUCTION, PORT: String(await freePort()) });
      renameSync(join(copy, 'src'), join(copy, 'away'));
      const began = performance.now();
      for (const pid of service.workers) process.kill(pid, 'SIGKILL');
      const tries = () => service.log.split('\n').filter((line) => line.startsWith('{"level":"warn"')).length;
      await until(() => tries() >= 6);
      // Without a backoff there would be one in each of the 50 ms that Node takes to fail.
      expect(tries()).toBeLessThan(6 + (performance.now() - began) / 100);
      renameSync(join(copy, 'away'), join(copy, 'src'));
      await untilBothServe(service);
      expect(await service.end('SIGTERM')).toBe(0);
    } finally {
      await elsewhere.remove();
      rmSync(copy, { recursive: true });
    }
  });
});
