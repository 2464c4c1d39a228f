import { Server, Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Connection } from '../../support/connection.js';
import { expectError } from '../../support/error-body.js';
import { heapUsed } from '../../support/heap-used.js';
import { Service } from '../../support/service.js';

const TIMES = { HEADERS_TIMEOUT: '200', REQUEST_TIMEOUT: '400', KEEP_ALIVE_TIMEOUT: '300' };

let service: Service;

beforeAll(async () => {
  service = await Service.start(TIMES);
});

afterAll(() => service.stop());

/** Sends a byte now and then until the connection is closed. */
function drip(connection: Connection, byte: string): void {
  const timer = setInterval(() => connection.write(byte), 20);
  void connection.closed.then(() => clearInterval(timer));
}

const head = (more: string) => `POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}`;

describe('a slow client', () => {
  it.each([
    ['sends nothing', ''],
    ['stops in the request line', 'GET /v1/p'],
    ['stops in the header section', 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-A: '],
  ])('that %s is cut with 408', async (_what, text) => {
    const connection = await Connection.open(service.port);
    connection.write(text);
    expectError(await connection.answer(), 'request_timeout');
    await connection.closed;
  });

  it('that drips its headers is cut with 408', async () => {
    const connection = await Connection.open(service.port);
    connection.write('GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-A: ');
    drip(connection, 'a');
    expectError(await connection.answer(), 'request_timeout');
    await connection.closed;
  });

  it.each([
    ['stops in the body', 'Content-Length: 100\r\n\r\n{', undefined],
    ['drips its body', 'Content-Length: 60000\r\n\r\n{', ' '],
    ['drips its chunks', 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n', '1\r\n \r\n'],
  ])('that %s is cut with 408, which carries its X-Request-Id', async (_what, rest, byte) => {
    const connection = await Connection.open(service.port);
    connection.write(head(`X-Request-Id: slow\r\nAuthorization: Bearer ${service.key}\r\n${rest}`));
    if (byte !== undefined) drip(connection, byte);
    const answer = await connection.answer();
    expectError(answer, 'request_timeout');
    expect(answer.header('X-Request-Id')).toBe('slow');
    expect(answer.header('Connection')).toBe('close');
    await connection.closed;
    expect(connection.rest).toBe('');
  });

  it('that was answered already, and drips on, is cut without a second answer', async () => {
    const connection = await Connection.open(service.port);
    connection.write(head('Content-Length: 60000\r\n\r\n{'));
    drip(connection, ' ');
    expectError(await connection.answer(), 'api_key_missing');
    await connection.closed;
    expect(connection.rest).toBe('');
  });

  it('that leaves the connection open behind an answer is cut without a second one', async () => {
    const connection = await Connection.open(service.port);
    connection.write(`GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n\r\n`);
    expect((await connection.answer()).status).toBe(200);
    await connection.closed;
    expect(connection.rest).toBe('');
  });
});

describe('a client that never reads', () => {
  it('does not hold memory, and is cut', async () => {
    const deaf = await Service.start();
    for (let i = 0; i < 100; i++) await deaf.add({ name: '🐕'.repeat(255), categoryId: i });
    const page = Buffer.byteLength((await deaf.send('/v1/pets?limit=100')).body);
    const sockets: Socket[] = [];
    const server = deaf.app.getHttpServer() as Server;
    // Not before the pets are there, which takes its time on a busy machine.
    Object.assign(server, { timeout: 300 });
    server.on('connection', (socket: Socket) => sockets.push(socket));
    const request = `GET /v1/pets?limit=100 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${deaf.key}\r\n\r\n`;
    const clients = await Promise.all(Array.from({ length: 4 }, () => Connection.open(deaf.port)));
    for (const { socket } of clients) {
      socket.pause();
      // All its answers together would be some 1.7 GB.
      socket.write(request.repeat(4_000));
    }
    let held = 0;
    while (sockets.length < clients.length || sockets.some((socket) => !socket.destroyed)) {
      for (const socket of sockets) held = Math.max(held, socket.writableLength);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(held).toBeGreaterThan(0);
    // What one packet of requests, 64 KiB of them, has for answers.
    expect(held).toBeLessThan((page + 1_000) * (65_536 / request.length + 16));
    for (const client of clients) client.destroy();
    await deaf.stop();
  });
});

describe('clients that have been answered, and rest', () => {
  it('have none of their requests held', async () => {
    const resting = await Service.start();
    const ask = async (length: number) => {
      const before = heapUsed();
      const clients = await Promise.all(Array.from({ length: 300 }, () => Connection.open(resting.port)));
      for (const client of clients) {
        client.write(`GET /v1/pets HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(length)}\r\n\r\n`);
        await client.answer();
      }
      const held = heapUsed() - before;
      for (const client of clients) client.destroy();
      await Promise.all(clients.map(({ closed }) => closed));
      return held;
    };
    await ask(1);
    // All that was sent would be some 4 MB.
    expect((await ask(14_000)) - (await ask(1))).toBeLessThan(1_000_000);
    await resting.stop();
  });
});
