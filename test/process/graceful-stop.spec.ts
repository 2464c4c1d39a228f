import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import { Connection } from '../support/connection.js';
import { buildProgram } from '../support/program.js';

const KEY = 'key-of-the-stop-test';

describe('a service that is told to stop', () => {
  let program: string;
  let folder: string;
  let file: string;
  let service: ChildProcess;
  let agent: Agent;

  beforeAll(() => {
    program = buildProgram();
  });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-stop-'));
    file = join(folder, 'stop.sqlite');
    agent = new Agent({ keepAlive: true });
  });

  afterEach(async () => {
    agent.destroy();
    if (service.exitCode === null && service.signalCode === null) {
      service.kill('SIGKILL');
      await once(service, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts the service by a command, and resolves to its port once it listens. */
  function start(command: string, args: string[], environment: Record<string, string> = {}): Promise<number> {
    service = spawn(command, args, {
      env: {
        ...process.env,
        PORT: '0',
        NODE_ENV: 'production',
        DATABASE_URL: `sqlite:${file}`,
        API_KEYS: KEY,
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return new Promise((resolve, reject) => {
      let greeting = '';
      service.stdout?.on('data', (chunk: Buffer) => {
        greeting += chunk.toString();
        const port = /http:\/\/127\.0\.0\.1:(\d+)\/v1"/.exec(greeting)?.[1];
        if (port !== undefined) resolve(Number(port));
      });
      service.once('exit', () => reject(new Error(`The service did not start: ${greeting}`)));
    });
  }

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

  async function exitCode(): Promise<number | null> {
    if (service.exitCode === null) await once(service, 'exit');
    return service.exitCode;
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

  it('exits with 0 at once where nothing is under way but connections that are kept open', async () => {
    const port = await start(process.execPath, [join(program, 'src/main.js')]);
    await ask(port);
    // One on which nothing has come yet is there before the next answer.
    const silent = connect(port, '127.0.0.1');
    await once(silent, 'connect');
    await ask(port);
    service.kill('SIGTERM');
    expect(await exitCode()).toBe(0);
    silent.destroy();
  });

  it('finishes what is under way, closes its connection, and takes no other', async () => {
    const port = await start(process.execPath, [join(program, 'src/main.js')]);
    const lock = new Libsql(file);
    lock.exec('BEGIN IMMEDIATE');
    const answer = ask(port, '{"name":"Bella","categoryId":42}');
    await ask(port);
    service.kill('SIGTERM');
    await untilClosed(port);
    lock.exec('ROLLBACK');
    lock.close();
    expect(await answer).toEqual({ status: 201, connection: 'close' });
    expect(await exitCode()).toBe(0);
    const left = new Libsql(file);
    expect(left.prepare('SELECT count(*) FROM pet').raw().get()).toEqual([1]);
    left.close();
  });

  it('exits with 1 where what is under way is not finished in time', async () => {
    const port = await start(process.execPath, [join(program, 'src/main.js')], { STOP_TIMEOUT: '200' });
    const lock = new Libsql(file);
    lock.exec('BEGIN IMMEDIATE');
    const answer = ask(port, '{"name":"Bella","categoryId":42}').catch(() => 'cut off');
    await ask(port);
    service.kill('SIGTERM');
    expect(await exitCode()).toBe(1);
    expect(await answer).toBe('cut off');
    lock.close();
  });

  it('exits with 1 at once on a second signal', async () => {
    const port = await start(process.execPath, [join(program, 'src/main.js')], { STOP_TIMEOUT: '60000' });
    const lock = new Libsql(file);
    lock.exec('BEGIN IMMEDIATE');
    const answer = ask(port, '{"name":"Bella","categoryId":42}').catch(() => 'cut off');
    await ask(port);
    service.kill('SIGTERM');
    await untilClosed(port);
    // Within half a second it would be taken for the same signal, passed on by npm.
    const insist = setInterval(() => service.kill('SIGTERM'), 100);
    expect(await exitCode()).toBe(1);
    clearInterval(insist);
    expect(await answer).toBe('cut off');
    lock.close();
  });

  it('answers all that came in one write, and says with the last answer alone that it is the last', async () => {
    const port = await start(process.execPath, [join(program, 'src/main.js')], { STOP_LINGER: '3000' });
    const connection = await Connection.open(port);
    const request = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;
    connection.write(request);
    await connection.answer();
    service.kill('SIGTERM');
    await untilClosed(port);
    connection.write(request.repeat(3));
    for (const last of [false, false, true]) {
      const answer = await connection.answer();
      expect([answer.status, answer.header('Connection') === 'close']).toEqual([200, last]);
    }
    await connection.closed;
    expect(await exitCode()).toBe(0);
  });

  it('exits with 0 where npm started it', async () => {
    const port = await start('npm', ['start', '--silent']);
    await ask(port);
    service.kill('SIGTERM');
    await untilClosed(port);
    expect(await exitCode()).toBe(0);
  }, 60_000);
});
