import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiKeyRepository } from '../../src/application/keys/api-key-repository.port.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { KEY_RANDOM_LENGTH, keyText } from '../../src/domain/keys/api-key.js';
import { expectError } from '../support/error-body.js';
import { type Answer, type Ask, Service } from '../support/service.js';

/** The length of a window, in milliseconds. */
const WINDOW = 60_000;

const withKey = (key: string): Ask => ({ headers: { Authorization: `Bearer ${key}` } });

/** Sends a request as if from this address. Only the loopback exists here, so the socket is given another address. */
function sendFrom(service: Service, address: string, ask: Ask = {}, path = '/v1/pets'): Promise<Answer> {
  const server = service.app.getHttpServer() as Server;
  server.prependOnceListener('connection', (socket: Socket) =>
    Object.defineProperty(socket, 'remoteAddress', { value: address }),
  );
  return service.send(path, ask);
}

describe('the window of a limit', () => {
  let service: Service;

  beforeEach(async () => {
    // The clocks alone: they stand still, but for the steps below. Timers and connections are real.
    const timers = ['hrtime', 'nextTick', 'queueMicrotask', 'setImmediate', 'setInterval', 'setTimeout'] as const;
    const clears = ['clearImmediate', 'clearInterval', 'clearTimeout'] as const;
    jest.useFakeTimers({ doNotFake: [...timers, ...clears], now: Date.now() });
    service = await Service.start({ RATE_LIMIT: '2', AUTH_FAILURE_LIMIT: '2' });
  });

  afterEach(async () => {
    jest.useRealTimers();
    await service.stop();
  });

  it('of requests begins with the first and ends a minute later', async () => {
    expect((await service.send('/v1/pets')).headers.ratelimit).toBe('"key";r=1;t=60');
    jest.advanceTimersByTime(WINDOW - 20_000);
    expect((await service.send('/v1/pets')).headers.ratelimit).toBe('"key";r=0;t=20');
    const rejected = await service.send('/v1/pets');
    const { message } = expectError(rejected, 'rate_limited');
    expect(message).toBe('This API key may make 2 requests in a minute; try again in 20 seconds.');
    expect(rejected.headers).toMatchObject({ 'retry-after': '20', ratelimit: '"key";r=0;t=20' });
    jest.advanceTimersByTime(20_000);
    const accepted = await service.send('/v1/pets');
    expect([accepted.status, accepted.headers.ratelimit]).toEqual([200, '"key";r=1;t=60']);
  });

  it('is never said to be longer than a minute, though the clock is set back', async () => {
    for (let i = 0; i < 2; i++) {
      await service.send('/v1/pets');
      await service.send('/v1/pets', withKey('guess'));
    }
    jest.setSystemTime(Date.now() - 60 * WINDOW);
    for (const ask of [{}, withKey('guess')]) {
      const { headers, body } = await service.send('/v1/pets', ask);
      expect([headers['retry-after'], headers.ratelimit]).toEqual(['60', expect.stringMatching(/;r=0;t=60$/)]);
      expect(body).toContain('in 60 seconds');
    }
  });

  it('of failures ends a minute after the first', async () => {
    for (const path of ['/v1/pets', '/v1/nowhere'])
      expectError(await service.send(path, withKey('guess')), 'api_key_invalid');
    jest.advanceTimersByTime(WINDOW - 1_000);
    const rejected = await service.send('/v1/pets', withKey('guess'));
    const { message } = expectError(rejected, 'rate_limited');
    expect(message).toBe('An address may send 2 wrong API keys in a minute; try again in 1 second.');
    expect(rejected.headers).toMatchObject({ 'retry-after': '1', 'ratelimit-policy': '"address";q=2;w=60' });
    expect(rejected.headers).not.toHaveProperty('www-authenticate');
    jest.advanceTimersByTime(1_000);
    expectError(await service.send('/v1/pets', withKey('guess')), 'api_key_invalid');
  });
});

describe('RATE_LIMIT', () => {
  it('counts the requests with a key together, from any address and with any status, and no others', async () => {
    const service = await Service.start({ RATE_LIMIT: '4' });
    const other = (await service.app.get(ApiKeyService).create('other')).text;
    const left = ({ headers }: Answer) => headers.ratelimit;
    expect(left(await sendFrom(service, '192.0.2.1'))).toMatch(/^"key";r=3;/);
    expect(left(await sendFrom(service, '192.0.2.2'))).toMatch(/^"key";r=2;/);
    expect(left(await service.send('/v1/nowhere'))).toMatch(/^"key";r=1;/);
    expect(left(await service.add('{'))).toMatch(/^"key";r=0;/);
    expectError(await sendFrom(service, '192.0.2.3'), 'rate_limited');
    const accepted = await service.send('/v1/pets', withKey(other));
    expect(accepted).toMatchObject({ status: 200, headers: { 'ratelimit-policy': '"key";q=4;w=60' } });
    for (const path of ['/health/ready', '/docs', '/openapi.json'])
      expect((await service.send(path, { key: false })).status).toBe(200);
    await service.stop();
  });

  it('lets exactly as many requests through when many arrive at once', async () => {
    const service = await Service.start({ RATE_LIMIT: '10' });
    const responses = await Promise.all(Array.from({ length: 30 }, () => service.send('/v1/pets')));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(20);
    await service.stop();
  });
});

