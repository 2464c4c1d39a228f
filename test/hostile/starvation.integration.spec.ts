import { describe, expect, it } from '@jest/globals';
import { Connection } from '../support/connection.js';
import { bytes, get, pause, post, postHead, ServiceUnderAttack, underAttack } from './under-attack.js';

/** Within what time `/health/live` must answer, in milliseconds, whatever goes on. */
const ALIVE = 1_000;

/** How much is sent that nobody wants, in bytes. */
const FLOOD = 500 * 1024 * 1024;

/** Texts as long as they may be, which must cost no more than their length. */
const LONG: readonly (readonly [what: string, request: string])[] = [
  ['an authority of a target', get(`http://${'a'.repeat(12_200)}?#`)],
  ['a target of escapes', get(`/${'%41'.repeat(4_000)}`)],
  ['a target of half escapes', get(`/${'%'.repeat(12_000)}`)],
  ['a target of slashes', get('/'.repeat(12_000))],
  ['a target of dots', get(`/v1/pets${'/..'.repeat(4_000)}`)],
  ['an id', get(`/v1/pets/${'9'.repeat(12_000)}`)],
  ['an id of zeros', get(`/v1/pets/${'0'.repeat(12_000)}x`)],
  ['a query of names', get(`/v1/pets?${'a&'.repeat(6_000)}`)],
  ['a query of one name', get(`/v1/pets?${'limit=1&'.repeat(1_500)}`)],
  ['a limit', get(`/v1/pets?limit=${'1'.repeat(12_000)}`)],
  ['a cursor', get(`/v1/pets?cursor=${'a'.repeat(12_000)}`)],
  ['a Host', get('/v1/pets').replace('Host: x', `Host: ${'a.'.repeat(7_000)}@`)],
  ['a Host of escapes', get('/v1/pets').replace('Host: x', `Host: ${'%41'.repeat(5_000)}%`)],
  ['a Host of colons', get('/v1/pets').replace('Host: x', `Host: ${':'.repeat(15_000)}`)],
  ['an Authorization of spaces', get('/v1/pets').replace('KEY', `Authorization: Bearer${' '.repeat(15_000)}\x80`)],
  ['an Authorization of letters', get('/v1/pets').replace('KEY', `Authorization: Bearer ${'a'.repeat(15_000)}!`)],
  ['an Authorization of equals signs', get('/v1/pets').replace('KEY', `Authorization: Bearer a${'='.repeat(15_000)}!`)],
  ['an X-Request-Id', get('/v1/pets').replace('\n', `\nX-Request-Id: ${'a'.repeat(15_000)}!\n`)],
  ['an Accept', get('/v1/pets').replace('\n', `\nAccept: ${'a/b;q=0,'.repeat(1_900)}\n`)],
  ['an Accept of blanks', get('/v1/pets').replace('\n', `\nAccept: text/html;q${' '.repeat(15_000)}x\n`)],
  ['an Expect', get('/v1/pets').replace('\n', `\nExpect: ${'100-continue,'.repeat(1_100)}\n`)],
  ['a Connection', get('/v1/pets').replace('\n', `\nConnection: ${'close '.repeat(2_500)}x\n`)],
  ['a Transfer-Encoding', get('/v1/pets').replace('\n', `\nTransfer-Encoding: ${'gzip,'.repeat(3_000)}chunked\n`)],
  ['an If-None-Match', get('/docs').replace('\n', `\nIf-None-Match: ${'"a",'.repeat(3_800)}\n`)],
  ['a Range', get('/docs/swagger-ui.css').replace('\n', `\nRange: bytes=${'0-1,'.repeat(3_800)}\n`)],
  ['a Content-Type of blanks', typed(`application/json;charset=${' '.repeat(15_500)}"`)],
  ['a Content-Type of blanks before its charset', typed(`application/json;${' '.repeat(15_500)}x`)],
  ['a Content-Type of charsets', typed(`application/json${';charset='.repeat(1_700)}`)],
  ['an Idempotency-Key', post('long').replace('\n', `\nIdempotency-Key: ${'a'.repeat(15_000)}\n`)],
  ['3,800 header lines', get('/v1/pets').replace('\n', `\n${'a:\n'.repeat(3_800)}`)],
  ['a body of names', bodied(`{${'"a":1,'.repeat(10_000)}"a":1}`)],
  [
    'a body of names near to those there are',
    bodied(`{${Array.from({ length: 5_000 }, (_, i) => `"n${i}e":1,`).join('')}"a":1}`),
  ],
  ['a body of digits', bodied(`{"name":"x","categoryId":${'9'.repeat(65_000)}}`)],
  ['a body with a large exponent', bodied(`{"name":"x","categoryId":1e${'9'.repeat(65_000)}}`)],
  ['a body of a fraction', bodied(`{"name":"x","categoryId":1.${'0'.repeat(65_000)}1}`)],
  ['a body of brackets', bodied('['.repeat(65_000))],
  ['a body of nested objects', bodied(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`)],
  ['a body of backslashes', bodied(`{"name":"${'\\\\'.repeat(32_000)}","name":1}`)],
  ['a body of blanks', bodied(`{${' '.repeat(65_000)}`)],
  ['a name', bodied(`{"name":"${'a'.repeat(65_000)}","categoryId":1}`)],
  ['a name of blanks', bodied(`{"name":"${' '.repeat(65_000)}\\u0000","categoryId":1}`)],
  ['a body in chunks of one byte', chunks('{"name":"' + 'a'.repeat(10_000))],
];

function typed(type: string): string {
  return post('long').replace('application/json', type);
}

function bodied(body: string): string {
  return postHead(body.length) + body;
}

function chunks(body: string): string {
  const head = 'POST /v1/pets HTTP/1.1\nHost: x\nKEY\nContent-Type: application/json\nTransfer-Encoding: chunked\n\n';
  return `${head}${[...body].map((byte) => `1\n${byte}\n`).join('')}0\n\n`;
}

/** Writes the flood until the service closes the connection, or takes nothing more for a second. */
async function pour(connection: Connection, part: Buffer): Promise<number> {
  let sent = 0;
  while (sent < FLOOD && !connection.socket.destroyed) {
    sent += part.length;
    const written = new Promise((resolve) => connection.socket.write(part, resolve));
    if ((await Promise.race([written.then(() => true), connection.closed, pause(1_000)])) !== true) break;
  }
  return sent;
}

describe.each([1, 2])('while a client asks too much, a service of %i process(es) answers others:', (workers) => {
  const service = underAttack(workers);

  it.each(LONG)('%s that is as long as it may be', async (_what, request) => {
    const text = bytes(request);
    const attackers = Array.from({ length: 20 }, async () => {
      const connection = await service().open();
      connection.write(text);
      const answer = await connection.answer();
      expect(answer.status).toBeLessThan(500);
      // What was asked is not said over again.
      if (answer.status >= 400) expect(answer.body.length).toBeLessThan(10_000);
      connection.destroy();
    });
    expect(await service().slowestWhile(Promise.all(attackers))).toBeLessThan(ALIVE);
  });

  it.each([
    ['ask with a long target', bytes(get(`http://${'a'.repeat(12_200)}?#`))],
    ['send a large body', bytes(bodied(`{${'"a":1,'.repeat(10_000)}"a":1}`))],
    ['send nothing', Buffer.alloc(0)],
  ])('clients that connect again and again and %s', async (_what, text) => {
    const end = performance.now() + 3_000;
    const attackers = Array.from({ length: 8 }, async () => {
      while (performance.now() < end) {
        const connection = await service().open();
        if (text.length > 0) {
          connection.write(text);
          await connection.answer();
        }
        connection.destroy();
        // Some 1,300 a second in all: several thousand are more than node:cluster hands to the workers, and those of others wait behind them.
        await pause(5);
      }
    });
    expect(await service().slowestWhile(Promise.all(attackers))).toBeLessThan(ALIVE);
  });
});

