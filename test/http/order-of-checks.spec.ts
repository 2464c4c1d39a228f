import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ErrorCode } from '../../src/adapters/http/errors/error-code.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { Connection } from '../support/connection.js';
import { expectErrorBody } from '../support/error-body.js';
import { newPetJson } from '../support/fields.js';
import { type Operation, OPERATIONS } from '../support/operations.js';
import { bytes, KEY } from '../support/raw-requests.js';
import { Service } from '../support/service.js';

type Outcome = ErrorCode | 'preflight';

/** The order of the checks, by their outcomes: an earlier one wins, whatever else is wrong with a request. */
const ORDER: readonly (readonly Outcome[])[] = [
  ['bad_request', 'uri_too_long', 'headers_too_large', 'expectation_failed'],
  ['preflight'],
  ['api_key_missing', 'api_key_invalid', 'api_key_revoked'],
  ['rate_limited'],
  ['route_not_found'],
  ['method_not_allowed'],
  ['not_acceptable'],
  ['unknown_parameter', 'invalid_parameter', 'repeated_parameter', 'invalid_cursor'],
  ['pet_not_found'],
  ['unsupported_media_type'],
  ['body_too_large'],
  ['invalid_json', 'invalid_body'],
  ['missing_field', 'invalid_field', 'unknown_field', 'duplicate_field'],
  ['invalid_idempotency_key'],
  ['idempotency_key_reused'],
  // 409 and 503 come last; they depend on what goes on in the database.
];

const stageOf = (outcome: Outcome) => ORDER.findIndex((outcomes) => outcomes.includes(outcome));

/** Which of two outcomes may be reported: the earlier one, or either if both belong to one stage. */
function allowed(one: Outcome, other: Outcome): Outcome[] {
  const [first, second] = [one, other].sort((a, b) => stageOf(a) - stageOf(b)) as [Outcome, Outcome];
  // A pet may be looked for before or after the body is read.
  return first === 'pet_not_found' || stageOf(first) === stageOf(second) ? [first, second] : [first];
}

/** The parts of a request: `method`, `path`, `query`, `version`, `body` and headers. One that is undefined is not sent. */
type Parts = Readonly<Record<string, string | undefined>>;

/** What is wrong with a request: the parts that it replaces, and the outcome that they lead to. */
interface Fault {
  readonly outcome: Outcome;
  readonly parts: Parts;
}

const fault = (outcome: Outcome, parts: Parts): Fault => ({ outcome, parts });

const REVOKED = 'the revoked key';

/** What can be wrong with a request to any operation. */
const ANYWHERE: readonly Fault[] = [
  fault('bad_request', { version: 'HTTP/3.0' }),
  fault('bad_request', { Host: undefined }),
  fault('uri_too_long', { path: `/${'a'.repeat(13_000)}` }),
  fault('headers_too_large', { 'X-Padding': 'a'.repeat(17_000) }),
  fault('expectation_failed', { Expect: 'a-miracle' }),
  fault('preflight', { method: 'OPTIONS', Origin: 'https://shop.example', 'Access-Control-Request-Method': 'POST' }),
  fault('api_key_missing', { Authorization: undefined }),
  fault('api_key_invalid', { Authorization: 'Bearer nobody' }),
  fault('api_key_revoked', { Authorization: REVOKED }),
  fault('route_not_found', { path: '/v1/owners' }),
  fault('method_not_allowed', { method: 'PROPFIND' }),
  fault('not_acceptable', { Accept: 'text/html' }),
  fault('unknown_parameter', { query: '?colour=red' }),
];

/** What can be wrong with the body of any operation that has one. */
const WITH_BODY: readonly Fault[] = [
  fault('unsupported_media_type', { 'Content-Type': 'text/plain' }),
  fault('unsupported_media_type', { 'Content-Encoding': 'gzip' }),
  fault('body_too_large', { 'Content-Length': '65537' }),
  fault('invalid_json', { body: '{"name":' }),
  fault('invalid_body', { body: '[]' }),
];

/** What can be wrong with the Idempotency-Key of any operation that takes one. */
const WITH_KEY: readonly Fault[] = [
  fault('invalid_idempotency_key', { 'Idempotency-Key': 'a b' }),
  fault('idempotency_key_reused', { 'Idempotency-Key': 'used' }),
];

