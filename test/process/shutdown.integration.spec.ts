import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Libsql from 'libsql';
import { Connection, WireAnswer } from '../support/connection.js';
import { freshFolder } from '../support/fresh-folder.js';
import { pause } from '../support/ledger.js';
import { bytes, get, KEY, post, rawRequest } from '../support/raw-requests.js';
import { isRunning, RunningService, until } from '../support/working-folder.js';

/** Loaded first by the service: a signal that it sends kills, as all do on Windows. */
const AS_ON_WINDOWS = `
  import { ChildProcess } from 'node:child_process';
  const { kill } = ChildProcess.prototype;
  ChildProcess.prototype.kill = function () { return kill.call(this, 'SIGKILL'); };
`;

const PRODUCTION = {
  NODE_ENV: 'production',
  API_KEYS: KEY,
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(AS_ON_WINDOWS)}`,
};

const LIST = bytes(get('/v1/pets'));
const READY = bytes(rawRequest('GET /health/ready', []));
const CREATE = bytes(post('in flight'));

const folder = freshFolder();

const openRepositories = () => new Libsql(join(folder().path, 'data/petstore.sqlite'));

let service: RunningService;

async function start(variables: Record<string, string> = {}): Promise<void> {
  service = await folder().serve({ ...PRODUCTION, ...variables });
}

/** Sends a request on a new connection. */
const send = (request: Buffer) => Connection.ask(service.port, request);

/** Opens a connection and sends a request on it, which is answered. */
async function keptConnection(): Promise<Connection> {
  const connection = await Connection.send(service.port, LIST);
  expect((await connection.answer()).header('Connection')).not.toBe('close');
  return connection;
}

/** Resolves once no connection is accepted, and all workers know it. */
async function untilNoneAccepted(): Promise<void> {
  await until(() =>
    Connection.open(service.port).then(
      (connection) => {
        connection.destroy();
        return false;
      },
      () => true,
    ),
  );
  if (service.workers.length > 0) await pause(300);
}

/** Locks the database and sends a create, which is then in flight until `release`. */
async function createInFlight(): Promise<{ response: Promise<WireAnswer | undefined>; release: () => void }> {
  const connection = await keptConnection();
  const lock = openRepositories();
  lock.exec('BEGIN IMMEDIATE');
  connection.write(CREATE);
  const response = connection.answer().catch(() => undefined);
  // By the time that other requests are answered, the create has been read.
  for (let i = 0; i < 4; i++) await send(LIST);
  const release = () => {
    lock.exec('ROLLBACK');
    lock.close();
  };
  return { response, release };
}

describe.each(['1', '2'])('graceful shutdown of %s process(es)', (count) => {
  it('is not ready at once, accepts connections for STOP_DELAY, and then none', async () => {
    await start({ WEB_CONCURRENCY: count, STOP_DELAY: '1500' });
    expect((await send(READY)).status).toBe(200);
    const exit = service.end('SIGTERM');
    const began = performance.now();
    await until(async () => (await send(READY)).status === 503);
    expect(performance.now() - began).toBeLessThan(1_000);
    let answered = 0;
    for (; performance.now() - began < 1_300; answered++) {
      expect((await send(LIST)).status).toBe(200);
      expect((await send(READY)).status).toBe(503);
    }
    expect(answered).toBeGreaterThan(0);
    await untilNoneAccepted();
    expect(performance.now() - began).toBeGreaterThan(1_400);
    expect(await exit).toBe(0);
  });

  // Ctrl+C in a terminal sends the signal to every process of the group.
  it.each([
    ['SIGTERM to the process', 'SIGTERM', () => [service.pid]],
    ['SIGINT to all processes', 'SIGINT', () => [service.pid, ...service.workers]],
  ] as const)('by %s finishes what is in flight, and leaves all of it in one file', async (_how, signal, pids) => {
    await start({ WEB_CONCURRENCY: count });
    const { workers } = service;
    const { response, release } = await createInFlight();
    for (const pid of pids()) process.kill(pid, signal);
    await untilNoneAccepted();
    release();
    const answer = await response;
    expect([answer?.status, answer?.header('Connection')]).toEqual([201, 'close']);
    expect(await service.ended()).toBe(0);
    await until(() => !workers.some(isRunning));
    expect(service.lines.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(existsSync(join(folder().path, 'data/petstore.sqlite-wal'))).toBe(false);
    const database = openRepositories();
    expect(database.prepare('SELECT count(*) FROM pet').raw().get()).toEqual([1]);
    database.close();
  });

  it('answers a late request on a kept connection with Connection: close, and closes idle ones', async () => {
    await start({ WEB_CONCURRENCY: count });
    const [late, idle] = [await keptConnection(), await keptConnection()];
    const exit = service.end('SIGTERM');
    await untilNoneAccepted();
    late.write(LIST);
    const answer = await late.answer();
    expect([answer.status, answer.header('Connection')]).toEqual([200, 'close']);
    await Promise.all([late.closed, idle.closed]);
    expect([late.broke, idle.broke, idle.rest]).toEqual([false, false, '']);
    expect(await exit).toBe(0);
  });

  it('cuts off what is in flight at STOP_TIMEOUT, and exits with 1', async () => {
    await start({ WEB_CONCURRENCY: count, STOP_TIMEOUT: '1000' });
    const { workers } = service;
    const { response, release } = await createInFlight();
    expect(await service.end('SIGTERM')).toBe(1);
    release();
    expect(await response).toBeUndefined();
    await until(() => !workers.some(isRunning));
  });

  it('says what it waits for, and ends at once by a second SIGINT, but not by a copy of the first', async () => {
    await start({ WEB_CONCURRENCY: count });
    const { workers } = service;
    const { response, release } = await createInFlight();
    for (let i = 0; i < 2; i++) process.kill(service.pid, 'SIGINT');
    const begun = performance.now();
    await until(() => service.log.includes('Ctrl-C again'));
    expect(service.lines.map(({ msg }) => msg).filter((msg) => /^Stopping: .* 10 s /.test(String(msg)))).toHaveLength(
      1,
    );
    await pause(1_100);
    expect(service.process.exitCode).toBeNull();
    expect(await service.end('SIGINT')).toBe(130);
    expect(performance.now() - begun).toBeLessThan(5_000);
    release();
    expect(await response).toBeUndefined();
    await until(() => !workers.some(isRunning));
  });

  it('exits with 0 while the service starts', async () => {
    service = folder().start({ ...PRODUCTION, WEB_CONCURRENCY: count });
    await until(() => existsSync(join(folder().path, 'data/petstore.sqlite')));
    const { workers } = service;
    expect(await service.end('SIGTERM')).toBe(0);
    await until(() => !workers.some(isRunning));
  });
});

it('graceful shutdown stops a worker that has just been started', async () => {
  service = folder().start({ ...PRODUCTION, WEB_CONCURRENCY: '2' });
  await until(() => service.workers.length === 1);
  expect(await service.end('SIGTERM')).toBe(0);
});

it('graceful shutdown leaves a request that arrives after the signal the whole time of the database', async () => {
  await start({ STATEMENT_TIMEOUT: '1000', STOP_TIMEOUT: '5500' });
  const late = await keptConnection();
  const lock = openRepositories();
  lock.exec('BEGIN IMMEDIATE');
  const exit = service.end('SIGTERM');
  await pause(600);
  late.write(CREATE);
  expect((await late.answer()).status).toBe(503);
  lock.exec('ROLLBACK');
  expect(await exit).toBe(0);
});

it('graceful shutdown does not fail for a client that never completes its request', async () => {
  await start({ STOP_TIMEOUT: '3000' });
  const connection = await Connection.send(service.port, LIST.subarray(0, 20));
  await send(LIST);
  expect(await service.end('SIGTERM')).toBe(0);
  await connection.closed;
});
