import { describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { stat } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { PetService } from '../../src/application/pets/pet.service.js';
import { Connection } from '../support/connection.js';
import { expectError } from '../support/error-body.js';
import { bytes, get, KEY, post, rawRequest } from '../support/raw-requests.js';
import { Service } from '../support/service.js';
import { sqlite } from '../support/stores.js';
import { until } from '../support/working-folder.js';
import { type ParsedPet, walk } from './requests.js';

// On SQLite, where a create is answered only when its commit is on disk.
const service = Service.forSuite({ API_KEYS: KEY }, sqlite);

let names = 0;
const newName = () => `pet-${++names}`;

/** The names of all stored pets, oldest first. */
async function stored(): Promise<string[]> {
  // Whatever was handled before this pet is committed with it at the latest.
  await Connection.ask(service.port, bytes(post('the last one')));
  return (await walk(service, '/v1/pets?limit=100')).map(({ name }) => name).reverse();
}

const petOf = ({ body }: { body: string }) => JSON.parse(body) as ParsedPet;

/** What the HTTP client of Java sends with every request. */
const H2C = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAEAAEAAAAIAAAAB'];

/** Requests whose response is the last of the connection, and the status of the response. */
const LAST: readonly (readonly [what: string, request: string, status: number])[] = [
  ['a GET with Connection: close', get('/v1/pets', 'Connection: close'), 200],
  ['a GET with close among other options', get('/v1/pets', 'Connection: x, Close'), 200],
  ['a POST with Connection: close', post('last', 'Connection: close'), 201],
  ['a GET of HTTP/1.0', get('/v1/pets').replace('1.1', '1.0'), 200],
  // Without a body, Node closes what HTTP/1.0 would keep open.
  [
    'an OPTIONS of HTTP/1.0 with keep-alive',
    rawRequest('OPTIONS /v1/pets', ['KEY', 'Connection: keep-alive']).replace('1.1', '1.0'),
    204,
  ],
  ['a health check with Connection: close', rawRequest('GET /health/ready', ['Connection: close']), 200],
  ['a file of the docs with Connection: close', rawRequest('GET /docs', ['Connection: close']), 200],
  ['a request without a key and with Connection: close', rawRequest('GET /v1/pets', ['Connection: close']), 401],
  ['a request without a Host', get('/v1/pets').replace('Host: x\n', ''), 400],
  // Node drops what follows them in their packet.
  ['a request to upgrade', get('/v1/pets', ...H2C), 200],
  ['a POST that asks to upgrade', post('upgrade', ...H2C), 201],
];

describe('behind a response with Connection: close', () => {
  it.each(LAST)('no request is handled: %s', async (_what, request, status) => {
    const [pipelined, late] = [newName(), newName()];
    const connection = await Connection.open(service.port);
    connection.socket.allowHalfOpen = true;
    connection.write(bytes(request + post(pipelined) + post('x'.repeat(5_000_000))));
    const response = await connection.answer();
    expect([response.status, response.header('Connection')]).toEqual([status, 'close']);
    expect(response.header('Upgrade')).toBeUndefined();
    if (!connection.socket.readableEnded) await once(connection.socket, 'end');
    connection.socket.end(bytes(post(late)));
    expect([await connection.untilClosed(), connection.broke]).toEqual(['', false]);
    expect(await stored()).not.toEqual(expect.arrayContaining([expect.stringMatching(`^(${pipelined}|${late})$`)]));
  });

  it.each([
    ['an error of HTTP/1.1', get('/v1/nothing'), 404, ''],
    ['HTTP/1.0 with keep-alive', get('/v1/pets', 'Connection: keep-alive').replace('1.1', '1.0'), 200, ''],
    // 64 KiB, the size up to which it is discarded.
    ['a body that is not wanted', rawRequest('POST /v1/pets', ['Content-Length: 65536']), 401, ' '.repeat(65_536)],
  ])('only: the connection survives %s', async (_what, request, status, rest) => {
    const name = newName();
    const connection = await Connection.send(service.port, bytes(request));
    expect((await connection.answer()).status).toBe(status);
    connection.write(bytes(rest + post(name)));
    expect(petOf(await connection.answer())).toMatchObject({ name });
    connection.destroy();
  });
});

describe('requests to upgrade', () => {
  /** Sends each part in a packet of its own, when the service has read the one before. */
  async function send(connection: Connection, ...parts: readonly Buffer[]): Promise<void> {
    for (const part of parts) {
      connection.write(part);
      await delay(20);
    }
  }

  it('share a connection with others, whether they have a body or not, and however it arrives', async () => {
    const connection = await Connection.open(service.port);
    for (let i = 0; i < 15; i++) {
      const name = `upgrade-${i}`;
      const create = bytes(post(name, ...H2C));
      const end = create.length - 10 * (i % 3);
      await send(connection, create.subarray(0, end), create.subarray(end));
      expect(petOf(await connection.answer())).toMatchObject({ name });
      connection.write(bytes(get('/v1/pets?limit=1', ...H2C)));
      expect(JSON.parse((await connection.answer()).body)).toMatchObject([{ name }]);
      connection.write(bytes(get('/v1/pets?limit=1', ...(i % 2 ? H2C : []))));
      expect((await connection.answer()).header('Connection')).not.toBe('close');
    }
    connection.destroy();
  });

  const create = bytes(post('upgrade', ...H2C));
  const [head, body] = [create.subarray(0, -10), create.subarray(-10)];

  it.each([
    ['follows the body in its packet', [head, Buffer.concat([body, bytes(post('dropped'))])], 201],
    ['begins in the packet of the body', [head, Buffer.concat([body, bytes('POST')])], 201],
    [
      'may follow a body that is still to arrive',
      [bytes(post('upgrade', ...H2C).replace('KEY\n', '')).subarray(0, -1)],
      401,
    ],
  ])('close the connection if another request %s', async (_where, parts, status) => {
    const connection = await Connection.open(service.port);
    await send(connection, ...parts);
    const response = await connection.answer();
    expect([response.status, response.header('Connection')]).toEqual([status, 'close']);
    expect(await connection.untilClosed()).toBe('');
    expect(await stored()).not.toContain('dropped');
  });
});

describe('pipelined requests', () => {
  it('each see the effect of those before', async () => {
    const connection = await Connection.send(service.port, bytes(post(newName())));
    let { id } = petOf(await connection.answer());
    for (let i = 0; i < 5; i++) {
      const name = newName();
      connection.write(bytes(post(name) + get(`/v1/pets/${++id}`) + get('/v1/pets?limit=1')));
      expect(petOf(await connection.answer())).toMatchObject({ id, name });
      expect(petOf(await connection.answer())).toMatchObject({ id, name });
      expect(JSON.parse((await connection.answer()).body)).toMatchObject([{ id, name }]);
    }
    connection.destroy();
  });

  it('wait in the queue while one before them is being handled', async () => {
    const pets = service.app.get(PetService);
    let release: (() => void) | undefined;
    const list = jest.spyOn(pets, 'list').mockImplementationOnce(() => {
      return new Promise((resolve) => (release = () => resolve({ pets: [] })));
    });
    const check = jest.spyOn(pets, 'ping');
    const connection = await Connection.send(service.port, bytes(get('/v1/pets?limit=77')));
    await until(() => release !== undefined);
    connection.write(bytes(rawRequest('GET /health/ready', [])));
    // By the time that another connection is answered, the request has arrived.
    for (let i = 0; i < 3; i++) await Connection.ask(service.port, bytes(rawRequest('GET /health/live', [])));
    expect(check).not.toHaveBeenCalled();
    release?.();
    for (const body of ['[]', '{"status":"ok"}'])
      expect(await connection.answer()).toMatchObject({ status: 200, body });
    connection.destroy();
    for (const spy of [list, check]) spy.mockRestore();
  });

  it.each([
    ['what is not HTTP', 'hello?\n\n', 400],
    ['no Host', get('/v1/pets').replace('Host: x\n', ''), 400],
    ['a request to upgrade', get('/v1/pets', ...H2C), 200],
    ['no key', rawRequest('GET /v1/pets', []), 401],
    ['a health check', rawRequest('GET /health/live', []), 200],
    ['a file of the docs', rawRequest('GET /docs', []), 200],
  ])('are answered in order: %s behind a create', async (_what, request, status) => {
    const name = newName();
    const connection = await Connection.send(service.port, bytes(post(name) + request));
    expect(petOf(await connection.answer())).toMatchObject({ name });
    expect((await connection.answer()).status).toBe(status);
    connection.destroy();
  });

  it('beyond the first and 64 pending ones are not answered, and have no effect', async () => {
    const sent = Array.from({ length: 100 }, (_, i) => `many-${i}`);
    const connection = await Connection.send(service.port, bytes(sent.map((name) => post(name)).join('')));
    const answered = sent.slice(0, 65);
    for (const name of answered) expect(petOf(await connection.answer())).toMatchObject({ name });
    expect(await connection.untilClosed()).toBe('');
    expect((await stored()).filter((name) => name.startsWith('many-'))).toEqual(answered);
  });

  it('may be sent again on a connection that has answered all of them', async () => {
    const connection = await Connection.open(service.port);
    for (let i = 0; i < 3; i++) {
      connection.write(bytes(rawRequest('GET /openapi.json', []).repeat(20) + post(newName())));
      for (let j = 0; j < 20; j++) expect((await connection.answer()).status).toBe(200);
      expect((await connection.answer()).status).toBe(201);
    }
    connection.destroy();
  });
});

describe('a client that half-closes', () => {
  it.each(['/v1/pets', '/health/ready', '/docs', '/openapi.json'])('behind GET %s is answered', async (path) => {
    const connection = await Connection.open(service.port);
    connection.socket.end(bytes(get(path)));
    expect((await connection.answer()).status).toBe(200);
    await connection.closed;
  });

  it('behind several requests is answered, each of them', async () => {
    const sent = [newName(), newName(), newName()];
    const connection = await Connection.open(service.port);
    connection.socket.end(bytes(sent.map((name) => post(name) + get('/v1/pets?limit=1')).join('')));
    for (const name of sent) {
      expect(petOf(await connection.answer())).toMatchObject({ name });
      expect(JSON.parse((await connection.answer()).body)).toMatchObject([{ name }]);
    }
    await connection.closed;
  });

  // Node's parser reports nothing wrong with a body that follows an Upgrade.
  it.each([
    ['', []],
    [' of a request to upgrade', H2C],
  ])('within a body%s gets 400 behind the responses before, and stores nothing of it', async (_, headers) => {
    const [whole, cut] = [newName(), newName()];
    const connection = await Connection.open(service.port);
    connection.socket.end(bytes(post(whole) + post(cut, ...headers)).subarray(0, -1));
    expect((await connection.answer()).status).toBe(201);
    expectError(await connection.answer(), 'bad_request');
    await connection.closed;
    const found = await stored();
    expect(found).toContain(whole);
    expect(found).not.toContain(cut);
  });
});

it.each([
  ['the database has answered', { STATEMENT_TIMEOUT: '60000' }, 63_000],
  ['it is answered with 408', { REQUEST_TIMEOUT: '60000' }, 61_000],
])('a connection on which nothing happens is not closed before %s', async (_when, settings, least) => {
  const patient = await Service.start(settings);
  expect((patient.app.getHttpServer() as Server).timeout).toBeGreaterThan(least);
  await patient.stop();
});

it('a client that does not read makes the service hold a few MB at most, delays nobody else, and is answered once it reads', async () => {
  const server = service.app.getHttpServer() as Server;
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const connection = await Connection.open(service.port);
  const [held] = await accepted;
  connection.socket.pause();
  // More than 1 MB each, so that all responses would be some 90 MB.
  connection.write(bytes(rawRequest('GET /docs/swagger-ui-bundle.js', []).repeat(60)));
  let [most, before] = [0, -1];
  // Until the buffers of the operating system are full as well.
  while (held.writableLength === 0 || held.bytesWritten !== before) {
    before = held.bytesWritten;
    for (let i = 0; i < 20; i++) {
      most = Math.max(most, held.writableLength);
      await delay(2);
    }
    expect((await service.send('/v1/pets?limit=1')).status).toBe(200);
  }
  expect(most).toBeLessThan(4_000_000);
  connection.socket.resume();
  for (let i = 0; i < 10; i++) expect((await connection.answer()).status).toBe(200);
  connection.destroy();
});

it('a connection whose response cannot be sent behind a CONNECT is closed', async () => {
  const other = await Service.start();
  (other.app.getHttpServer() as Server).timeout = 200;
  const file = rawRequest('GET /docs/swagger-ui-bundle.js', []);
  const connection = await Connection.send(other.port, bytes(`${file.repeat(5)}CONNECT x:1 HTTP/1.1\nHost: x\n\n`));
  await connection.closed;
  await other.stop();
});

it.each(['/docs/swagger-ui-bundle.js', '/openapi.json'])(
  'a graceful shutdown waits for a slow client of %s',
  async (path) => {
    const other = await Service.start({ STOP_TIMEOUT: '600000' });
    const server = other.app.getHttpServer() as Server;
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    let taken = 0;
    server.on('request', () => taken++);
    const connection = await Connection.open(other.port);
    const [held] = await accepted;
    connection.socket.pause();
    let requests = 0;
    // Until the buffers of the operating system are full. What the service has not read when it stops, it need not answer.
    for (; held.writableLength === 0; requests += 10) {
      connection.write(bytes(rawRequest(`GET ${path}`, []).repeat(10)));
      await until(() => taken === requests + 10);
      await delay(100);
    }
    const stopped = other.stop();
    // By now idle connections are closed.
    await delay(1_500);
    connection.socket.resume();
    for (let i = 0; i < requests; i++) expect((await connection.answer()).status).toBe(200);
    expect(await connection.untilClosed()).toBe('');
    await stopped;
  },
);

it('a graceful shutdown does not wait for a connection on which nothing has been sent', async () => {
  const other = await Service.start({ STOP_TIMEOUT: '600000' });
  const connection = await Connection.open(other.port);
  await other.stop();
  await connection.closed;
});

it('a connection that arrives as the service stops listening is refused or answered, even if the event loop is busy', async () => {
  const stopping = await Service.start({ API_KEYS: KEY });
  const { port } = stopping;
  const outcomes: Promise<unknown>[] = [];
  const ask = () =>
    Connection.ask(port, bytes(get('/v1/pets'))).then(
      ({ status }) => status,
      (error: NodeJS.ErrnoException) => error.code,
    );
  // Each event keeps the event loop busy for 2 ms. With every second one a connection arrives, too late for the server
  // to accept it in the same turn.
  const keepBusy = (events: number) => {
    if (events === 0) return;
    stat('.', () => {
      keepBusy(events - 1);
      if (events % 2 === 0) outcomes.push(ask());
      const until = performance.now() + 2;
      while (performance.now() < until);
    });
  };
  keepBusy(20);
  await stopping.stop();
  const unexpected = (await Promise.all(outcomes)).filter((each) => each !== 200 && each !== 'ECONNREFUSED');
  expect(unexpected).toEqual([]);
});
