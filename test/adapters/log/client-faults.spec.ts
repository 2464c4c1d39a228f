import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { IdempotencyInProgress } from '../../../src/application/errors.js';
import { PetRepository } from '../../../src/application/pets/pet-repository.port.js';
import { CHOICES, makeRequests, Random } from '../../hostile/generated-requests.js';
import { Connection } from '../../support/connection.js';
import { refusedRequests } from '../../support/refused-requests.js';
import { Service } from '../../support/service.js';

/** How long the store takes to add or to find a pet, in milliseconds, so that a fault comes meanwhile. */
const STORE = 10;

/** Who waits is soon refused. */
const VARIABLES = {
  ...{ NODE_ENV: 'production', LOG_LEVEL: 'debug', CORS_ORIGINS: 'https://a.example' },
  ...{ HEADERS_TIMEOUT: '300', REQUEST_TIMEOUT: '600', KEEP_ALIVE_TIMEOUT: '300' },
};

/** How long a client waits before it goes, in milliseconds: less than the store takes, and more. */
const PAUSES = [0, STORE / 2, 50];

/** How long behind one connection the next one is opened, in milliseconds. */
const APART = 4;

/** How a client goes. */
type End = (connection: Connection) => void;

const ENDS: readonly (readonly [how: string, end: End])[] = [
  ['waits', () => undefined],
  ['has sent its end', ({ socket }) => void socket.end()],
  ['resets the connection', ({ socket }) => void socket.resetAndDestroy()],
];

const head = (lines: string) => `POST /v1/pets HTTP/1.1\nHost: x\nContent-Type: application/json\n${lines}\n`;
const BELLA = '{"name":"Bella","categoryId":1}';
const good = head(`KEY\nContent-Length: ${BELLA.length}\n`) + BELLA;
const bad = head('KEY\nContent-Length: 1\n') + '{';
const list = 'GET /v1/pets HTTP/1.1\nHost: x\nKEY\n\n';
const keyless = head('Transfer-Encoding: chunked\n');
const chunked = head('KEY\nTransfer-Encoding: chunked\n');
const upgrade = good.replace('\n', '\nConnection: Upgrade\nUpgrade: h2c\n');
const preflight = keyless
  .replace('POST', 'OPTIONS')
  .replace('\n', '\nOrigin: https://a.example\nAccess-Control-Request-Method: POST\n');
const connect = 'CONNECT x:1 HTTP/1.1\nHost: x\n\n';

/** What clients do wrong besides what one request can have: writes, each but the first sent when the one before is answered. */
const WRITES: readonly (readonly [what: string, ...writes: string[]])[] = [
  ['a bad chunk behind a 401', keyless, 'x\n'],
  ['a bad chunk with what is answered by 401', `${keyless}x\n`],
  ['a bad chunk behind a good one and a 401', `${keyless}2\n{}\n`, 'x\n'],
  ['a bad chunk behind a 413', `${chunked}11170\n${' '.repeat(70_000)}\n`, 'x\n'],
  ['a bad chunk behind a 100', head('KEY\nTransfer-Encoding: chunked\nExpect: 100-continue\n'), 'x\n'],
  ['a bad chunk behind a good one', `${chunked}2\n{}\nx\n`],
  ['no last chunk', `${chunked}${BELLA.length.toString(16)}\n${BELLA}\n`],
  ['a bad trailer behind a 401', `${keyless}2\n{}\n`, '0\nX Y: z\n\n'],
  ['a body that is cut short behind a 401', head('Content-Length: 99\n'), '{'],
  ['a body that is cut short behind a 413', head('KEY\nContent-Length: 70000\n'), '{'],
  ['a body that is cut short behind a 100', head('KEY\nContent-Length: 99\nExpect: 100-continue\n'), '{'],
  ['a body that is cut short behind a 200', list.replace('\n', '\nContent-Length: 99\n'), '{'],
  ['a body that is cut short', head('KEY\nContent-Length: 99\n') + '{'],
  ['a body that is not sent behind a 100', head('KEY\nContent-Length: 99\nExpect: 100-continue\n')],
  ['a body that is too slow', head('KEY\nContent-Length: 99\n') + '{', '"'],
  ['half a head behind an answer', list, 'GET /v1/p'],
  [
    'a bad chunk while a pet is sought',
    `${list.replace('pets', 'pets/1').replace('\n', '\nTransfer-Encoding: chunked\n')}x\n`,
  ],
  ['two requests that are none', 'hello?\n\nhello?\n\n'],
  ['no HTTP behind a bad body', `${bad}hello?\n\n`],
  ['no HTTP behind a body that is being stored', `${good}hello?\n\n`],
  ['no Host behind no Host', 'GET / HTTP/1.1\n\nGET / HTTP/1.1\n\n'],
  ['a bad body behind a bad body', bad + bad],
  ['a bad chunk behind a bad body', `${bad}${chunked}x\n`],
  ['a bad chunk behind a 401, in one write with a request that waits', `${list}${keyless}x\n${list}`],
  ['CONNECT behind what waits', good + good + connect],
  ['CONNECT, and more of it', connect, 'hello?\n\n'],
  ['CONNECT twice', connect + connect],
  ['no HTTP behind an upgrade', `${upgrade}hello?\n\n`],
  ['no HTTP behind an upgrade and its answer', upgrade, 'hello?\n\n'],
  ['an upgrade whose body is cut short', upgrade.slice(0, -2)],
  ['requests behind the last answer', list.replace('\n', '\nConnection: close\n') + list, `${list}hello?\n\n`],
  ['a preflight with a bad body', `${preflight}x\n`],
  ['a bad chunk behind the answer to a preflight', preflight, 'x\n'],
  ['no HTTP behind large answers', 'GET /docs/swagger-ui-bundle.js HTTP/1.1\nHost: x\n\n'.repeat(20) + 'hello?\n\n'],
];

