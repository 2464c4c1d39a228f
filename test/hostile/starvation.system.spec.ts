import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { Connection } from '../support/connection.js';
import { pause } from '../support/ledger.js';
import { bytes, get, post, rawRequest } from '../support/raw-requests.js';
import { ServiceUnderAttack } from './service-under-attack.js';

/** The most memory that any process may ever take, in MB. */
const MEMORY = 250;

/** A createPet up to its body, framed by this header line. */
const head = (framing: string): string =>
  rawRequest('POST /v1/pets', ['KEY', 'Content-Type: application/json', framing]);

const postOf = (body: string): string => head(`Content-Length: ${body.length}`) + body;

/** Texts as long as they may be, which must cost no more than their length. */
const LONG: readonly (readonly [what: string, request: string])[] = [
  ['authority of a target', get(`http://${'a'.repeat(12_200)}?#`)],
  ['target of escapes', get(`/${'%41'.repeat(4_000)}`)],
  ['query of one name', get(`/v1/pets?${'limit=1&'.repeat(1_500)}`)],
  ['cursor', get(`/v1/pets?cursor=${'a'.repeat(12_000)}`)],
  ['Host of escapes', get('/v1/pets').replace('Host: x', `Host: ${'%41'.repeat(5_000)}%`)],
  ['Authorization', rawRequest('GET /v1/pets', [`Authorization: Bearer a${'='.repeat(15_000)}!`])],
  ['Accept', get('/v1/pets', `Accept: text/html;q${' '.repeat(15_000)}x`)],
  ['Connection', get('/v1/pets', `Connection: ${'close '.repeat(2_500)}x`)],
  ['Range', get('/docs/swagger-ui.css', `Range: bytes=${'0-1,'.repeat(3_800)}`)],
  ['Content-Type', post('x').replace('application/json', `application/json;charset=${' '.repeat(15_500)}"`)],
  ['body of unknown fields', postOf(`{${Array.from({ length: 5_000 }, (_, i) => `"n${i}e":1,`).join('')}"a":1}`)],
  ['body of nested objects', postOf(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`)],
  ['name', post(`${' '.repeat(60_000)}\0`)],
];

const CHUNKED = 'Transfer-Encoding: chunked';
const GARBAGE = Buffer.alloc(1 << 20, 'x');

/** What clients send who never read a response: how many clients, first this, then that again and again. */
const FLOODS: readonly (readonly [clients: number, what: string, first: string, flood?: Buffer])[] = [
  // Node parses all requests of a packet at once, here 2,500: docs/internals/edge.md.
  [
    10,
    'files and errors',
    get('/docs/swagger-ui-bundle.js').repeat(8) + 'GET / HTTP/1.1\nHost:\n\n'.repeat(2_600),
    undefined,
  ],
  [200, '100 lists', get('/v1/pets?limit=20').repeat(100), undefined],
  [200, 'a body in chunks of one byte', head(CHUNKED) + '1\n \n'.repeat(15_000), undefined],
  [1, 'garbage behind lists', get('/v1/pets?limit=100').repeat(150), GARBAGE],
  [1, 'a body that never ends', head('Content-Length: 1000000000000'), GARBAGE],
  [1, 'garbage behind Upgrade', get('/v1/pets', 'Connection: Upgrade', 'Upgrade: x'), GARBAGE],
  [1, 'lists that never end', '', bytes(get('/v1/pets?limit=100').repeat(5_000))],
  [1, 'files that never end', '', bytes(get('/docs/swagger-ui-bundle.js').repeat(1_000))],
  [1, 'requests without a key that never end', '', bytes(rawRequest('GET /v1/pets', []).repeat(10_000))],
];

/** How much of a flood is sent, in bytes. */
const FLOOD = 200 << 20;

/** Writes the flood until the service closes the connection, or reads nothing more for a second. */
async function pour(connection: Connection, flood: Buffer): Promise<void> {
  for (let sent = 0; sent < FLOOD && !connection.socket.destroyed; sent += flood.length) {
    const written = new Promise((resolve) => connection.socket.write(flood, () => resolve(true)));
    if ((await Promise.race([written, connection.closed, pause(1_000)])) !== true) return;
  }
}

/** Requests that Node hands over in other ways, or whose responses take long. */
const RESET: readonly (readonly [what: string, request: string])[] = [
  ['CONNECT', `CONNECT x:1 HTTP/1.1\nHost: x\n\n${'x'.repeat(100_000)}`],
  ['CONNECT behind a POST', `${post('x')}CONNECT x:1 HTTP/1.1\nHost: x\n\n`],
  ['large files', get('/docs/swagger-ui-bundle.js').repeat(10)],
];

describe.each([1, 2])('a service of %i process(es)', (workers) => {
  let service: ServiceUnderAttack;

  // One for each case: it is the most memory that counts.
  beforeEach(async () => {
    service = await ServiceUnderAttack.start(workers);
    for (let i = 0; i < 100; i++) await service.ask(post('a'.repeat(250)));
  });

  afterEach(async () => {
    try {
      await service.expectUnharmed(MEMORY);
    } finally {
      await service.remove();
    }
  });

  it.each(LONG)('answers others while clients send a long %s', async (_what, request) => {
    const attackers = Array.from({ length: 20 }, async () => {
      const response = await service.ask(request);
      expect(response.status).toBeLessThan(500);
      // The request is not repeated in the response.
      if (response.status >= 400) expect(response.body.length).toBeLessThan(10_000);
    });
    await service.expectAliveWhile(Promise.all(attackers));
  });

  it('answers others while a client pipelines', async () => {
    const [connection, other] = [await service.open(), await service.open()];
    let answered = 0;
    const count = async () => {
      for (; answered < 65; answered++) await connection.answer();
    };
    connection.write(bytes('GET /x HTTP/1.1\nHost:\n\n'.repeat(65)));
    other.write(bytes(get('/health/live')));
    const counting = count();
    expect((await other.answer()).status).toBe(200);
    // Not behind all that came before: each connection has its turn.
    expect(answered).toBeLessThan(50);
    await counting;
    for (const each of [connection, other]) each.destroy();
  });

  it.each(FLOODS)(
    'holds little memory for %i client(s) that do not read and send %s',
    async (clients, _what, first, flood) => {
      const connections = await Promise.all(Array.from({ length: clients }, () => service.open()));
      for (const connection of connections) {
        connection.socket.pause();
        connection.write(bytes(first));
        if (flood) await pour(connection, flood);
      }
      if (!flood) await pause(1_500);
      for (const connection of connections) connection.destroy();
      // What has been read is still handled; here it is the memory that matters.
      for (let i = 0; i < 20 && (await service.live()) > 250; i++) await pause(500);
    },
    60_000,
  );

  it.each(RESET)('survives %s, then a reset', async (_what, request) => {
    for (let i = 0; i < 30; i++) {
      const connection = await service.open(request);
      // Before it is read, while it is handled, and behind its response.
      await pause((i % 3) * 5);
      connection.socket.resetAndDestroy();
    }
  });

  // Workers do not recover: docs/internals/edge.md.
  if (workers > 1) return;
  it('survives more connections than it has descriptors for', async () => {
    const [pid] = service.pids as [number];
    const used = readdirSync(`/proc/${pid}/fd`).length;
    execFileSync('prlimit', ['--pid', String(pid), `--nofile=${used + 8}:`]);
    try {
      const flood = await Promise.all(Array.from({ length: 60 }, () => Connection.open(service.port)));
      await pause(300);
      for (const connection of flood) connection.destroy();
    } finally {
      execFileSync('prlimit', ['--pid', String(pid), '--nofile=4096:']);
    }
    const deadline = performance.now() + 5_000;
    while (!(await service.live().catch(() => undefined))) expect(performance.now()).toBeLessThan(deadline);
  });
});
