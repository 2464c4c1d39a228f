import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { Connection } from '../support/connection.js';
import { newPetJson } from '../support/fields.js';
import { pause } from '../support/ledger.js';
import { bytes, get, peakMemory, post, postHead, ServiceUnderAttack } from './service-under-attack.js';

/** The most memory that any process may ever take, in MB. */
const MEMORY = 250;

const CHUNKED = 'POST /v1/pets HTTP/1.1\nHost: x\nKEY\nContent-Type: application/json\nTransfer-Encoding: chunked\n\n';

const withField = (field: string, request = get('/v1/pets')): string => request.replace('\n', `\n${field}\n`);

/** Texts as long as they may be, which must cost no more than their length. */
const LONG: readonly (readonly [what: string, request: string])[] = [
  ['authority of a target', get(`http://${'a'.repeat(12_200)}?#`)],
  ['target of escapes', get(`/${'%41'.repeat(4_000)}`)],
  ['query of one name', get(`/v1/pets?${'limit=1&'.repeat(1_500)}`)],
  ['cursor', get(`/v1/pets?cursor=${'a'.repeat(12_000)}`)],
  ['Host of escapes', get('/v1/pets').replace('Host: x', `Host: ${'%41'.repeat(5_000)}%`)],
  ['Authorization', get('/v1/pets').replace('KEY', `Authorization: Bearer a${'='.repeat(15_000)}!`)],
  ['Accept', withField(`Accept: text/html;q${' '.repeat(15_000)}x`)],
  ['Connection', withField(`Connection: ${'close '.repeat(2_500)}x`)],
  ['Range', withField(`Range: bytes=${'0-1,'.repeat(3_800)}`, get('/docs/swagger-ui.css'))],
  ['Content-Type', post().replace('application/json', `application/json;charset=${' '.repeat(15_500)}"`)],
  ['body of unknown fields', post(`{${Array.from({ length: 5_000 }, (_, i) => `"n${i}e":1,`).join('')}"a":1}`)],
  ['number with a large exponent', post(newPetJson({ categoryId: `1e${'9'.repeat(65_000)}` }))],
  ['fraction', post(newPetJson({ categoryId: `1.${'0'.repeat(65_000)}1` }))],
  ['body of brackets', post('['.repeat(65_000))],
  ['body of nested objects', post(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`)],
  ['name', post(newPetJson({ name: `"${' '.repeat(65_000)}\\u0000"` }))],
];

const UNREAD = `${get('/docs/swagger-ui-bundle.js').repeat(8)}${'GET / HTTP/1.1\nHost:\n\n'.repeat(2_600)}`;

/** What clients send who never read a response: first this, then that again and again. */
const FLOODS: readonly (readonly [what: string, first: string, flood: Buffer])[] = [
  ['garbage behind lists', get('/v1/pets?limit=100').repeat(150), Buffer.alloc(1 << 20, 'x')],
  ['a body that never ends', postHead(1e12), Buffer.alloc(1 << 20, 'x')],
  ['garbage behind Upgrade', withField('Connection: Upgrade\nUpgrade: x'), Buffer.alloc(1 << 20, 'x')],
  ['lists that never end', '', bytes(get('/v1/pets?limit=100').repeat(5_000))],
  ['files that never end', '', bytes(get('/docs/swagger-ui-bundle.js').repeat(1_000))],
  ['requests that never end, without a key', '', bytes('GET /v1/pets HTTP/1.1\nHost: x\n\n'.repeat(10_000))],
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

/** Requests that end a connection in other ways than by a response. */
const RESET: readonly (readonly [what: string, request: string])[] = [
  ['CONNECT', `CONNECT x:1 HTTP/1.1\nHost: x\n\n${'x'.repeat(100_000)}`],
  ['CONNECT behind a POST', `${post()}CONNECT x:1 HTTP/1.1\nHost: x\n\n`],
  ['a POST to upgrade', `${withField('Connection: Upgrade\nUpgrade: h2c', post())}x`],
  ['what is no HTTP', 'x'.repeat(1_000)],
  ['half a body', `${postHead(50)}{`],
  ['large files', get('/docs/swagger-ui-bundle.js').repeat(10)],
];

describe.each([1, 2])('a service of %i process(es)', (workers) => {
  let service: ServiceUnderAttack;

  beforeAll(async () => {
    service = await ServiceUnderAttack.start(workers);
    for (let i = 0; i < 100; i++) await service.ask(post(newPetJson({ name: `"${'a'.repeat(250)}"` })));
  }, 120_000);

  afterEach(async () => {
    await service.expectUnharmed();
    for (const pid of service.pids) expect(peakMemory(pid)).toBeLessThan(MEMORY);
  });

  afterAll(() => service.remove());

  /** Opens so many connections that never read, and send this; closes them after a while. */
  const unread = async (count: number, text: string) => {
    const opened = Array.from({ length: count }, async () => {
      const connection = await service.open();
      connection.socket.pause();
      connection.write(bytes(text));
      return connection;
    });
    const connections = await Promise.all(opened);
    await pause(1_500);
    for (const connection of connections) connection.destroy();
    // What has been read is still handled; here it is the memory that matters.
    for (let i = 0; i < 20 && (await service.live()) > 250; i++) await pause(500);
  };

  it.each(LONG)('answers others while clients send a long %s', async (_what, request) => {
    const attackers = Array.from({ length: 20 }, async () => {
      const response = await service.ask(request);
      expect(response.status).toBeLessThan(500);
      // The request is not repeated in the response.
      if (response.status >= 400) expect(response.body.length).toBeLessThan(10_000);
    });
    await service.expectAliveWhile(Promise.all(attackers));
  });

  it('answers others while clients connect again and again', async () => {
    const end = performance.now() + 3_000;
    const attackers = Array.from({ length: 8 }, async () => {
      while (performance.now() < end) {
        await service.ask(get(`http://${'a'.repeat(12_200)}?#`));
        await pause(5);
      }
    });
    await service.expectAliveWhile(Promise.all(attackers));
  });

  it('answers others while a client pipelines', async () => {
    const [connection, other] = [await service.open(), await service.open()];
    let answered = 0;
    const count = async () => {
      for (; answered < 200; answered++) await connection.answer();
    };
    connection.write(bytes('GET /x HTTP/1.1\nHost:\n\n'.repeat(200)));
    other.write(bytes(get('/health/live')));
    const counting = count();
    expect((await other.answer()).status).toBe(200);
    // Not behind all that came before: each connection has its turn.
    expect(answered).toBeLessThan(150);
    await counting;
    for (const each of [connection, other]) each.destroy();
  });

  it('holds little memory for 200 clients that pipeline and do not read', () => unread(200, UNREAD), 60_000);

  it(
    'holds little memory for 60 bodies in chunks of one byte',
    () => unread(60, CHUNKED + '1\n \n'.repeat(60_000)),
    60_000,
  );

  it.each(FLOODS)(
    'holds little memory for a client that does not read and sends %s',
    async (_what, first, flood) => {
      const connection = await service.open();
      connection.socket.pause();
      connection.write(bytes(first));
      await pour(connection, flood);
      connection.destroy();
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

  it('survives more connections than it has descriptors for', async () => {
    for (const pid of service.pids.slice(-workers)) {
      const used = readdirSync(`/proc/${pid}/fd`).length;
      execFileSync('prlimit', ['--pid', String(pid), `--nofile=${used + 8}:`]);
    }
    try {
      const flood = await Promise.all(Array.from({ length: 60 }, () => Connection.open(service.port)));
      await pause(300);
      for (const connection of flood) connection.destroy();
    } finally {
      for (const pid of service.pids) execFileSync('prlimit', ['--pid', String(pid), '--nofile=4096:']);
    }
    const deadline = performance.now() + 5_000;
    while (!(await service.live().catch(() => undefined))) expect(performance.now()).toBeLessThan(deadline);
  });
});