describe.each([1, 2])(
  'while clients pipeline as much as one read takes, a service of %i process(es) answers others:',
  (workers) => {
    const service = underAttack(workers);

    it.each([
      ['that are led to it', 'GET / HTTP/1.1\nHost:\n\n'],
      ['by a method that is not there', 'PUT / HTTP/1.1\nHost:\n\n'],
      ['without a key', 'GET /x HTTP/1.1\nHost:\n\n'],
    ])('requests %s', async (_what, request) => {
      const [connection, other] = [await service().open(), await service().open()];
      let answered = 0;
      const count = async () => {
        for (; answered < 500; answered++) await connection.answer();
      };
      connection.write(bytes(request.repeat(500)));
      other.write(bytes(get('/health/live')));
      const counting = count();
      expect((await other.answer()).status).toBe(200);
      // Not behind all that came before: each connection has its turn.
      expect(answered).toBeLessThan(250);
      await counting;
      for (const each of [connection, other]) each.destroy();
    });

    it('what is more than may wait in all is not done, and the last answer says so', async () => {
      const holding = Array.from({ length: 10 * workers }, async () => {
        const connection = await service().open();
        connection.socket.pause();
        connection.write(
          bytes(get('/docs/swagger-ui-bundle.js').repeat(8) + 'GET /docs HTTP/1.1\nHost:\n\n'.repeat(2_000)),
        );
        return connection;
      });
      const connections = await Promise.all(holding);
      await pause(500);
      const connection = await service().open();
      connection.write(bytes(get('/v1/pets') + post('too-much').repeat(300)));
      const answer = await connection.answer();
      expect(answer.status).toBe(200);
      const isTold = answer.header('Connection') === 'close';
      let posted = 0;
      if (!isTold)
        for (let last = false; !last; posted++) last = (await connection.answer()).header('Connection') === 'close';
      expect(posted).toBeLessThan(300);
      await connection.closed;
      expect((await service().stored()).filter((name) => name === 'too-much')).toHaveLength(posted);
      for (const each of connections) each.destroy();
    });
  },
);

