import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
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

  /** Lists pets with these Authorization headers, in which `ISSUED` stands for a valid key. */
  const list = (...values: string[]): Promise<WireAnswer> => {
    const fields = values.map((value) => `Authorization: ${value.replaceAll('ISSUED', issued)}`);
    return Connection.ask(service.port, bytes(rawRequest('GET /v1/pets', fields)));
  };

  function expectChallenge(response: WireAnswer, code: ErrorCode): void {
    expectError(response, code);
    const error = code === 'api_key_missing' ? '' : ', error="invalid_token"';
    expect(response.header('WWW-Authenticate')).toBe(`Bearer realm="petstore"${error}`);
  }

  it.each(['Bearer', 'bearer', 'bEaReR', 'Bearer  '])('accepts the scheme in any case: %s', async (scheme) => {
    expect((await list(`${scheme} ISSUED`)).status).toBe(200);
  });

  it.each([[[]], [['']], [['Basic YTpi']], [['ISSUED']], [['BearerToken ISSUED']]])(
    'finds no key in the Authorization headers %j',
    async (values: string[]) => expectChallenge(await list(...values), 'api_key_missing'),
  );

  it.each([
    [['Bearer']],
    [['Bearer ISSUED,']],
    [['Bearer "ISSUED"']],
    [['Bearer ISSUED, Bearer ISSUED']],
    [['Bearer ISSUED', 'Bearer ISSUED']],
    [['Bearer ISSUED', 'Basic YTpi']],
    [[`Bearer ${keyText('0'.repeat(30))}`]],
    [['Bearer nobody']],
    [[`Bearer ${'x'.repeat(10_000)}`]],
  ])('rejects the Authorization headers %.40j', async (values: string[]) =>
    expectChallenge(await list(...values), 'api_key_invalid'),
  );

  it('says so if the header is there and Bearer is missing', async () => {
    const [absent, present] = [await list(), await list('ISSUED')].map(({ body }) => body);
    expect(present).toContain('Bearer');
    expect(present).not.toContain(issued);
    expect([absent, present].map((body) => (JSON.parse(body as string) as { code: string }).code)).toEqual(
      Array(2).fill('api_key_missing'),
    );
  });

  it('ignores a key in the query or in the body', async () => {
    for (const name of ['access_token', 'api_key'])
      expectError(await service.send(`/v1/pets?${name}=${issued}`, { key: false }), 'api_key_missing');
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const form = { method: 'POST', key: false, headers, body: `access_token=${issued}` };
    expectError(await service.send('/v1/pets', form), 'api_key_missing');
  });

  it('rejects a key with any one character changed', async () => {
    for (let i = 0; i < issued.length; i++) {
      const damaged = issued.slice(0, i) + (issued[i] === 'x' ? 'y' : 'x') + issued.slice(i + 1);
      expectChallenge(await list(`Bearer ${damaged}`), 'api_key_invalid');
    }
  });

  it('issues keys of pets_, 30 random characters and 6 of a checksum', () => {
    expect(issued).toMatch(/^pets_[0-9A-Za-z]{36}$/);
    expect(keyText(issued.slice(5, 35))).toBe(issued);
  });

  it('accepts a key of API_KEYS in any form of token68, exactly', async () => {
    expect((await list(`Bearer ${CONFIGURED}`)).status).toBe(200);
    expectChallenge(await list(`Bearer ${CONFIGURED}=`), 'api_key_invalid');
    expectChallenge(await list(`Bearer ${CONFIGURED.toUpperCase()}`), 'api_key_invalid');
  });

  it('rejects a revoked key at once', async () => {
    const { text, key } = await keys.create('revoked');
    expect((await list(`Bearer ${text}`)).status).toBe(200);
    await keys.revoke(key.prefix);
    expectChallenge(await list(`Bearer ${text}`), 'api_key_revoked');
  });

  it('rejects a key once it has expired', async () => {
    const { text } = await keys.create('short', new Date(Date.now() + 200));
    let response = await list(`Bearer ${text}`);
    expect(response.status).toBe(200);
    while (response.status === 200) response = await list(`Bearer ${text}`);
    expectChallenge(response, 'api_key_expired');
  });
});

describe('without a key', () => {
  let service: Service;

  beforeAll(async () => {
    service = await Service.start();
  });

  afterAll(() => service.stop());

  const documented = Object.keys((load(readFileSync('openapi.yaml', 'utf8')) as { paths: object }).paths);
  const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];

  it.each([
    ...documented.map((path) => `/v1${path.replace(/\{\w+\}/, '1')}`),
    ...['/v1', '/v1/', '/v1/orders', '/v1/pets/', '/v1/Pets', '/v1/pets/1/2', '/v1/%', '/v1//pets', '/v1?x'],
    ...['/nothing', '/health', '/docs/', '/V1/docs', '/%ff'],
  ])('the response to every method is the same 401: %s', async (path) => {
    const { body } = await service.send('/v1/pets', { key: false });
    for (const method of METHODS) {
      const response = await service.send(path, { method, key: false });
      expect([method, response.status, response.body]).toEqual([method, 401, method === 'HEAD' ? '' : body]);
      expect(response.headers.allow).toBeUndefined();
    }
  });

  it('an invalid request to an operation gets 401 and nothing else', async () => {
    for (const { method, invalid } of OPERATIONS)
      for (const { target, headers, body } of invalid)
        expectError(await service.send(target, { method, headers, body, key: false }), 'api_key_missing');
  });

  it('the response comes before the body of the request', async () => {
    const fields = ['Content-Type: application/json', 'Content-Length: 31'];
    const head = bytes(rawRequest('POST /v1/pets', fields));
    expectError(await Connection.ask(service.port, head), 'api_key_missing');
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

  it('is off unless it is set, and responses do not mention it', async () => {
    const unlimited = await Service.start();
    for (let i = 0; i < 50; i++) {
      expectError(await unlimited.send('/v1/pets', { key: false }), 'api_key_missing');
      const { status, headers } = await unlimited.send('/v1/pets');
      expect(status).toBe(200);
      expect(headers).not.toHaveProperty('ratelimit');
    }
    await unlimited.stop();
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
