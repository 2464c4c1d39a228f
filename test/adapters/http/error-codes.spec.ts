import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ERROR_STATUS, ErrorCode } from '../../../src/adapters/http/errors/error-code.js';
import { StoreUnavailable } from '../../../src/application/errors.js';
import { PetRepository } from '../../../src/application/pets/pet-repository.port.js';
import { Connection, WireAnswer } from '../../support/connection.js';
import { expectErrorBody } from '../../support/error-body.js';
import { getRequest, refusedRequests } from '../../support/refused-requests.js';
import { Service } from '../../support/service.js';

/** Codes that it takes more than one connection to reach, or a setting that is off here. */
const REACHED_ELSEWHERE: readonly ErrorCode[] = ['idempotency_in_progress', 'rate_limited'];

let service: Service;
const log: unknown[] = [];

beforeAll(async () => {
  const settings = { NODE_ENV: 'production', LOG_LEVEL: 'error', HEADERS_TIMEOUT: '200' };
  service = await Service.start(settings, (line) => void log.push(JSON.parse(line)));
  const store = service.app.get(PetRepository);
  const find = store.find.bind(store);
  store.find = (id) => {
    if (id === 500n) return Promise.reject(new Error('SELECT secret FROM /etc/passwd'));
    return id === 503n ? Promise.reject(new StoreUnavailable('The disk is full.')) : find(id);
  };
});

afterAll(() => service.stop());

const ask = (request: string): Promise<WireAnswer> => Connection.ask(service.port, request);

const getPet = (id: string): Promise<WireAnswer> => ask(getRequest(service.key, `/v1/pets/${id}`));

it('reaches every code of the closed list, and none that is not on it', async () => {
  const answers = [...(await refusedRequests(service)).map(ask), getPet('500'), getPet('503')];
  const reached = (await Promise.all(answers)).map((answer) => expectErrorBody(answer).code);
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
  const error = expectErrorBody(await getPet('500'));
  expect(error.message).toBe('The service failed; the request id finds the reason in its log.');
});

it('writes such a fault into its log, with the request id of the answer', async () => {
  const request = (await getPet('500')).header('X-Request-Id');
  const msg = expect.stringContaining('SELECT secret FROM /etc/passwd') as unknown;
  expect(log).toContainEqual(expect.objectContaining({ level: 'error', request, msg }));
});

it('answers a store that cannot answer with 503 and Retry-After', async () => {
  const answer = await getPet('503');
  expect(expectErrorBody(answer).message).toBe('The store cannot answer now; try again.');
  expect(answer.header('Retry-After')).toBe('1');
});
