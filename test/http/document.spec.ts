import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import Libsql from 'libsql';
import { ERROR_STATUS } from '../../src/adapters/http/errors/error-code.js';
import { ApiKeyRepository } from '../../src/application/keys/api-key-repository.port.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { Secrets } from '../../src/application/secrets.port.js';
import { Store } from '../../src/open-store.js';
import { breakingChanges } from '../support/breaking-changes.js';
import { FIELDS, newPetJson } from '../support/fields.js';
import { type OperationRequest, OPERATIONS } from '../support/operations.js';
import { type Answer, type Ask, Service } from '../support/service.js';
import { sqlite, type TestStore } from '../support/stores.js';

type Json = Record<string, unknown>;

interface Operation {
  readonly operationId: string;
  readonly deprecated?: boolean;
  readonly description: string;
  readonly parameters: readonly (Json & { readonly name: string; readonly schema: Json })[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Record<string, { readonly schema: Json }> };
  readonly responses: Record<string, { readonly content: Json }>;
}

interface Document {
  readonly info: { readonly version: string };
  readonly servers: readonly { readonly variables: Record<string, { readonly default: string }> }[];
  readonly security: unknown;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly securitySchemes: Json; readonly schemas: Record<string, Json> };
}

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

let store: TestStore;
let service: Service;
let document: Document;

beforeAll(async () => {
  store = await sqlite.create();
  service = await Service.start({ DATABASE_URL: store.url, REQUEST_TIMEOUT: '300' });
  document = JSON.parse(service.contract().json) as Document;
});

afterAll(async () => {
  await service.stop();
  await store.remove();
});

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  );

const operation = (name: string) => operations().find(({ operationId }) => operationId === name) as Operation;

const parameter = (name: string) => operation('listPets').parameters.find((each) => each.name === name);

const property = (schema: string, name: string) =>
  (document.components.schemas[schema]?.properties as Record<string, Json>)[name];

describe('openapi.yaml', () => {
  it('is what the service serves', async () => {
    const yaml = (await service.send('/openapi.yaml', { key: false })).body;
    if (readFileSync('openapi.yaml', 'utf8') !== yaml)
      throw new Error('openapi.yaml is outdated: run "npm run openapi", and commit it.');
    expect(load(yaml)).toEqual(document);
    expect(JSON.parse((await service.send('/openapi.json', { key: false })).body)).toEqual(document);
  });

  it('breaks no client of the last committed version, unless info.version is raised', () => {
    const show = () => execFileSync('git', ['show', 'HEAD:openapi.yaml'], { encoding: 'utf8', stdio: 'pipe' });
    let committed: Document;
    try {
      committed = load(show()) as Document;
    } catch {
      // Not a git checkout, or nothing is committed yet.
      return;
    }
    if (committed.info.version === document.info.version) expect(breakingChanges(committed, document)).toEqual([]);
  });

  it.each([
    ['an operation is removed', /^ {4}post:/m, '    put:', 'paths /pets post is gone'],
    [
      'a maximum is lowered',
      /maximum: 100/,
      'maximum: 50',
      'paths /pets get parameters query limit schema maximum is now 50',
    ],
    ['a value is removed', /\n\s+- sold\n/, '\n', 'components schemas PetStatus enum no longer has sold'],
    [
      'a field is required',
      /(\s+)- categoryId\n/,
      '$1- categoryId$1- status\n',
      'components schemas NewPet required now has status',
    ],
    ['words change', /description: (?![|>]).*/g, 'description: Else.', undefined],
    ['a value is added', /\n(\s+)- sold\n/, '\n$1- sold\n$1- lost\n', undefined],
  ])('breaks clients or does not: %s', (_change, part, replacement, sentence) => {
    const yaml = readFileSync('openapi.yaml', 'utf8');
    const changed = yaml.replace(part, replacement);
    expect(changed).not.toBe(yaml);
    expect(breakingChanges(load(yaml), load(changed))).toEqual(sentence === undefined ? [] : [sentence]);
  });
});

