import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ERROR_STATUS, ErrorCode } from '../../../src/adapters/http/errors/error-code.js';
import { ApiKeyService } from '../../../src/application/keys/api-key.service.js';
import { StoreUnavailable } from '../../../src/application/errors.js';
import { PetRepository } from '../../../src/application/pets/pet-repository.port.js';
import { Connection, WireAnswer } from '../../support/connection.js';
import { expectErrorBody } from '../../support/error-body.js';
import { Service } from '../../support/service.js';

/** Codes that it takes more than one connection to reach, or a setting that is off here. */
const REACHED_ELSEWHERE: readonly ErrorCode[] = ['idempotency_in_progress', 'rate_limited'];

const keys = { good: '', expired: '', revoked: '' };
const PET = '{"name":"Bella","categoryId":1}';

const get = (target: string, more = '') =>
  `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys.good}\r\n${more}\r\n`;
const list = (authorization: string) => `GET /v1/pets HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`;
const post = (body: string, more = 'Content-Type: application/json\r\n') =>
  `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${keys.good}\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
const json = (more: string) => `Content-Type: application/json\r\n${more}\r\n`;

/** For each code a request that is answered with it. */
const REQUESTS: readonly (() => string)[] = [
  () => 'hello?\r\n\r\n',
  () => post('{'),
  () => post('[]'),
  () => post('{"name":"Bella"}'),
  () => post('{"name":1,"categoryId":1}'),
  () => post(`{"id":1,${PET.slice(1)}`),
  () => post('{"name":"A","name":"A","categoryId":1}'),
  () => get('/v1/pets?limit=0'),
  () => get('/v1/pets?page=1'),
  () => get('/v1/pets?limit=1&limit=1'),
  () => get('/v1/pets?cursor=1'),
  () => post(PET, json('Idempotency-Key: ')),
  () => list(''),
  () => list('Authorization: Bearer nobody\r\n'),
  () => list(`Authorization: Bearer ${keys.expired}\r\n`),
  () => list(`Authorization: Bearer ${keys.revoked}\r\n`),
  () => get('/v1/pets/999'),
  () => get('/v1/owners'),
  () => get('/v1/pets').replace('GET', 'PUT'),
  () => get('/v1/pets', 'Accept: text/html\r\n'),
  () => 'GET /v1/pets HTTP/1.1\r\n',
  () => post(PET.padEnd(65_537)),
  () => get(`/${'a'.repeat(13_000)}`),
  () => post(PET, ''),
  () => post(PET, json('Expect: 200-ok')),
  () => post(PET.replace('1', '2'), json('Idempotency-Key: taken')),
  () => get('/v1/pets', `X-A: ${'a'.repeat(17_000)}\r\n`),
  () => get('/v1/pets/500'),
  () => get('/v1/pets/503'),
];

let service: Service;

beforeAll(async () => {
  service = await Service.start({ HEADERS_TIMEOUT: '200' });
  const issued = service.app.get(ApiKeyService);
  keys.good = service.key;
  keys.expired = (await issued.create('expired', new Date(Date.now() + 50))).text;
  keys.revoked = (await issued.create('revoked')).text;
  await issued.revoke('revoked');
  await ask(post(PET, json('Idempotency-Key: taken')));
  while ((await ask(list(`Authorization: Bearer ${keys.expired}\r\n`))).status === 200);
  const store = service.app.get(PetRepository);
  const find = store.find.bind(store);
  store.find = (id) => {
    if (id === 500n) return Promise.reject(new Error('SELECT secret FROM /etc/passwd'));
    return id === 503n ? Promise.reject(new StoreUnavailable('The disk is full.')) : find(id);
  };
});

afterAll(() => service.stop());

function ask(request: string): Promise<WireAnswer> {
  return Connection.ask(service.port, request);
}

it('reaches every code of the closed list, and none that is not on it', async () => {
  const reached = await Promise.all(REQUESTS.map(async (request) => expectErrorBody(await ask(request())).code));
  expect([...reached, ...REACHED_ELSEWHERE].sort()).toEqual(Object.keys(ERROR_STATUS).sort());
});

it('has the same list as an enum in the served OpenAPI document', async () => {
  const document = JSON.parse((await service.send('/openapi.json', { key: false })).body) as {
    components: { schemas: { Error: { properties: { code: { enum: string[] } } } } };
  };
  expect(document.components.schemas.Error.properties.code.enum.sort()).toEqual(Object.keys(ERROR_STATUS).sort());
});

it('writes the codes in snake_case', () => {
  for (const code of Object.keys(ERROR_STATUS)) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
});

it('tells nothing of a fault of the service but that it failed', async () => {
  const error = expectErrorBody(await ask(get('/v1/pets/500')));
  expect(error.message).toBe('The service failed; the request id finds the reason in its log.');
});

it('answers a store that cannot answer with 503 and Retry-After', async () => {
  const answer = await ask(get('/v1/pets/503'));
  expect(expectErrorBody(answer).message).toBe('The store cannot answer now; try again.');
  expect(answer.header('Retry-After')).toBe('1');
});
