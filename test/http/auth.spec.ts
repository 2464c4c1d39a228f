import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ErrorCode } from '../../src/adapters/http/errors/error-code.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { keyText } from '../../src/domain/keys/api-key.js';
import { Connection, type WireAnswer } from '../support/connection.js';
import { expectError } from '../support/error-body.js';
import { OPERATIONS } from '../support/operations.js';
import { bytes, rawRequest } from '../support/raw-requests.js';
import { type Ask, Service } from '../support/service.js';

const CONFIGURED = 'a-key.of_ours~16+/==';

const withKey = (key: string): Ask => ({ headers: { Authorization: `Bearer ${key}` } });

describe('authentication', () => {
  let service: Service;
  let keys: ApiKeyService;
  let issued: string;

  beforeAll(async () => {
    service = await Service.start({ API_KEYS: CONFIGURED });
    keys = service.app.get(ApiKeyService);
    issued = (await keys.create('issued')).text;
  });

  afterAll(() => service.stop());

  /** Lists pets with these header lines, in which `ISSUED` stands for a valid key. */
  const list = (...lines: string[]): Promise<WireAnswer> =>
    Connection.ask(service.port, bytes(rawRequest('GET /v1/pets', lines).replaceAll('ISSUED', issued)));

  const listWith = (key: string) => list(`Authorization: Bearer ${key}`);

  function expectChallenge(response: WireAnswer, code: ErrorCode): void {
    expectError(response, code);
    const error = code === 'api_key_missing' ? '' : ', error="invalid_token"';
    expect(response.header('WWW-Authenticate')).toBe(`Bearer realm="petstore"${error}`);
  }

  it.each(['Bearer ISSUED', 'bearer ISSUED', 'bEaReR ISSUED', 'Bearer   ISSUED', `Bearer ${CONFIGURED}`])(
    'accepts %s',
    async (value) => {
      expect((await list(`Authorization: ${value}`)).status).toBe(200);
    },
  );

  it.each([
    ['Authorization:', false],
    ['X-A: b', false],
    ['Authorization: Basic YTpi', true],
    ['Authorization: ISSUED', true],
    ['Authorization: BearerToken ISSUED', true],
    ['X-API-Key: ISSUED', true],
  ])('finds no key in "%s"; that it says the word Bearer is missing is %s', async (line, isSaid) => {
    const response = await list(line);
    expectChallenge(response, 'api_key_missing');
    expect(response.body.includes('the word Bearer is missing')).toBe(isSaid);
    expect(response.body).not.toContain(issued);
  });

  it.each([
    [['Bearer']],
    [['Bearer ISSUED,']],
    [['Bearer "ISSUED"']],
    [['Bearer ISSUED, Bearer ISSUED']],
    [['Bearer ISSUED', 'Bearer ISSUED']],
    [['Bearer ISSUED', 'Basic YTpi']],
    [[`Bearer ${keyText('0'.repeat(30))}`]],
    [['Bearer nobody']],
    [[`Bearer ${CONFIGURED}=`]],
    [[`Bearer ${CONFIGURED.toUpperCase()}`]],
    [[`Bearer ${'x'.repeat(10_000)}`]],
  ])('rejects the Authorization headers %.40j', async (values: string[]) =>
    expectChallenge(await list(...values.map((value) => `Authorization: ${value}`)), 'api_key_invalid'),
  );

  it.each(['access_token', 'api_key'])('ignores a key in the query, as %s', async (name) => {
    expectError(await service.send(`/v1/pets?${name}=${issued}`, { key: false }), 'api_key_missing');
  });

  it('rejects a key from the moment that it is revoked, and one that has expired', async () => {
    const { text, key } = await keys.create('revoked');
    expect((await listWith(text)).status).toBe(200);
    await keys.revoke(key.prefix);
    expectChallenge(await listWith(text), 'api_key_revoked');
    expectChallenge(await listWith((await keys.create('expired', 0)).text), 'api_key_expired');
  });
});

describe('without a key', () => {
  const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
  let service: Service;

  beforeAll(async () => {
    service = await Service.start();
  });

  afterAll(() => service.stop());

  it.each([
    ...OPERATIONS.map(({ valid }) => valid.target),
    ...['/v1', '/v1/', '/v1/orders', '/v1/pets/', '/v1/Pets', '/v1/pets/1/2', '/v1/%', '/v1//pets', '/v1?x'],
    ...['/nothing', '/health', '/docs/nothing', '/V1/docs', '/%ff'],
  ])('the response to every method is the same 401: %s', async (path) => {
    const { body } = await service.send('/v1/pets', { key: false });
    for (const method of METHODS) {
      const response = await service.send(path, { method, key: false });
      expect([method, response.status, response.body]).toEqual([method, 401, method === 'HEAD' ? '' : body]);
      expect(response.headers.allow).toBeUndefined();
    }
  });
});

describe('RATE_LIMIT', () => {
  let service: Service;
  let other: string;

  beforeAll(async () => {
    service = await Service.start({ RATE_LIMIT: '3' });
    other = (await service.app.get(ApiKeyService).create('other')).text;
  });

  afterAll(() => service.stop());

  it('is per key, and each response says what is left', async () => {
    for (const left of [2, 1, 0]) {
      const { status, headers } = await service.send('/v1/pets');
      expect([status, headers['ratelimit-policy']]).toEqual([200, '"key";q=3;w=60']);
      expect(headers.ratelimit).toMatch(new RegExp(`^"key";r=${left};t=[0-9]+$`));
    }
    const rejected = await service.send('/v1/pets');
    expectError(rejected, 'rate_limited');
    expect(rejected.headers.ratelimit).toMatch(/^"key";r=0;t=[0-9]+$/);
    expect(Number(rejected.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(rejected.headers['retry-after'])).toBeLessThanOrEqual(60);
    expect((await service.send('/v1/pets', withKey(other))).status).toBe(200);
  });

  it('does not apply to routes that need no key', async () => {
    for (const path of ['/health/ready', '/docs', '/openapi.json'])
      expect((await service.send(path, { key: false })).status).toBe(200);
  });
});

describe('AUTH_FAILURE_LIMIT', () => {
  it('rejects further failures of the address, and every key that it has not used successfully', async () => {
    const service = await Service.start({ AUTH_FAILURE_LIMIT: '3' });
    const unused = (await service.app.get(ApiKeyService).create('unused')).text;
    expect((await service.send('/v1/pets')).status).toBe(200);
    expectError(await service.send('/v1/pets', { key: false }), 'api_key_missing');
    expectError(await service.send('/v1/pets', withKey('guess-1')), 'api_key_invalid');
    expectError(await service.send('/v1/nowhere', withKey('guess-2')), 'api_key_invalid');
    for (const ask of [withKey('guess-3'), { key: false }, withKey(unused)]) {
      const { headers, ...rejected } = await service.send('/v1/pets', ask);
      expectError({ headers, ...rejected }, 'rate_limited');
      expect(headers['ratelimit-policy']).toBe('"address";q=3;w=60');
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(headers).not.toHaveProperty('www-authenticate');
    }
    expect((await service.send('/v1/pets')).status).toBe(200);
    await service.stop();
  });

  it('applies to a key that worked before, once it is revoked', async () => {
    const service = await Service.start({ AUTH_FAILURE_LIMIT: '1' });
    expect((await service.send('/v1/pets')).status).toBe(200);
    await service.app.get(ApiKeyService).revoke('test');
    expectError(await service.send('/v1/pets'), 'api_key_revoked');
    expectError(await service.send('/v1/pets'), 'rate_limited');
    await service.stop();
  });
});
