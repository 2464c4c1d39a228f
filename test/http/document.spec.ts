import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { load } from 'js-yaml';
import { ERRORS } from '../../src/adapters/http/errors/error-code.js';
import { IdempotencyInProgress } from '../../src/application/errors.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { PetRepository } from '../../src/application/pets/pet-repository.port.js';
import { Repositories } from '../../src/adapters/persistence/persistence.module.js';
import { rawQuery } from '../stores/raw-query.js';
import type { OpenApi } from '../support/api-contract.js';
import { breakingChanges } from '../support/breaking-changes.js';
import { Connection } from '../support/connection.js';
import { expectErrorBody } from '../support/error-body.js';
import { FIELDS, newPetJson } from '../support/fields.js';
import { type OperationRequest, OPERATIONS } from '../support/operations.js';
import { type Answer, type Ask, Service } from '../support/service.js';
import { sqlite } from '../support/stores.js';

const service = Service.forSuite({ REQUEST_TIMEOUT: '300' }, sqlite);
let document: OpenApi;

beforeAll(() => {
  ({ document } = service.contract());
});

const operations = () => service.contract().operations();

const documented = (name: string) => operations().find(({ operationId }) => operationId === name);

describe('openapi.yaml', () => {
  it('is what the service serves', async () => {
    const committed = load(readFileSync('openapi.yaml', 'utf8'));
    if (!isDeepStrictEqual(committed, document))
      throw new Error('openapi.yaml is outdated: run "npm run openapi", and commit it.');
    for (const path of ['/openapi.yaml', '/openapi.json'])
      expect(load((await service.send(path, { key: false })).body)).toEqual(document);
  });

  it('breaks no client of the last committed version, unless info.version is raised', () => {
    const show = () => execFileSync('git', ['show', 'HEAD:openapi.yaml'], { encoding: 'utf8', stdio: 'pipe' });
    let committed: OpenApi;
    try {
      committed = load(show()) as OpenApi;
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
      /maximum: 100$/m,
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

// What the interface says, without deriving anything from the source.
describe('the document', () => {
  it('has the operations of the table', () => {
    const inDocument = operations().map(
      ({ operationId, method, path, deprecated = false, requestBody, parameters }) => ({
        ...{ name: operationId, method, path, deprecated, hasBody: requestBody !== undefined },
        takesIdempotencyKey: parameters.some(({ name }) => name === 'Idempotency-Key'),
      }),
    );
    const inTable = OPERATIONS.map(({ name, method, path, ...flags }) => {
      const { deprecated = false, hasBody = false, takesIdempotencyKey = false } = flags;
      return { name, method, path, deprecated, hasBody, takesIdempotencyKey };
    });
    expect(inDocument).toEqual(expect.arrayContaining(inTable));
    expect(inDocument).toHaveLength(inTable.length);
  });

  it('has production and staging as servers, whose addresses are settings', async () => {
    const addresses = ({ servers }: OpenApi) => servers.map(({ variables }) => Object.values(variables)[0]?.default);
    expect(document.servers).toMatchObject([{ url: '{base_url}' }, { url: '{staging_base_url}' }]);
    expect(addresses(document)).toEqual(['/v1', '/v1']);
    const settings = {
      PRODUCTION_BASE_URL: 'https://pets.example.com/v1',
      STAGING_BASE_URL: 'https://staging.example.com/a/v1',
    };
    const other = await Service.start(settings);
    expect(addresses(other.contract().document)).toEqual(Object.values(settings));
    await other.stop();
  });

  it('requires a bearer key once, for all operations', () => {
    expect(document.security).toEqual([{ apiKey: [] }]);
    expect(document.components.securitySchemes).toMatchObject({ apiKey: { type: 'http', scheme: 'bearer' } });
    for (const each of operations()) expect(each).not.toHaveProperty('security');
  });

  it('has NewPet with the fields of the table, and the codes of errors in snake_case', () => {
    const { NewPet, Error: error } = document.components.schemas;
    expect(Object.keys(NewPet?.properties as object)).toEqual(FIELDS.map(({ name }) => name));
    expect(NewPet?.required).toEqual(FIELDS.filter(({ required }) => required).map(({ name }) => name));
    expect(error).toMatchObject({ properties: { code: { enum: Object.keys(ERRORS) } } });
    for (const code of Object.keys(ERRORS)) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });

  it('has the pattern of actual cursors', async () => {
    for (let i = 0; i < 2; i++) await service.add(newPetJson());
    const { schema } = documented('listPets')?.parameters.find(({ name }) => name === 'cursor') ?? {};
    const pattern = new RegExp(schema?.pattern as string, 'u');
    const { link } = (await service.send('/v1/pets?limit=1')).headers;
    expect(/cursor=([^&>]+)/.exec(link as string)?.[1]).toMatch(pattern);
    for (const other of ['', 'abc', ' ']) expect(other).not.toMatch(pattern);
  });

  it('has examples of the fields that can be sent, and of what is returned then', async () => {
    const { properties } = document.components.schemas.NewPet as { properties: Record<string, { example: unknown }> };
    const newPet = Object.fromEntries(FIELDS.map(({ name }) => [name, properties[name]?.example]));
    const pet = { ...(JSON.parse((await service.add(newPet)).body) as object), id: 1 };
    const examples = OPERATIONS.map(
      ({ name, success }) => documented(name)?.responses[success]?.content?.['application/json']?.example,
    );
    expect(examples).toEqual([[pet], pet, pet]);
  });

  it('says when getPet is removed, and what replaces it', () => {
    const description = expect.stringMatching(/5 December 2030.*`GET \/pets` with the `status` filter/) as unknown;
    expect(documented('getPet')).toMatchObject({ deprecated: true, description });
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

  const outcome = (response: Answer) =>
    response.status < 400 ? String(response.status) : expectErrorBody(response).code;

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
    /"(\w+)\\" is not a query parameter/.exec(JSON.stringify(documented(name)?.responses['400']))?.[1] ?? 'nothing';

  it('includes success, and the errors of the table, which store nothing', async () => {
    const stored = async () => (await service.send('/v1/pets?limit=100')).body;
    for (const { name, method, valid, success, invalid } of OPERATIONS) {
      expect((await send(method, valid)).status).toBe(success);
      const before = await stored();
      for (const request of invalid)
        expect({ ...request, code: outcome(await send(method, request)) }).toEqual(request);
      expect(await stored()).toBe(before);
      const unknown = { ...valid, target: `${valid.target.replace(/\?.*/, '')}?${unknownParameter(name)}=1` };
      expect(outcome(await send(method, unknown))).toBe('unknown_parameter');
    }
    expect((await send('HEAD', { target: '/v1/pets' })).status).toBe(200);
  });

  it('includes the errors of an API key', async () => {
    const { app } = service;
    const expired = await app.get(ApiKeyService).create('expired', 0);
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
    for (const { method, valid } of OPERATIONS.filter(({ hasBody }) => hasBody)) {
      const [first = ''] = /"\w+":[^,}]+/.exec(valid.body ?? '') ?? [];
      const faults: [string, Partial<OperationRequest>][] = [
        ['invalid_json', { body: '{"name":' }],
        ['invalid_body', { body: '[]' }],
        ['duplicate_field', { body: valid.body?.replace('{', `{${first},`) }],
        ['body_too_large', { body: ' '.repeat(65_537) }],
        ['unsupported_media_type', { headers: { 'Content-Type': 'text/plain' } }],
        ['unsupported_media_type', { headers: { ...json, 'Content-Encoding': 'gzip' } }],
      ];
      for (const [expected, fault] of faults)
        expect(outcome(await send(method, { ...valid, ...fault }))).toBe(expected);
    }
    const cases: [string, OperationRequest][] = [
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
      const response = await Connection.ask(service.port, request);
      service.contract().check('GET', '/v1/pets', response);
      expect(outcome(response)).toBe(expected);
      outcomes.add(expected);
    }
  });

  it('includes a pending Idempotency-Key', async () => {
    // Only transactions of a database server wait for each other.
    jest.spyOn(service.app.get(PetRepository), 'add').mockRejectedValueOnce(new IdempotencyInProgress());
    const headers = { ...json, 'Idempotency-Key': 'pending' };
    expect(outcome(await send('POST', create(newPetJson(), headers)))).toBe('idempotency_in_progress');
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
    const tables = await rawQuery(service.url, `SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'`);
    for (const [name] of tables as [string][])
      await rawQuery(service.url, `ALTER TABLE ${name} RENAME TO missing_${name}`);
    await each('internal_error', {});
    const fault = await send('GET', { target: '/v1/pets' });
    expect(fault.body).not.toMatch(/pet\b.*table|SELECT|SQLITE|\.[jt]s:\d/i);
    await service.app.get(Repositories).close();
    await each('service_unavailable', {});
  });

  it('is all there is: nothing in it was left out above', () => {
    expect(service.contract().unmet()).toEqual([]);
    expect(Object.keys(ERRORS).filter((code) => !outcomes.has(code))).toEqual([]);
  });
});
