import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { existsSync } from 'node:fs';
import { connect, Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freshFolder } from '../support/fresh-folder.js';
import { freePort } from '../support/servers.js';
import { RunningService } from '../support/working-folder.js';

// A service is up to three processes, which take their time if many run at once.
jest.setTimeout(60_000);

const KEY = 'key-of-the-stop-test';
const LIST = `GET /v1/pets?limit=100 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;

/** Within what time whoever asks has an answer or an end of the connection, in milliseconds. */
const PATIENCE = 10_000;

interface Answer {
  readonly status: number | undefined;
  readonly connection: string | undefined;
}

const folder = freshFolder();

describe.each(['1', '2'])('a service of %s processes that is told to stop', (workers) => {
  let service: RunningService;
  let sockets: Socket[];

  beforeEach(() => {
    sockets = [];
  });

  afterEach(() => {
    for (const socket of sockets) socket.destroy();
  });

  async function start(variables: Record<string, string>): Promise<void> {
    service = await folder().serve({
      ...{ NODE_ENV: 'production', WEB_CONCURRENCY: workers, API_KEYS: KEY, LOG_LEVEL: 'info' },
      ...variables,
    });
  }

  /** The exit code, and how long the stop took. */
  async function stop(): Promise<{ code: number | null; took: number }> {
    const began = performance.now();
    const code = await service.end('SIGTERM');
    return { code, took: performance.now() - began };
  }

  function ask(path: string, agent: Agent | false = false): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const url = new URL(path, service.address);
      const asking = get(url, { agent, headers: { Authorization: `Bearer ${KEY}` } }, (answer) => {
        const { statusCode: status, headers } = answer;
        answer.resume().on('end', () => resolve({ status, connection: headers.connection }));
      });
      asking.on('error', reject).setTimeout(PATIENCE, () => asking.destroy(new Error('There is no answer.')));
    });
  }

  /** A connection of its own, on which this is sent. */
  async function connection(text: string): Promise<Socket> {
    const socket = connect(Number(new URL(service.address).port), '127.0.0.1');
    sockets.push(socket.on('error', () => undefined));
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  }

  /** The first line of what comes on a connection until its end. */
  async function statusLine(opened: Promise<Socket>): Promise<string | undefined> {
    const socket = await opened;
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => (text += part));
    await once(socket, 'close');
    return text.split('\r\n')[0];
  }

  /** Resolves once no connection is taken any more. */
  async function untilClosed(): Promise<void> {
    const end = performance.now() + PATIENCE;
    while (await ask('/health/live').catch(() => undefined)) expect(performance.now()).toBeLessThan(end);
  }

  it('is not ready at once, and takes connections for STOP_DELAY', async () => {
    await start({ STOP_DELAY: '2000' });
    expect(await ask('/health/ready')).toMatchObject({ status: 200 });
    const stopped = stop();
    const told = performance.now();
    while ((await ask('/health/ready')).status !== 503) expect(performance.now() - told).toBeLessThan(1_500);
    let answered = 0;
    while (performance.now() - told < 1_800) {
      expect(await ask('/v1/pets')).toMatchObject({ status: 200 });
      expect(await ask('/health/ready')).toMatchObject({ status: 503 });
      answered++;
    }
    expect(answered).toBeGreaterThan(10);
    await untilClosed();
    const { code, took } = await stopped;
    expect(code).toBe(0);
    expect(took).toBeGreaterThan(2_000);
  });

  it.each([
    ['', 0],
    [', be it that it hears of it when its workers have ended', 200],
  ])('answers or refuses whoever connects while it stops, and leaves nobody waiting%s', async (_how, lead) => {
    await start({ STOP_DELAY: '300' });
    const outcomes = new Set<string>();
    let stopping = true;
    const client = async (): Promise<void> => {
      while (stopping) {
        const outcome = await ask('/v1/pets').then(
          ({ status }) => String(status),
          (error: Error) => error.message,
        );
        outcomes.add(outcome.replace(/(ECONN\w+|hang up).*/, '$1'));
        await delay(1);
      }
    };
    const clients = Array.from({ length: 24 }, client);
    if (lead > 0) for (const pid of service.workers) process.kill(pid, 'SIGTERM');
    await delay(lead);
    const { code } = await stop();
    stopping = false;
    await Promise.all(clients);
    expect(code).toBe(0);
    // Not reset: what was taken is answered.
    for (const outcome of outcomes) expect(outcome).toMatch(/^200$|ECONNREFUSED$/);
    expect(outcomes).toContain('200');
  });

  it('answers who connects as soon as it can be reached, and is told to stop then', async () => {
    for (let i = 0; i < 6; i++) {
      const port = await freePort();
      // Each makes a first key once its port is open, which takes a moment.
      const database = { DATABASE_URL: `sqlite:./${i}.sqlite` };
      service = folder().start({ WEB_CONCURRENCY: workers, PORT: String(port), ...database });
      let opened: Socket | undefined;
      let first: number[] = [];
      while (!opened) {
        if (workers !== '1' && first.length === 0) first = service.workers;
        const socket = connect(port, '127.0.0.1');
        opened = await once(socket, 'connect').then(
          () => socket,
          () => undefined,
        );
      }
      // Before it has said that it serves.
      for (const pid of first) process.kill(pid, 'SIGSTOP');
      opened.write(LIST);
      const received = statusLine(Promise.resolve(opened));
      const ended = service.end('SIGTERM');
      await delay(100);
      for (const pid of first) process.kill(pid, 'SIGCONT');
      expect(await ended).toBe(0);
      expect(await received).toBe('HTTP/1.1 401 Unauthorized');
    }
  });

  it('answers what comes on a kept connection within STOP_LINGER, and closes it then', async () => {
    await start({ STOP_LINGER: '3000' });
    const agent = new Agent({ keepAlive: true });
    expect(await ask('/v1/pets', agent)).toEqual({ status: 200, connection: 'keep-alive' });
    const stopped = stop();
    await untilClosed();
    expect(await ask('/v1/pets', agent)).toEqual({ status: 200, connection: 'close' });
    // Nobody is left to wait for.
    const { code, took } = await stopped;
    expect(code).toBe(0);
    expect(took).toBeLessThan(3_000);
    agent.destroy();
  });

  it('closes a kept connection that is silent after STOP_LINGER', async () => {
    await start({ STOP_LINGER: '1000' });
    const socket = await connection(LIST);
    await once(socket, 'data');
    const closed = once(socket, 'close');
    const { code, took } = await stop();
    await closed;
    expect(code).toBe(0);
    expect(took).toBeGreaterThan(1_000);
    expect(took).toBeLessThan(4_000);
  });

  it('ends half-sent requests by their own limit, and exits with 0', async () => {
    await start({ STOP_LINGER: '200', HEADERS_TIMEOUT: '1000', REQUEST_TIMEOUT: '1500' });
    const texts = [
      'GET /v1/pets HT',
      `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
    ];
    const answers = texts.map(async (text) => {
      const socket = await connection(text);
      let answer = '';
      socket.setEncoding('latin1').on('data', (chunk: string) => (answer += chunk));
      await once(socket, 'close');
      return answer.split('\r\n')[0];
    });
    // What was sent before another request was answered has arrived.
    await delay(100);
    await ask('/v1/pets');
    const { code, took } = await stop();
    expect(code).toBe(0);
    expect(took).toBeLessThan(6_000);
    expect(await Promise.all(answers)).toEqual(texts.map(() => 'HTTP/1.1 408 Request Timeout'));
  });

  it('does not wait for a client that does not read, and exits with 0', async () => {
    await start({ STOP_LINGER: '200' });
    const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ name: 'x'.repeat(255), categoryId: 1 });
    for (let i = 0; i < 100; i++) await fetch(`${service.address}/pets`, { method: 'POST', headers, body });
    const socket = await connection(LIST.repeat(200));
    socket.pause();
    // Until no buffer on the way takes any more.
    await delay(500);
    const { code, took } = await stop();
    expect(code).toBe(0);
    expect(took).toBeLessThan(5_000);
  });

  it('gives who reads slowly all of its answers', async () => {
    await start({ STOP_LINGER: '200' });
    const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ name: 'x'.repeat(255), categoryId: 1 });
    for (let i = 0; i < 100; i++) await fetch(`${service.address}/pets`, { method: 'POST', headers, body });
    const socket = await connection(LIST.repeat(200));
    socket.pause();
    await delay(300);
    const stopped = stop();
    // In a pause, nothing is taken for longer than STOP_LINGER.
    for (let pause = 0; pause < 3; pause++) {
      await delay(400);
      socket.resume();
      await once(socket, 'data');
      socket.pause();
    }
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => (text += part));
    socket.resume();
    await once(socket, 'close');
    expect(text.match(/Connection: close/g)).toHaveLength(1);
    expect(text.endsWith(']')).toBe(true);
    expect((await stopped).code).toBe(0);
  });

  it('tells who sends without an end that its connection ends', async () => {
    await start({ STOP_TIMEOUT: '4000' });
    const socket = await connection(LIST.repeat(8));
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part;
      // As many are on the way as before.
      socket.write(LIST.repeat(part.match(/HTTP\/1\.1/g)?.length ?? 0));
    });
    await once(socket, 'data');
    const { code, took } = await stop();
    expect(code).toBe(0);
    expect(took).toBeLessThan(4_000);
    expect(text.match(/Connection: close/g)).toHaveLength(1);
  });

  it('answers all that came before the signal, however long that takes, or exits with 1', async () => {
    await start({ STOP_TIMEOUT: '2000', STOP_LINGER: '200' });
    const body = '{"name":"Bella","categoryId":1}';
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json`;
    const received = await Promise.all(
      Array.from({ length: 8 }, async () => {
        // As much as one read takes.
        const socket = await connection(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`.repeat(300));
        let text = '';
        socket.setEncoding('latin1').on('data', (part: string) => (text += part));
        return { read: once(socket, 'close').then(() => text.match(/HTTP\/1\.1 201 /g)?.length ?? 0) };
      }),
    );
    await delay(300);
    const { code } = await stop();
    const answered = await Promise.all(received.map(({ read }) => read));
    expect([code, answered]).toEqual(code === 0 ? [0, Array<number>(8).fill(300)] : [1, expect.anything()]);
  });

  it('answers whoever connects while the machine is too busy to run it', async () => {
    for (let i = 0; i < 3; i++) {
      await start({});
      const pids = [service.pid, ...service.workers];
      const ended = service.end('SIGTERM');
      await delay(10);
      for (const pid of pids) process.kill(pid, 'SIGSTOP');
      const requests = Array.from({ length: 20 }, () => connection(LIST));
      const received = requests.map(statusLine);
      await Promise.all(requests);
      await delay(200);
      for (const pid of pids) process.kill(pid, 'SIGCONT');
      expect(await Promise.all(received)).toEqual(Array<string>(20).fill('HTTP/1.1 200 OK'));
      expect(await ended).toBe(0);
    }
  });

  it('answers all that was sent before the signal, though it has read nothing of it', async () => {
    await start({});
    const pids = [service.pid, ...service.workers];
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    const requests = Array.from({ length: 50 }, () => connection(LIST));
    const received = requests.map(statusLine);
    await Promise.all(requests);
    const stopped = stop();
    for (const pid of pids) process.kill(pid, 'SIGCONT');
    expect(await Promise.all(received)).toEqual(requests.map(() => 'HTTP/1.1 200 OK'));
    expect((await stopped).code).toBe(0);
  });

  it('exits with 0 while it starts', async () => {
    for (const wait of [0, 20, 50, 100, 200]) {
      const file = `${wait}.sqlite`;
      const variables = { DATABASE_URL: `sqlite:./${file}`, WEB_CONCURRENCY: workers, API_KEYS: KEY };
      const starting = folder().start({ NODE_ENV: 'production', ...variables });
      while (!existsSync(join(folder().path, file))) await delay(1);
      await delay(wait);
      expect(await starting.end('SIGTERM')).toBe(0);
    }
  });
});