// What interface.md says, without deriving anything from the source.
describe('the document', () => {
  it('has version 1.0.0, and the operations of the table', () => {
    expect(document.info.version).toBe('1.0.0');
    const documented = operations().map(({ operationId, method, path, deprecated = false, requestBody }) => ({
      name: operationId,
      method,
      path,
      deprecated,
      hasBody: requestBody !== undefined,
    }));
    const table = OPERATIONS.map(({ name, method, path, deprecated = false, hasBody = false }) => ({
      name,
      method,
      path,
      deprecated,
      hasBody,
    }));
    expect(documented).toEqual(expect.arrayContaining(table));
    expect(documented).toHaveLength(table.length);
  });

  it('has production and staging as servers, whose addresses are settings', async () => {
    const addresses = ({ servers }: Document) => servers.map(({ variables }) => Object.values(variables)[0]?.default);
    expect(document.servers).toMatchObject([{ url: '{base_url}' }, { url: '{staging_base_url}' }]);
    expect(addresses(document)).toEqual(['/v1', '/v1']);
    const settings = {
      PRODUCTION_BASE_URL: 'https://pets.example.com/v1',
      STAGING_BASE_URL: 'https://staging.example.com/a/v1',
    };
    const other = await Service.start(settings);
    expect(addresses(JSON.parse(other.contract().json) as Document)).toEqual(Object.values(settings));
    await other.stop();
  });

  it('requires a bearer key once, for all operations', () => {
    expect(document.security).toEqual([{ apiKey: [] }]);
    expect(document.components.securitySchemes).toMatchObject({ apiKey: { type: 'http', scheme: 'bearer' } });
    for (const each of operations()) expect(each).not.toHaveProperty('security');
  });

  it('has NewPet with the fields of the table, and Pet with an id besides', () => {
    const { NewPet, Pet } = document.components.schemas;
    expect(Object.keys(NewPet?.properties as Json)).toEqual(FIELDS.map(({ name }) => name));
    expect(NewPet?.required).toEqual(FIELDS.filter(({ required }) => required).map(({ name }) => name));
    expect(property('NewPet', 'name')).toMatchObject({ type: 'string' });
    expect(property('NewPet', 'categoryId')).toMatchObject({ type: 'integer', format: 'int64' });
    expect(property('NewPet', 'status')).toMatchObject({ allOf: [ref('PetStatus'), { default: 'available' }] });
    const [base, own] = Pet?.allOf as [Json, Json];
    expect(base).toEqual(ref('NewPet'));
    expect(own.required).toEqual(expect.arrayContaining(['id', 'status']));
    expect(own.properties).toMatchObject({ id: { type: 'integer', format: 'int64' } });
  });

  it('has PetStatus, Pets and Error', () => {
    const { PetStatus, Pets, Error: error } = document.components.schemas;
    expect(PetStatus).toMatchObject({ type: 'string', enum: ['available', 'pending', 'sold'] });
    expect(Pets).toMatchObject({ type: 'array', items: ref('Pet') });
    expect(error).toMatchObject({ type: 'object', required: ['code', 'message', 'status'] });
    expect((property('Error', 'code') as { enum: string[] }).enum).toEqual(Object.keys(ERROR_STATUS));
    for (const code of Object.keys(ERROR_STATUS)) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  it('has the parameters of listPets and getPet', async () => {
    const limit = { type: 'integer', minimum: 1, maximum: 100, default: 20 };
    expect(parameter('limit')).toMatchObject({ in: 'query', required: false, schema: limit });
    expect(parameter('status')).toMatchObject({ in: 'query', required: false, schema: ref('PetStatus') });
    const petId = { name: 'petId', in: 'path', required: true, schema: { type: 'integer', format: 'int64' } };
    expect(operation('getPet').parameters).toMatchObject([petId]);
    // The pattern of the cursor is that of actual cursors.
    for (let i = 0; i < 2; i++) await service.add(newPetJson());
    const link = (await service.send('/v1/pets?limit=1')).headers.link as string;
    const pattern = new RegExp((parameter('cursor')?.schema as { pattern: string }).pattern, 'u');
    expect(/cursor=([^&>]+)/.exec(link)?.[1]).toMatch(pattern);
    for (const other of ['', 'abc', ' ']) expect(other).not.toMatch(pattern);
  });

  it('has createPet with a required NewPet as JSON, which has no other fields', () => {
    const { required, content } = operation('createPet').requestBody as NonNullable<Operation['requestBody']>;
    expect(required).toBe(true);
    expect(content).toEqual({
      'application/json': expect.objectContaining({ schema: { ...ref('NewPet'), unevaluatedProperties: false } }),
    });
  });

  it('says when getPet is removed, and what replaces it', () => {
    expect(operation('getPet').description).toMatch(/5 December 2030.*`GET \/pets` with the `status` filter/);
  });

  it.each([
    ['listPets', { 200: 'Pets', 401: 'Error' }],
    ['createPet', { 201: 'Pet', 400: 'Error', 401: 'Error' }],
    ['getPet', { 200: 'Pet', 401: 'Error', 404: 'Error' }],
  ])('has the responses of %s as JSON', (name, responses) => {
    for (const [status, schema] of Object.entries(responses)) {
      const json = expect.objectContaining({ schema: ref(schema) }) as unknown;
      expect(operation(name).responses[status]?.content).toEqual({ 'application/json': json });
    }
  });
});

// `Service.send` rejects every response that is not as documented; here every documented one is met.
describe('what the document describes', () => {
  const outcomes = new Set<string>();

  async function send(method: string, { target, headers, body }: OperationRequest, more: Partial<Ask> = {}) {
    const response = await service.send(target, { method, body, ...more, headers: { ...headers, ...more.headers } });
    outcomes.add(outcome(response));
    return response;
  }

  const outcome = ({ status, body }: Pick<Answer, 'status' | 'body'>) =>
    status < 400 || body === '' ? String(status) : (JSON.parse(body) as { code: string }).code;

  const each = async (expected: string, more: Partial<Ask>) => {
    for (const { method, valid } of OPERATIONS) expect(outcome(await send(method, valid, more))).toBe(expected);
  };

  const json = { 'Content-Type': 'application/json' };
  const create = (body: string, headers: Record<string, string> = json): OperationRequest => ({
    target: '/v1/pets',
    headers,
    body,
  });

  /** The name in the documented example of an unknown parameter. */
  const unknownParameter = (name: string) =>
    /"(\w+)\\" is not a query parameter/.exec(JSON.stringify(operation(name).responses['400']))?.[1] ?? 'nothing';

  it('includes success, and the errors of the table', async () => {
    for (const { name, method, valid, success, invalid } of OPERATIONS) {
      expect((await send(method, valid)).status).toBe(success);
      for (const request of invalid) expect(outcome(await send(method, request))).toBe(request.code);
      const unknown = { ...valid, target: `${valid.target.replace(/\?.*/, '')}?${unknownParameter(name)}=1` };
      expect(outcome(await send(method, unknown))).toBe('unknown_parameter');
    }
    expect((await send('HEAD', { target: '/v1/pets' })).status).toBe(200);
  });

  it('includes the errors of an API key', async () => {
    const { app } = service;
    // An hour ago this key was valid for a minute.
    const past = () => Date.now() - 3_600_000;
    const earlier = new ApiKeyService(app.get(ApiKeyRepository), app.get(Secrets), [], past);
    const expired = await earlier.create('expired', new Date(past() + 60_000));
    const revoked = await app.get(ApiKeyService).create('revoked');
    await app.get(ApiKeyService).revoke('revoked');
    const withKey = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });
    await each('api_key_missing', { key: false });
    await each('api_key_invalid', withKey('unknown'));
    await each('api_key_expired', withKey(expired.text));
    await each('api_key_revoked', withKey(revoked.text));
  });

  it('includes the errors of bodies and Idempotency-Keys', async () => {
    const key = { ...json, 'Idempotency-Key': 'a' };
    const cases: [string, OperationRequest][] = [
      ['invalid_json', create('{"name":')],
      ['invalid_body', create('[]')],
      ['duplicate_field', create('{"name":"Bella","name":"Max","categoryId":42}')],
      ['body_too_large', create(' '.repeat(65_537))],
      ['unsupported_media_type', create('{}', { 'Content-Type': 'text/plain' })],
      ['unsupported_media_type', create('{}', { ...json, 'Content-Encoding': 'gzip' })],
      ['invalid_idempotency_key', create(newPetJson(), { ...json, 'Idempotency-Key': 'a b' })],
      ['201', create(newPetJson(), key)],
      ['201', create(newPetJson(), key)],
      ['idempotency_key_reused', create(newPetJson({ name: '"Max"' }), key)],
    ];
    for (const [expected, request] of cases) expect(outcome(await send('POST', request))).toBe(expected);
  });

  it('includes the errors of any request', async () => {
    await each('not_acceptable', { headers: { Accept: 'text/html' } });
    expect(outcome(await send('PROPFIND', { target: '/v1/pets' }))).toBe('method_not_allowed');
    expect(outcome(await send('GET', { target: '/v1/orders' }))).toBe('route_not_found');
    const cases: [string, string][] = [
      ['bad_request', 'GET /v1/pets HTTP/1.1\r\n\r\n'],
      ['request_timeout', 'GET /v1/pets HTTP/1.1\r\nHost: x\r\n'],
      ['expectation_failed', 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n'],
      ['uri_too_long', `GET /v1/pets?${'a'.repeat(13_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
      ['headers_too_large', `GET /v1/pets HTTP/1.1\r\nHost: x\r\nCookie: ${'a'.repeat(17_000)}\r\n\r\n`],
    ];
    for (const [expected, request] of cases) {
      const [head = '', body = ''] = (await service.raw(request)).split('\r\n\r\n');
      const [first, ...lines] = head.split('\r\n');
      const headers = Object.fromEntries(lines.map((line) => line.toLowerCase().split(': ') as [string, string]));
      const response = { status: Number(first?.split(' ')[1]), headers, rawHeaders: [], body };
      service.contract().check('GET', '/v1/pets', response);
      expect(outcome(response)).toBe(expected);
      outcomes.add(expected);
    }
  });

  it('includes a pending Idempotency-Key', async () => {
    const other = new Libsql(store.url.slice('sqlite:'.length));
    other.exec('BEGIN IMMEDIATE');
    const request = create(newPetJson(), { ...json, 'Idempotency-Key': 'held' });
    const first = send('POST', request);
    // When this is answered, the create has arrived.
    await service.send('/v1/pets');
    expect(outcome(await send('POST', request))).toBe('idempotency_in_progress');
    other.exec('ROLLBACK');
    other.close();
    expect(outcome(await first)).toBe('201');
  });

  it('includes the rate limit', async () => {
    const limited = await Service.start({ RATE_LIMIT: '1' });
    await limited.send('/v1/pets');
    for (const { method, valid } of OPERATIONS) {
      const { target, headers, body } = valid;
      const response = await limited.send(target, { method, headers: { ...headers }, body });
      expect(outcome(response)).toBe('rate_limited');
    }
    await limited.stop();
    outcomes.add('rate_limited');
  });

  it('includes faults of the service, which do not leak, and of the database', async () => {
    const file = new Libsql(store.url.slice('sqlite:'.length));
    file.exec('PRAGMA foreign_keys = OFF; ALTER TABLE pet RENAME TO elsewhere');
    file.close();
    await each('internal_error', {});
    const fault = await send('GET', { target: '/v1/pets' });
    expect(fault.body).not.toMatch(/pet\b.*table|SELECT|SQLITE|\.[jt]s:\d/i);
    await service.app.get(Store).close();
    await each('service_unavailable', {});
  });

  it('is all there is: nothing in it was left out above', () => {
    expect(service.contract().unmet()).toEqual([]);
    expect(Object.keys(ERROR_STATUS).filter((code) => !outcomes.has(code))).toEqual([]);
  });
});
