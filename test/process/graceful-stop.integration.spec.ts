import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import Libsql from 'libsql';
import { Connection } from '../support/connection.js';
import { freshFolder } from '../support/fresh-folder.js';
import { RunningService } from '../support/working-folder.js';

const KEY = 'key-of-the-stop-test';
const PRODUCTION = { NODE_ENV: 'production', API_KEYS: KEY };

describe('a service that is told to stop', () => {
  const folder = freshFolder();
  let service: RunningService;
  let agent: Agent;

  beforeEach(() => {
    agent = new Agent({ keepAlive: true });
  });

  afterEach(() => agent.destroy());

  /** Starts the service, and resolves to its port once it listens. */
  async function start(variables: Record<string, string> = {}): Promise<number> {
    service = await folder().serve({ ...PRODUCTION, ...variables });
    return Number(new URL(service.address).port);
  }

  const openDatabase = () => new Libsql(join(folder().path, 'data/petstore.sqlite'));

  function ask(port: number, body?: string): Promise<{ status: number | undefined; connection: string | undefined }> {
    return new Promise((resolve, reject) => {
      const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
      const asking = request(
        { port, host: '127.0.0.1', path: '/v1/pets', method: body ? 'POST' : 'GET', agent, headers },
        (answer) => {
          answer
            .resume()
            .on('end', () => resolve({ status: answer.statusCode, connection: answer.headers.connection }));
        },
      );
      asking.on('error', reject);
      asking.end(body);
    });
  }

  /** Resolves once nobody listens on the port any more. */
  async function untilClosed(port: number): Promise<void> {
    const taken = () =>
      new Promise<boolean>((resolve) => {
        request({ port, host: '127.0.0.1', path: '/v1', agent: false }, (answer) =>
          resolve(answer.resume().complete || true),
        )
          .on('error', () => resolve(false))
          .end();
      });
    while (await taken());
  }

  it('exits with 0 at once if nothing is under way but connections that are kept open', async () => {
    const port = await start();
    await ask(port);
    // One on which nothing has come yet is there before the next answer.
    const silent = connect(port, '127.0.0.1');
    await once(silent, 'connect');
    await ask(port);
    expect(await service.end('SIGTERM')).toBe(0);
    silent.destroy();
  });

  it('finishes what is under way, closes its connection, and takes no other', async () => {
    const port = await start();
    const lock = openDatabase();
    lock.exec('BEGIN IMMEDIATE');
    const answer = ask(port, '{"name":"Bella","categoryId":42}');
    await ask(port);
    const ended = service.end('SIGTERM');
    await untilClosed(port);
    lock.exec('ROLLBACK');
    lock.close();
    expect(await answer).toEqual({ status: 201, connection: 'close' });
    expect(await ended).toBe(0);
    const left = openDatabase();
    expect(left.prepare('SELECT count(*) FROM pet').raw().get()).toEqual([1]);
    left.close();
  });

  it.each([
    ['', { STOP_TIMEOUT: '200' }],
    [
      ', be there next to no time behind the delay of the stop',
      { STOP_TIMEOUT: '203', STOP_DELAY: '200', STOP_LINGER: '1' },
    ],
  ])('exits with 1 if what is under way is not finished in time%s', async (_when, variables) => {
    const port = await start(variables);
    const lock = openDatabase();
    lock.exec('BEGIN IMMEDIATE');
    const answer = ask(port, '{"name":"Bella","categoryId":42}').catch(() => 'cut off');
    await ask(port);
    expect(await service.end('SIGTERM')).toBe(1);
    expect(await answer).toBe('cut off');
    lock.close();
  });

  it('exits with 1 at once on a second signal', async () => {
    const port = await start({ STOP_TIMEOUT: '60000' });
    const lock = openDatabase();
    lock.exec('BEGIN IMMEDIATE');
    const answer = ask(port, '{"name":"Bella","categoryId":42}').catch(() => 'cut off');
    await ask(port);
    const ended = service.end('SIGTERM');
    await untilClosed(port);
    // Within half a second it would be taken for the same signal, passed on by npm.
    const insist = setInterval(() => void service.end('SIGTERM'), 100);
    expect(await ended).toBe(1);
    clearInterval(insist);
    expect(await answer).toBe('cut off');
    lock.close();
  });

  it('answers all that came in one write, and says with the last answer alone that it is the last', async () => {
    const port = await start({ STOP_LINGER: '3000' });
    const connection = await Connection.open(port);
    const request = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;
    connection.write(request);
    await connection.answer();
    const ended = service.end('SIGTERM');
    await untilClosed(port);
    connection.write(request.repeat(3));
    for (const last of [false, false, true]) {
      const answer = await connection.answer();
      expect([answer.status, answer.header('Connection') === 'close']).toEqual([200, last]);
    }
    await connection.closed;
    expect(await ended).toBe(0);
  });

  it('exits with 0 if npm started it', async () => {
    const DATABASE_URL = `sqlite:${join(folder().path, 'npm.sqlite')}`;
    const npm = spawn('npm', ['start', '--silent'], {
      env: { ...process.env, ...PRODUCTION, PORT: '0', DATABASE_URL },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    service = new RunningService(npm);
    try {
      await service.greeted(/"The pet store is open\."\}\n/);
      const port = Number(new URL(service.address).port);
      await ask(port);
      const ended = service.end('SIGTERM');
      await untilClosed(port);
      expect(await ended).toBe(0);
    } finally {
      npm.kill('SIGKILL');
    }
  }, 60_000);
});