/** Resolves when this has come about, has failed, or takes longer than this, in milliseconds. */
const within = (time: number, event: Promise<unknown>): Promise<unknown> =>
  Promise.race([event.catch(() => undefined), delay(time, undefined, { ref: false })]);

describe('the log at its lowest level', () => {
  let service: Service;
  let log: string[];

  beforeEach(async () => {
    log = [];
    service = await Service.start(VARIABLES, (line) => log.push(line));
    await service.add(BELLA);
    const store = service.app.get(PetRepository);
    const [add, find] = [store.add.bind(store), store.find.bind(store)];
    store.add = async (pet, key) => {
      await delay(STORE);
      if (pet.name === 'in progress') throw new IdempotencyInProgress();
      return add(pet, key);
    };
    store.find = async (id) => {
      await delay(STORE);
      return find(id);
    };
  });

  // A test that has failed has not stopped it.
  afterEach(() => service.stop());

  /** Expects the log to have lines, none of which tells of more than a request, once all connections have ended. */
  async function expectNoError(): Promise<void> {
    await service.stop();
    expect(log.length).toBeGreaterThan(0);
    const tellsMore = (line: string) =>
      line.includes('ERR_') || !['debug', 'info'].includes((JSON.parse(line) as { level: string }).level);
    expect(log.filter(tellsMore)).toEqual([]);
  }

  /** Sends writes on a connection, each when the one before is answered, or nothing came for a moment; ends it, and waits for its close. */
  async function send(writes: readonly (string | Buffer)[], end: End, lastPause: number): Promise<void> {
    const connection = await Connection.open(service.port);
    connection.socket.allowHalfOpen = true;
    for (const [index, bytes] of writes.entries()) {
      if (index > 0) await within(150, connection.answer());
      if (connection.socket.writable) connection.write(bytes);
    }
    await delay(lastPause);
    end(connection);
    await within(1_000, connection.closed);
    connection.destroy();
  }

  const bytes = (text: string) =>
    Buffer.from(text.replaceAll('\n', '\r\n').replaceAll('KEY', `Authorization: Bearer ${service.key}`), 'latin1');

  /** Has conversations one beside the other, as they come. */
  async function sendAll(conversations: readonly (() => Promise<void>)[]): Promise<void> {
    const begun = conversations.map(async (converse, index) => {
      await delay(index * APART);
      await converse();
    });
    await Promise.all(begun);
  }

  it.each(ENDS)('has no error for a request that is refused, if its client %s', async (_how, end) => {
    const requests = await refusedRequests(service);
    requests.push(good.replaceAll('\n', '\r\n').replace('KEY', `Authorization: Bearer ${service.key}`));
    await sendAll(requests.flatMap((request) => PAUSES.map((pause) => () => send([request], end, pause))));
    await expectNoError();
  });

  it.each(ENDS)('has no error for faults of several parts, if their client %s', async (_how, end) => {
    const inProgress = good.replace('Bella', 'in progress').replace(`${BELLA.length}`, `${BELLA.length + 6}`);
    const all = [...WRITES, ['a request that is in progress', inProgress, inProgress] as const];
    await sendAll(all.flatMap(([, ...writes]) => PAUSES.map((pause) => () => send(writes.map(bytes), end, pause))));
    await expectNoError();
  });

  it.each(ENDS)('has no error for generated requests, whole or cut, if their client %s', async (_how, end) => {
    const random = new Random(7);
    let names = 0;
    const source = { random, key: service.key, uniqueName: () => `n-${++names}`, known: [{ id: '1', text: '' }] };
    const conversations = CHOICES.flatMap((choice) => {
      const request = Buffer.concat(makeRequests(source, choice).map((each) => each.bytes));
      const cut = random.int(request.length);
      return [[request], [request.subarray(0, cut)], [request.subarray(0, cut), request.subarray(cut)]];
    });
    await sendAll(conversations.map((writes) => () => send(writes, end, random.pick(PAUSES))));
    await expectNoError();
  });

  it('has no error for a client that asks too often', async () => {
    await service.stop();
    service = await Service.start({ ...VARIABLES, RATE_LIMIT: '1', AUTH_FAILURE_LIMIT: '1' }, (line) => log.push(line));
    const statuses: number[] = [];
    for (const key of [true, true, false, false]) statuses.push((await service.send('/v1/pets', { key })).status);
    expect(statuses).toEqual([200, 429, 401, 429]);
    await expectNoError();
  });
});
