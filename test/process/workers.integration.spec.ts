import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '../support/connection.js';
import { freshFolder } from '../support/fresh-folder.js';
import { freePort } from '../support/servers.js';
import { isReady } from '../support/start-ready.js';
import { isRunning, RunningService, until, WorkingFolder } from '../support/working-folder.js';

const KEY = 'key-of-the-workers-test';
const PRODUCTION = { NODE_ENV: 'production', WEB_CONCURRENCY: '2', API_KEYS: KEY };

const folder = freshFolder();

/** Resolves once there are two workers again, and one is ready. */
const untilBothServe = (service: RunningService): Promise<void> =>
  until(async () => service.workers.length === 2 && (await isReady(service.port)));

describe('several workers', () => {
  it('serve on one port, and accept the key of the greeting, which is printed once', async () => {
    const service = await folder().serve({ WEB_CONCURRENCY: '3' });
    expect(service.workers).toHaveLength(3);
    expect(service.log).toMatch(/^The pet store is open at \S+\nDocs: .*\nKey: .*\nKeep: .*\nTry: .*\n$/);
    const connections = await Promise.all(Array.from({ length: 6 }, () => Connection.open(service.port)));
    for (const connection of connections) {
      connection.write(`GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n\r\n`);
      expect(await connection.answer()).toMatchObject({ status: 200, body: '[]' });
    }
    for (const connection of connections) connection.destroy();
    const { workers } = service;
    expect(await service.end('SIGTERM')).toBe(0);
    await until(() => !workers.some(isRunning));
  });

  it('end if the primary is killed', async () => {
    const service = await folder().serve(PRODUCTION);
    const { workers } = service;
    process.kill(service.pid, 'SIGKILL');
    await until(() => !workers.some(isRunning));
  });
});

describe('a worker that crashes', () => {
  it('is replaced, which the log says once', async () => {
    const service = await folder().serve(PRODUCTION);
    const [victim] = service.workers as [number];
    // It gets the settings that the service was started with.
    writeFileSync(join(folder().path, '.env'), 'LOG_LEVEL=no level\nPORT=1\n');
    process.kill(victim, 'SIGKILL');
    await until(() => !service.workers.includes(victim));
    await untilBothServe(service);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(service.lines.filter(({ msg }) => msg === 'The pet store is open.')).toHaveLength(1);
  });

  it('is replaced once it can be, though the machine has no file left to open for a while', async () => {
    const service = await folder().serve(PRODUCTION);
    const limit = (files: string) => execFileSync('prlimit', [`--pid=${service.pid}`, `--nofile=${files}:1024`]);
    limit('10');
    process.kill(service.workers[0]!, 'SIGKILL');
    await until(() => service.log.includes('A worker could not be started'));
    limit('1024');
    await untilBothServe(service);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('makes the exit code 1 during a graceful shutdown, and is not replaced', async () => {
    const service = await folder().serve({ ...PRODUCTION, STOP_DELAY: '1000' });
    const [victim] = service.workers as [number];
    process.kill(service.pid, 'SIGTERM');
    // From here on the workers wait for STOP_DELAY.
    await until(async () => !(await isReady(service.port)));
    process.kill(victim, 'SIGKILL');
    expect(await service.ended()).toBe(1);
    expect(service.lines.at(-1)).toMatchObject({ msg: 'The pet store is closed.', code: 1 });
    expect(service.log).not.toContain('another starts');
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

describe('a file of API keys that changes', () => {
  const KEYS = ['first', 'second', 'third'].map((name) => `${name}-key-of-the-workers-test`);
  /** Documented: within 10 s. */
  const TIMEOUT = 10_000;

  it('is read again by each worker, whether its link is swapped, or it is replaced, unless it is invalid', async () => {
    const [first, second, third] = KEYS as [string, string, string];
    const at = (name: string) => join(folder().path, name);
    for (const [i, key] of KEYS.entries()) {
      mkdirSync(at(`..${i}`));
      writeFileSync(at(`..${i}/api-keys`), `# version ${i}\n${key}\n`);
    }
    /** As Kubernetes mounts a Secret: the file is a link into a folder, whose link is swapped. */
    const swap = (version: number) => {
      symlinkSync(`..${version}`, at('..new'));
      renameSync(at('..new'), at('..data'));
    };
    swap(0);
    symlinkSync('..data/api-keys', at('api-keys'));
    const service = await folder().serve({ ...PRODUCTION, API_KEYS_FILE: at('api-keys') });
    /** The keys that each one of these connections accepts; they lead to both workers. */
    const connections = await Promise.all(Array.from({ length: 6 }, () => Connection.open(service.port)));
    const accepted = async (key: string) => {
      const statuses = new Set<number>();
      for (const connection of connections) {
        connection.write(`GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
        statuses.add((await connection.answer()).status);
      }
      return [...statuses].join();
    };
    const warnings = () => service.lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg);
    expect([await accepted(first), await accepted(second)]).toEqual(['200', '401']);
    swap(1);
    await until(async () => (await accepted(second)) === '200' && (await accepted(first)) === '401', TIMEOUT);
    writeFileSync(at('..1/api-keys'), 'too-short\n');
    await until(() => warnings().length === 2, TIMEOUT);
    expect(warnings()).toEqual(
      Array(2).fill(expect.stringMatching(/^API_KEYS_FILE: key 1 must be 16 .* remain valid\.$/)),
    );
    expect([await accepted(KEY), await accepted(second)]).toEqual(['200', '200']);
    writeFileSync(at('replacement'), third);
    renameSync(at('replacement'), at('api-keys'));
    await until(async () => (await accepted(third)) === '200' && (await accepted(second)) === '401', TIMEOUT);
    expect(warnings()).toHaveLength(2);
    for (const connection of connections) connection.destroy();
  });
});
