import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Libsql from 'libsql';
import { ApiKeyRepository } from '../../../src/application/keys/api-key-repository.port.js';
import { ApiKeyService } from '../../../src/application/keys/api-key.service.js';
import { Secrets } from '../../../src/application/secrets.port.js';
import { Store } from '../../../src/open-store.js';
import { ApiContract } from '../../support/api-contract.js';
import { Answer, Ask, Service } from '../../support/service.js';
import { lastingKinds, TestStore } from '../../support/stores.js';

const JSON_TYPE = { 'Content-Type': 'application/json' };

function creating(body: string, headers: Record<string, string> = JSON_TYPE): Ask {
  return { method: 'POST', headers, body };
}

/** Each operation, asked for as it should be. */
const operations: [name: string, path: string, ask: Ask][] = [
  ['listPets', '/v1/pets', {}],
  ['createPet', '/v1/pets', creating('{"name":"Bella","categoryId":42}')],
  ['getPet', '/v1/pets/1', {}],
];

/** What each operation answers by itself: 200, 201 or the code of an error. */
const requests: [outcome: string, path: string, ask?: Ask][] = [
  ['201', '/v1/pets', creating('{"name":"Bella","categoryId":42,"status":"sold"}')],
  ['201', '/v1/pets', creating('{"name":"Zoë","categoryId":9223372036854775807}')],
  ['missing_field', '/v1/pets', creating('{"categoryId":42}')],
  ['invalid_field', '/v1/pets', creating('{"name":"Bella","categoryId":42,"status":"lost"}')],
  ['unknown_field', '/v1/pets', creating('{"name":"Bella","categoryId":42,"Status":"sold"}')],
  ['duplicate_field', '/v1/pets', creating('{"name":"Bella","name":"Max","categoryId":42}')],
  ['invalid_body', '/v1/pets', creating('[]')],
  ['invalid_json', '/v1/pets', creating('{"name":')],
  ['unknown_parameter', '/v1/pets?dryRun=true', creating('{"name":"Bella","categoryId":42}')],
  ['body_too_large', '/v1/pets', creating(' '.repeat(65_537))],
  ['unsupported_media_type', '/v1/pets', creating('{}', { 'Content-Type': 'text/plain' })],
  ['unsupported_media_type', '/v1/pets', creating('{}', { ...JSON_TYPE, 'Content-Encoding': 'gzip' })],
  ['201', '/v1/pets', creating('{"name":"Bella","categoryId":42}', { ...JSON_TYPE, 'Idempotency-Key': 'a' })],
  ['201', '/v1/pets', creating('{"name":"Bella","categoryId":42}', { ...JSON_TYPE, 'Idempotency-Key': 'a' })],
  [
    'idempotency_key_reused',
    '/v1/pets',
    creating('{"name":"Max","categoryId":42}', { ...JSON_TYPE, 'Idempotency-Key': 'a' }),
  ],
  [
    'invalid_idempotency_key',
    '/v1/pets',
    creating('{"name":"Bella","categoryId":42}', { ...JSON_TYPE, 'Idempotency-Key': 'a b' }),
  ],
  ['200', '/v1/pets'],
  ['200', '/v1/pets?limit=1'],
  ['200', '/v1/pets?status=pending'],
  ['200', '/v1/pets', { method: 'HEAD' }],
  ['invalid_parameter', '/v1/pets?limit=1000'],
  ['unknown_parameter', '/v1/pets?Limit=1'],
  ['repeated_parameter', '/v1/pets?status=sold&status=sold'],
  ['invalid_cursor', '/v1/pets?cursor=1'],
  ['200', '/v1/pets/2'],
  ['unknown_parameter', '/v1/pets/1?verbose=1'],
  ['pet_not_found', '/v1/pets/77'],
  ['expectation_failed', '/v1/pets', { headers: { Expect: '200-ok' } }],
  ['uri_too_long', `/v1/pets?${'a'.repeat(13_000)}`],
  ['headers_too_large', '/v1/pets', { headers: { Cookie: 'a'.repeat(17_000) } }],
  ['route_not_found', '/v1/orders'],
  ['method_not_allowed', '/v1/pets/1', { method: 'DELETE' }],
];

function outcome({ status, body }: Answer): string {
  return status < 400 ? String(status) : (JSON.parse(body) as { code: string }).code;
}