describe('AUTH_FAILURE_LIMIT', () => {
  const service = Service.forSuite({ AUTH_FAILURE_LIMIT: '2' });
  let keys: ApiKeyService;

  beforeAll(() => {
    keys = service.app.get(ApiKeyService);
  });

  /** Fails to authenticate from this address as often as it may. */
  async function fail(address: string): Promise<void> {
    for (let i = 0; i < 2; i++) expectError(await sendFrom(service, address, withKey('guess')), 'api_key_invalid');
  }

  const newKey = async (name: string) => withKey((await keys.create(name)).text);

  it.each([
    ['192.0.2.1', '192.0.2.1', '192.0.2.2'],
    ['192.0.2.11', '::ffff:192.0.2.11', '::ffff:192.0.2.12'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::6', '2001:db8:1:3:3:4:5:6'],
    ['2001:db8::1', '2001:db8:0:0:ffff::', '2001:db8:0:1::1'],
    ['fe80::1%eth0', 'fe80::2', 'fe80:0:0:1::1'],
  ])('counts failures of %s and %s together, and apart from those of %s', async (address, same, other) => {
    await fail(address);
    expectError(await sendFrom(service, address, withKey('guess')), 'rate_limited');
    expectError(await sendFrom(service, same, withKey('guess')), 'rate_limited');
    expectError(await sendFrom(service, other, withKey('guess')), 'api_key_invalid');
  });

  it.each<[number, string, string, Ask]>([
    [51, 'a favicon', '/favicon.ico', {}],
    [52, 'a wrong path', '/healthz', {}],
    [53, 'a preflight', '/v1/pets', { method: 'OPTIONS', headers: { Origin: 'https://unlisted.example' } }],
    [54, 'a key that is sent in another way', '/v1/pets', { headers: { 'X-API-Key': 'guess' } }],
    [55, 'a password', '/v1/pets', { headers: { Authorization: 'Basic YTpi' } }],
  ])('neither counts nor limits requests without a key, from 192.0.2.%d: %s', async (host, _what, path, ask) => {
    const address = `192.0.2.${host}`;
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 3; i++)
        expectError(await sendFrom(service, address, { key: false, ...ask }, path), 'api_key_missing');
      if (round === 0) await fail(address);
    }
  });

  it('does not count requests with a valid key, nor reject a key that the address has used', async () => {
    const { text } = await keys.create('used');
    const used = withKey(text);
    for (let i = 0; i < 5; i++) expect((await sendFrom(service, '192.0.2.21', used)).status).toBe(200);
    await fail('192.0.2.21');
    await sendFrom(service, '192.0.2.21', { headers: { Authorization: text } });
    for (let i = 0; i < 5; i++) expect((await sendFrom(service, '192.0.2.21', used)).status).toBe(200);
    const unused = await newKey('unused');
    const find = jest.spyOn(service.app.get(ApiKeyRepository), 'find');
    expectError(await sendFrom(service, '192.0.2.21', unused), 'rate_limited');
    // Nor does it look for it in the database.
    expect(find).not.toHaveBeenCalled();
    find.mockRestore();
  });

  it('rejects a key that only another address has used', async () => {
    const used = await newKey('used elsewhere');
    expect((await sendFrom(service, '192.0.2.31', used)).status).toBe(200);
    await fail('192.0.2.32');
    expectError(await sendFrom(service, '192.0.2.32', used), 'rate_limited');
    expect((await sendFrom(service, '192.0.2.31', used)).status).toBe(200);
  });

  it('rejects a key that the address has used, once it is revoked', async () => {
    const used = await newKey('revoked');
    expect((await sendFrom(service, '192.0.2.41', used)).status).toBe(200);
    await keys.revoke('revoked');
    for (const code of ['api_key_revoked', 'api_key_revoked', 'rate_limited'] as const)
      expectError(await sendFrom(service, '192.0.2.41', used), code);
  });

  describe('of 20 requests that all arrive before the first is checked', () => {
    beforeEach(() => {
      const repository = service.app.get(ApiKeyRepository);
      const find = repository.find.bind(repository);
      jest.spyOn(repository, 'find').mockImplementation((digest) => delay(100).then(() => find(digest)));
    });

    afterEach(() => void jest.restoreAllMocks());

    /** The statuses, and of each 429 the policy. */
    const statuses = async (askAt: (index: number) => Ask) => {
      const asking = Array.from({ length: 20 }, (_, i) => service.send('/v1/pets', askAt(i)));
      return (await Promise.all(asking))
        .map(({ status, headers }) => (status === 429 ? headers['ratelimit-policy'] : status))
        .sort();
    };

    it('accepts all with valid keys that the address has not used', async () => {
      const asks = await Promise.all(Array.from({ length: 20 }, (_, i) => newKey(`burst ${i}`)));
      expect(await statuses((i) => asks[i]!)).toEqual(Array(20).fill(200));
    });

    it('tells of no more guesses than it may that they are wrong, nor of any behind them that it is right', async () => {
      const guess = (index: number) => keyText(String(index).padStart(KEY_RANDOM_LENGTH, '0'));
      const right = await newKey('right');
      const asked = await statuses((i) => (i < 19 ? withKey(guess(i)) : right));
      expect(asked).toEqual([...Array<string>(18).fill('"address";q=2;w=60'), 401, 401]);
    });
  });
});