describe.each([1, 2])(
  'clients that do not read, or send bodies in small parts, cannot make %i process(es) hold',
  (workers) => {
    const service = underAttack(workers);

    /** Waits until what was sent is worked off: here it is the memory that matters. */
    const workedOff = async () => {
      for (let i = 0; i < 20 && (await service().live()) > ALIVE / 4; i++) await pause(500);
    };

    it('pipelines on many connections', async () => {
      const text = bytes(get('/docs/swagger-ui-bundle.js').repeat(8) + 'GET / HTTP/1.1\nHost:\n\n'.repeat(2_600));
      const connections = await Promise.all(
        Array.from({ length: 40 }, async () => {
          const connection = await service().open();
          connection.socket.pause();
          connection.write(text);
          return connection;
        }),
      );
      await pause(1_500);
      for (const connection of connections) connection.destroy();
      await workedOff();
    });

    it('bodies in chunks of one byte', async () => {
      const head =
        'POST /v1/pets HTTP/1.1\nHost: x\nKEY\nContent-Type: application/json\nTransfer-Encoding: chunked\n\n';
      const text = bytes(head + '1\n \n'.repeat(60_000));
      const connections = await Promise.all(
        Array.from({ length: 10 }, async () => {
          const connection = await service().open();
          connection.write(text);
          return connection;
        }),
      );
      await pause(1_500);
      for (const connection of connections) connection.destroy();
      await workedOff();
    });
  },
);

describe.each([1, 2])('a client that does not read its answers cannot make %i process(es) hold', (workers) => {
  const service = underAttack(workers);
  const unread = async (attacked: ServiceUnderAttack) => {
    const connection = await attacked.open();
    connection.socket.pause();
    return connection;
  };
  const garbage = Buffer.alloc(1024 * 1024, 'x');
  const lists = get('/v1/pets?limit=100');
  const files = get('/docs/swagger-ui-bundle.js');
  const lives = get('/health/live');
  const keyless = 'GET /v1/pets HTTP/1.1\nHost: x\n\n';

  it.each([
    ['garbage alone', '', garbage],
    ['garbage behind a few lists', lists.repeat(150), garbage],
    ['garbage behind many lists', lists.repeat(4_000), garbage],
    ['garbage behind a file of the docs', files, garbage],
    ['garbage behind files of the docs', files.repeat(10), garbage],
    ['garbage behind the document', get('/openapi.json').repeat(150), garbage],
    ['garbage behind health checks', lives.repeat(20_000), garbage],
    ['garbage behind requests without a key', keyless.repeat(20_000), garbage],
    ['garbage behind the last answer', `${lists.repeat(150)}${lists.replace('\n', '\nConnection: close\n')}`, garbage],
    ['garbage behind CONNECT', `${lists.repeat(150)}CONNECT x:1 HTTP/1.1\nHost: x\n\n`, garbage],
    [
      'garbage behind Upgrade',
      `${lists.repeat(150)}${lives.replace('\n', '\nConnection: Upgrade\nUpgrade: x\n')}`,
      garbage,
    ],
    ['a body that never ends', postHead(1e12), garbage],
    ['a body that never ends, without a key', postHead(1e12).replace('KEY\n', ''), garbage],
    ['a body that never ends behind lists', lists.repeat(150) + postHead(1e12), garbage],
    ['lists that never end', '', bytes(lists.repeat(10_000))],
    ['health checks that never end', '', bytes(lives.repeat(20_000))],
    ['requests that never end, without a key', '', bytes(keyless.repeat(20_000))],
    ['files of the docs that never end', '', bytes(files.repeat(1_000))],
  ])(
    '%s',
    async (_what, first, flood) => {
      for (let i = 0; i < 100; i++) await service().ask(post('a'.repeat(250)));
      const connections = await Promise.all(Array.from({ length: workers }, () => unread(service())));
      for (const connection of connections) connection.write(bytes(first));
      await Promise.all(connections.map((connection) => pour(connection, flood)));
      for (const connection of connections) connection.destroy();
    },
    60_000,
  );
});