function answerOf(raw: string): Answer {
  const [head, body] = raw.split('\r\n\r\n') as [string, string];
  const [first, ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(lines.map((line) => line.toLowerCase().split(': ') as [string, string]));
  return { status: Number(first?.split(' ')[1]), headers, rawHeaders: [], body };
}

describe('the OpenAPI document', () => {
  const outcomes = new Set<string>();
  let store: TestStore;
  let service: Service;
  let contract: ApiContract;

  async function expectOutcome(expected: string, path: string, ask: Ask = {}): Promise<void> {
    // Whether the answer is as documented is checked as it arrives.
    const found = outcome(await service.send(path, ask));
    expect(found).toBe(expected);
    outcomes.add(found);
  }

  beforeAll(async () => {
    store = await (lastingKinds[0] as (typeof lastingKinds)[0]).create();
    service = await Service.start({ DATABASE_URL: store.url });
    contract = service.contract();
  });

  afterAll(async () => {
    await service.stop();
    await store.remove();
  });

  it.each(requests)('describes %s, the answer to request %#', expectOutcome);

  it.each(operations)('describes what %s answers without a good key', async (name, path, ask) => {
    const keys = service.app.get(ApiKeyService);
    // Issued a minute ago, so to speak.
    const { app } = service;
    const late = new ApiKeyService(app.get(ApiKeyRepository), app.get(Secrets), [], () => Date.now() - 60_000);
    const expired = await late.create(`expired-${name}`, new Date(Date.now() - 30_000));
    const revoked = await keys.create('revoked');
    await keys.revoke(revoked.key.prefix);
    const withKey = (key: string) => ({ ...ask, headers: { ...ask.headers, Authorization: `Bearer ${key}` } });
    await expectOutcome('api_key_missing', path, { ...ask, key: false });
    await expectOutcome('api_key_invalid', path, withKey('damaged'));
    await expectOutcome('api_key_expired', path, withKey(expired.text));
    await expectOutcome('api_key_revoked', path, withKey(revoked.text));
  });

  it.each(operations)('describes what %s answers to a client that takes no JSON', async (_name, path, ask) => {
    await expectOutcome('not_acceptable', path, { ...ask, headers: { ...ask.headers, Accept: 'text/html' } });
  });

  it.each([
    ['bad_request', '\r\n'],
    ['request_timeout', 'Host: a\r\n'],
  ])('describes the %s of a request that is not valid HTTP or does not end', async (expected, lines) => {
    const impatient = await Service.start({ HEADERS_TIMEOUT: '100' });
    const answer = answerOf(await impatient.raw(`GET /v1/pets HTTP/1.1\r\n${lines}`));
    await impatient.stop();
    contract.check('GET', '/v1/pets', answer);
    expect(outcome(answer)).toBe(expected);
    outcomes.add(expected);
  });

  it('describes what createPet answers while the first request with the key is worked on', async () => {
    const other = new Libsql(store.url.slice('sqlite:'.length));
    other.exec('BEGIN IMMEDIATE');
    const ask = creating('{"name":"Bella","categoryId":42}', { ...JSON_TYPE, 'Idempotency-Key': 'held' });
    const first = service.send('/v1/pets', ask);
    await service.send('/v1/pets');
    await expectOutcome('idempotency_in_progress', '/v1/pets', ask);
    other.exec('ROLLBACK');
    other.close();
    expect(outcome(await first)).toBe('201');
  });

  it('describes what the operations answer to a key that makes too many requests', async () => {
    const limited = await Service.start({ RATE_LIMIT: '1' });
    await limited.send('/v1/pets');
    for (const [, path, ask] of operations) {
      const answer = await limited.send(path, ask);
      expect(outcome(answer)).toBe('rate_limited');
    }
    await limited.stop();
    outcomes.add('rate_limited');
  });

  it('describes what the operations answer when the service is at fault', async () => {
    const file = new Libsql(store.url.slice('sqlite:'.length));
    file.exec('PRAGMA foreign_keys = OFF; DROP TABLE pet');
    file.close();
    for (const [, path, ask] of operations) await expectOutcome('internal_error', path, ask);
  });

  it('describes what the operations answer while the store cannot', async () => {
    await service.app.get(Store).close();
    for (const [, path, ask] of operations) await expectOutcome('service_unavailable', path, ask);
  });

  it('has no operation, status, header or error code that none of these requests meets', () => {
    expect(contract.unmet()).toEqual([]);
    const { components } = JSON.parse(contract.json) as {
      components: { schemas: { Error: { properties: { code: { enum: string[] } } } } };
    };
    expect(components.schemas.Error.properties.code.enum.filter((code) => !outcomes.has(code))).toEqual([]);
  });
});

describe('an answer that is not as documented', () => {
  const good: Answer = {
    status: 200,
    headers: { 'content-type': 'application/json', 'x-request-id': 'a' },
    rawHeaders: [],
    body: '[{"id":1,"name":"Bella","categoryId":42,"status":"sold"}]',
  };
  let contract: ApiContract;

  beforeAll(async () => {
    const service = await Service.start();
    contract = service.contract();
    await service.stop();
  });

  it.each<[string, Partial<Answer>, RegExp]>([
    ['an undocumented status', { status: 202 }, /listPets does not document 202/],
    ['no request id', { headers: { 'content-type': 'application/json' } }, /lacks the header X-Request-Id/],
    ['a bad header', { headers: { ...good.headers, link: '</v1/pets>' } }, /the header Link must match pattern/],
    ['an undocumented header', { headers: { ...good.headers, 'x-total': '1' } }, /undocumented headers: x-total/],
    ['another type', { headers: { ...good.headers, 'content-type': 'text/plain' } }, /documented to be text\/plain/],
    ['an integer outside of int64', { body: good.body.replace('42', '9223372036854775808') }, /is no int64/],
    ['a rounded integer', { body: good.body.replace('42', '4.2e19') }, /is no int64/],
    ['a missing field', { body: good.body.replace('"status":"sold"', '"x":1') }, /required property 'status'/],
    ['an undocumented field', { body: good.body.replace('}', ',"x":1}') }, /must NOT have unevaluated properties/],
    [
      'a code of another operation',
      { status: 404, body: '{"code":"pet_not_found","message":"","status":404}' },
      /listPets does not document 404 pet_not_found/,
    ],
    [
      'another status in the body',
      { status: 401, body: '{"code":"api_key_missing","message":"","status":400}' },
      /the status of the body is another/,
    ],
  ])('is refused for %s', (_fault, change, complaint) => {
    contract.check('GET', '/v1/pets', good);
    expect(() => contract.check('GET', '/v1/pets', { ...good, ...change })).toThrow(complaint);
  });
});