describe('behind TRUSTED_PROXIES, the address of a client', () => {
  const service = Service.forSuite({ AUTH_FAILURE_LIMIT: '1', TRUSTED_PROXIES: 'loopback, 10.0.0.0/8, fd00::1' });
  let guesses = 0;

  /** The rightmost address of the test, which no other case has. */
  const client = () => `198.51.100.${++guesses}`;

  /** Guesses once from this peer with these headers, which uses up the limit of the client's address. */
  const guess = async (peer: string, ...forwarded: string[]) => {
    const headers = { ...withKey('guess').headers, ...(forwarded.length > 0 && { 'X-Forwarded-For': forwarded }) };
    return (await sendFrom(service, peer, { headers })).status;
  };

  it.each<[string, string, (client: string) => string[]]>([
    ['of a header', '127.0.0.1', (address) => [address]],
    ['behind what the client itself has sent', '::1', (address) => [`203.0.113.9, ${address}`]],
    ['before another proxy', '10.1.2.3', (address) => [`203.0.113.9, ${address}, 10.9.9.9`]],
    ['before the same proxy', '::ffff:10.1.2.3', (address) => [`${address},fd00::1, 127.0.0.9`]],
    ['in several headers', 'fd00::1', (address) => ['203.0.113.9', address, '10.9.9.9']],
    ['with a port', '127.0.0.1', (address) => [`nonsense, ${address}:4711, 10.9.9.9:80`]],
    ['with empty elements', '127.0.0.1', (address) => [`, ${address} ,,  `]],
  ])('is the rightmost one that is no proxy, %s', async (_where, peer, headers) => {
    const [one, other] = [client(), client()];
    expect(await guess(peer, ...headers(one))).toBe(401);
    expect(await guess(peer, ...headers(one))).toBe(429);
    expect(await guess(one)).toBe(429);
    expect(await guess(peer, ...headers(other))).toBe(401);
  });

  it.each(['2001:db8::1', '[2001:db8:0:1::1]', '[2001:db8:0:2::1]:443'])('may be that of IPv6: %s', async (address) => {
    expect(await guess('127.0.0.1', address)).toBe(401);
    expect(await guess(address.replaceAll(/^\[|\](?::443)?$/g, ''))).toBe(429);
  });

  it('is not read from the header of any other peer', async () => {
    const peer = client();
    expect(await guess(peer, client())).toBe(401);
    expect(await guess(peer, client())).toBe(429);
  });

  it.each([
    [[]],
    [['']],
    [['unknown']],
    [['203.0.113.9, unknown']],
    [['203.0.113.9, for=203.0.113.9']],
    [['203.0.113.9:port']],
    [['1']],
    [['10.8.8.8']],
  ])('is that of the proxy if the header names no other: %j', async (forwarded: string[]) => {
    const proxy = forwarded[0] === '10.8.8.8' ? '10.8.8.8' : `10.7.7.${++guesses}`;
    expect(await guess(proxy, ...forwarded)).toBe(401);
    expect(await guess(proxy)).toBe(429);
  });
});

it('X-Forwarded-For has no effect without TRUSTED_PROXIES', async () => {
  const service = await Service.start({ AUTH_FAILURE_LIMIT: '1' });
  const guess = (address: string) =>
    service.send('/v1/pets', { headers: { ...withKey('guess').headers, 'X-Forwarded-For': address } });
  expectError(await guess('192.0.2.1'), 'api_key_invalid');
  expectError(await guess('192.0.2.2'), 'rate_limited');
  await service.stop();
});