function faultsOf({ hasBody, takesIdempotencyKey, valid, invalid }: Operation): Fault[] {
  // One of each code is enough.
  const own = [...new Map(invalid.map((request) => [request.code, request])).values()].map((request) => {
    const [path, query = ''] = request.target.split('?');
    if (request.body !== valid.body) return fault(request.code, { body: request.body });
    return fault(request.code, request.target.includes('?') ? { query: `?${query}` } : { path });
  });
  return [...ANYWHERE, ...own, ...(hasBody ? WITH_BODY : []), ...(takesIdempotencyKey ? WITH_KEY : [])];
}

const canMeet = (one: Fault, other: Fault) => Object.keys(one.parts).every((part) => !(part in other.parts));

function requestOf({ method, valid }: Operation, ...faults: Fault[]): Buffer {
  const [path = '', query] = valid.target.split('?');
  const { body = '', headers } = valid;
  const defaults = { method, path, query: query === undefined ? '' : `?${query}`, version: 'HTTP/1.1', body };
  const parts = [
    { ...defaults, Host: 'x', Authorization: `Bearer ${KEY}`, ...headers },
    ...faults.map((each) => each.parts),
  ].reduce<Parts>((all, more) => ({ ...all, ...more }), {});
  const length = parts.body ? { 'Content-Length': String(parts.body.length) } : {};
  const lines = Object.entries({ ...length, ...parts }).flatMap(([name, value]) =>
    name in defaults || value === undefined ? [] : [`${name}: ${value}\n`],
  );
  return bytes(`${parts.method} ${parts.path}${parts.query} ${parts.version}\n${lines.join('')}\n${parts.body}`);
}

describe('the order of checks', () => {
  const settings = { API_KEYS: KEY, CORS_ORIGINS: 'https://shop.example' };
  const service = Service.forSuite(settings);
  let revoked: string;

  beforeAll(async () => {
    await service.add(newPetJson({ name: '"Taken"' }), { 'Idempotency-Key': 'used' });
    const keys = service.app.get(ApiKeyService);
    revoked = `Bearer ${(await keys.create('revoked')).text}`;
    await keys.revoke('revoked');
  });

  async function outcomeOf(port: number, operation: Operation, ...faults: Fault[]): Promise<Outcome> {
    const request = requestOf(operation, ...faults)
      .toString('latin1')
      .replace(REVOKED, revoked);
    const response = await Connection.ask(port, request);
    return response.status === 204 ? 'preflight' : expectErrorBody(response).code;
  }

  const names = (...faults: Fault[]) => JSON.stringify(faults.map(({ parts }) => parts)).slice(0, 200);

  it.each(OPERATIONS)(
    'of $name: of two faults the earlier one is reported, and nothing is stored',
    async (operation) => {
      const before = (await service.send('/v1/pets?limit=100')).body;
      const faults = faultsOf(operation);
      for (const [i, one] of faults.entries()) {
        expect([names(one), await outcomeOf(service.port, operation, one)]).toEqual([names(one), one.outcome]);
        for (const other of faults.slice(i + 1).filter((each) => canMeet(one, each))) {
          const found = await outcomeOf(service.port, operation, one, other);
          const expected = allowed(one.outcome, other.outcome);
          expect([names(one, other), expected]).toEqual([names(one, other), expect.arrayContaining([found])]);
        }
      }
      expect((await service.send('/v1/pets?limit=100')).body).toBe(before);
    },
  );

  it.each(OPERATIONS)('of $name: 429 comes behind 401 and before all else', async (operation) => {
    const limited = await Service.start({ ...settings, RATE_LIMIT: '1' });
    await limited.send('/v1/pets');
    for (const one of faultsOf(operation)) {
      if (one.outcome === 'api_key_revoked') continue;
      const expected = stageOf(one.outcome) < stageOf('rate_limited') ? one.outcome : 'rate_limited';
      expect([names(one), await outcomeOf(limited.port, operation, one)]).toEqual([names(one), expected]);
    }
    await limited.stop();
  });
});
