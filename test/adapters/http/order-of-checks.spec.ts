import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ErrorCode } from '../../../src/adapters/http/errors/error-code.js';
import { ApiKeyService } from '../../../src/application/keys/api-key.service.js';
import { Connection } from '../../support/connection.js';
import { expectErrorBody } from '../../support/error-body.js';
import { Service } from '../../support/service.js';

/** The stages of the checks: a fault of an earlier one is answered, whatever else is wrong. */
const STAGES = [
  'protocol error',
  'CORS preflight',
  '401',
  // 429 stands here: it is not in the request but in what came before it, and has a test of its own below.
  '404 route',
  '405',
  '406',
  'query 400',
  '404 pet',
  '415 type',
  '415 encoding',
  '413 size',
  '408 body',
  '400 JSON',
  '400 fields',
  'idempotency 400',
  'idempotency 422',
] as const;

/** A request that would succeed, to be spoiled. */
interface Draft {
  method: string;
  path: string;
  query: string;
  version: string;
  host: string[];
  authorization: string[];
  headers: string[];
  contentType: string[];
  framing: string;
  body: string;
  /** What ends the header section, and with it lets the request begin. */
  end: string;
}

type Part = keyof Draft | 'accept' | 'expect' | 'encoding' | 'idempotency key' | 'padding';

type Operation = 'listPets' | 'createPet' | 'getPet';

interface Fault {
  readonly name: string;
  readonly stage: (typeof STAGES)[number];
  /** The code of the answer; a number if it is no error. */
  readonly answer: ErrorCode | 204;
  /** The operations that it can be put into; all if absent. */
  readonly on?: readonly Operation[];
  /** The parts of the request that it takes up: two faults that share one cannot stand in one request. */
  readonly parts: readonly Part[];
  readonly spoil: (draft: Draft) => void;
}

const PET = '{"name":"Bella","categoryId":1}';
const POST = ['createPet'] as const;
const keys = { expired: '', revoked: '' };

const FAULTS: readonly Fault[] = [
  fault('a malformed request line', 'protocol error', 'bad_request', ['method'], (d) => (d.method = 'G@T')),
  fault('a version that is none', 'protocol error', 'bad_request', ['version'], (d) => (d.version = 'HTTP/3.0')),
  fault('a target with a fragment', 'protocol error', 'bad_request', ['query'], (d) => (d.query = '#top')),
  fault('a target that is too long', 'protocol error', 'uri_too_long', ['path'], (d) => (d.path += 'a'.repeat(13_000))),
  fault('no Host', 'protocol error', 'bad_request', ['host'], (d) => (d.host = [])),
  fault('two Hosts', 'protocol error', 'bad_request', ['host'], (d) => (d.host = ['Host: a', 'Host: a'])),
  fault('a Host that is none', 'protocol error', 'bad_request', ['host'], (d) => (d.host = ['Host: a b'])),
  fault('too large a header section', 'protocol error', 'headers_too_large', ['padding'], (d) =>
    d.headers.push(`X-Padding: ${'a'.repeat(17_000)}`),
  ),
  fault('an expectation that cannot be met', 'protocol error', 'expectation_failed', ['expect'], (d) =>
    d.headers.push('Expect: a-miracle'),
  ),
  fault(
    'a header section that does not end in time',
    'protocol error',
    'request_timeout',
    ['end'],
    (d) => (d.end = ''),
  ),
  fault('two kinds of framing', 'protocol error', 'bad_request', ['framing'], (d) => {
    d.framing = 'Content-Length: 5\r\nTransfer-Encoding: chunked';
  }),
  fault('a chunk size that is none', 'protocol error', 'bad_request', ['framing', 'body'], (d) => {
    d.framing = 'Transfer-Encoding: chunked';
    d.body = 'xyz\r\n';
  }),
  fault('a preflight of an allowed origin', 'CORS preflight', 204, ['method', 'framing', 'body'], (d) => {
    d.method = 'OPTIONS';
    d.headers.push('Origin: https://shop.example', 'Access-Control-Request-Method: POST');
  }),
  fault('no key', '401', 'api_key_missing', ['authorization'], (d) => (d.authorization = [])),
  fault(
    'a key of another scheme',
    '401',
    'api_key_missing',
    ['authorization'],
    (d) => (d.authorization = ['Basic YTpi']),
  ),
  fault(
    'a key that is none',
    '401',
    'api_key_invalid',
    ['authorization'],
    (d) => (d.authorization = ['Bearer nobody']),
  ),
  fault('a key that has expired', '401', 'api_key_expired', ['authorization'], (d) => {
    d.authorization = [`Bearer ${keys.expired}`];
  }),
  fault('a key that was revoked', '401', 'api_key_revoked', ['authorization'], (d) => {
    d.authorization = [`Bearer ${keys.revoked}`];
  }),
  fault('two Authorization headers', '401', 'api_key_invalid', ['authorization'], (d) => {
    d.authorization = [...d.authorization, ...d.authorization];
  }),
  fault('an unknown path', '404 route', 'route_not_found', ['path'], (d) => (d.path = '/v1/owners')),
  fault('a path outside of /v1', '404 route', 'route_not_found', ['path'], (d) => (d.path = '/V1/pets')),
  fault('a trailing slash', '404 route', 'route_not_found', ['path'], (d) => (d.path = '/v1/pets/')),
  fault('a method that the path has not', '405', 'method_not_allowed', ['method'], (d) => (d.method = 'DELETE')),
  fault('an Accept without JSON', '406', 'not_acceptable', ['accept'], (d) => d.headers.push('Accept: text/html')),
  fault('an unknown parameter', 'query 400', 'unknown_parameter', ['query'], (d) => (d.query = '?colour=red')),
  fault('a bad limit', 'query 400', 'invalid_parameter', ['query'], (d) => (d.query = '?limit=0'), ['listPets']),
  fault('two limits', 'query 400', 'repeated_parameter', ['query'], (d) => (d.query = '?limit=1&limit=1'), [
    'listPets',
  ]),
  fault('a bad cursor', 'query 400', 'invalid_cursor', ['query'], (d) => (d.query = '?cursor=1'), ['listPets']),
  fault('an id of no pet', '404 pet', 'pet_not_found', ['path'], (d) => (d.path = '/v1/pets/999'), ['getPet']),
  fault('an id that is none', '404 pet', 'pet_not_found', ['path'], (d) => (d.path = '/v1/pets/%ff'), ['getPet']),
  fault('no Content-Type', '415 type', 'unsupported_media_type', ['contentType'], (d) => (d.contentType = []), POST),
  fault(
    'another Content-Type',
    '415 type',
    'unsupported_media_type',
    ['contentType'],
    (d) => {
      d.contentType = ['Content-Type: text/plain'];
    },
    POST,
  ),
  fault(
    'a Content-Encoding',
    '415 encoding',
    'unsupported_media_type',
    ['encoding'],
    (d) => d.headers.push('Content-Encoding: gzip'),
    POST,
  ),
  fault(
    'too large a Content-Length',
    '413 size',
    'body_too_large',
    ['framing'],
    (d) => {
      d.framing = 'Content-Length: 65537';
    },
    POST,
  ),
  fault(
    'too many chunks',
    '413 size',
    'body_too_large',
    ['framing', 'body'],
    (d) => {
      d.framing = 'Transfer-Encoding: chunked';
      d.body = `10001\r\n${' '.repeat(65_537)}\r\n0\r\n\r\n`;
    },
    POST,
  ),
  fault(
    'a body that does not come in time',
    '408 body',
    'request_timeout',
    ['framing'],
    (d) => {
      d.framing = 'Content-Length: 60000';
    },
    POST,
  ),
  fault(
    'no body',
    '400 JSON',
    'invalid_body',
    ['framing', 'body', 'contentType', 'encoding'],
    (d) => {
      d.framing = 'Content-Length: 0';
      d.body = '';
    },
    POST,
  ),
  fault('a body that is no JSON', '400 JSON', 'invalid_json', ['body'], (d) => (d.body = '{"name":'), POST),
  fault('a body that is no UTF-8', '400 JSON', 'invalid_json', ['body'], (d) => (d.body = '{"name":"\xff"}'), POST),
  fault('a body that is no object', '400 JSON', 'invalid_body', ['body'], (d) => (d.body = '[]'), POST),
  fault('a missing field', '400 fields', 'missing_field', ['body'], (d) => (d.body = '{"name":"Bella"}'), POST),
  fault(
    'a field of a wrong value',
    '400 fields',
    'invalid_field',
    ['body'],
    (d) => {
      d.body = '{"name":"Bella","categoryId":"1"}';
    },
    POST,
  ),
  fault('an unknown field', '400 fields', 'unknown_field', ['body'], (d) => (d.body = `{"id":1,${PET.slice(1)}`), POST),
  fault(
    'a field twice',
    '400 fields',
    'duplicate_field',
    ['body'],
    (d) => {
      d.body = '{"name":"A","name":"B","categoryId":1}';
    },
    POST,
  ),
  fault(
    'two idempotency keys',
    'idempotency 400',
    'invalid_idempotency_key',
    ['idempotency key'],
    (d) => d.headers.push('Idempotency-Key: a', 'Idempotency-Key: b'),
    POST,
  ),
  fault(
    'an idempotency key of another animal',
    'idempotency 422',
    'idempotency_key_reused',
    ['idempotency key'],
    (d) => d.headers.push('Idempotency-Key: taken'),
    POST,
  ),
  // 409 and 503 come last, and are shown where stores are held up and broken.
];

const PAIRS = FAULTS.map((first, i) => ({
  name: first.name,
  first,
  seconds: FAULTS.slice(i + 1).filter(({ parts }) => !parts.some((part) => first.parts.includes(part))),
}));

describe('the order of checks', () => {
  const settings = { CORS_ORIGINS: 'https://shop.example', HEADERS_TIMEOUT: '500', REQUEST_TIMEOUT: '1000' };
  let service: Service;
  /** A service whose key has made all of its requests. */
  let limited: Service;

  beforeAll(async () => {
    service = await Service.start(settings);
    limited = await Service.start({ ...settings, RATE_LIMIT: '1' });
    await limited.send('/v1/pets');
    await service.add(PET);
    await service.add('{"name":"Taken","categoryId":1}', { 'Idempotency-Key': 'taken' });
    const issued = service.app.get(ApiKeyService);
    keys.expired = (await issued.create('expired', new Date(Date.now() + 50))).text;
    keys.revoked = (await issued.create('revoked')).text;
    await issued.revoke('revoked');
    while ((await service.send('/v1/pets', { key: false, headers: bearer(keys.expired) })).status !== 401);
  });

  afterAll(async () => {
    await service.stop();
    await limited.stop();
  });

  it.each(FAULTS)('answers $name with $answer', async (only) => {
    await Promise.all(operations(only).map((operation) => expectAnswer(operation, [only], [only.answer])));
  });

  it.each(FAULTS)('answers 429 before or after $name, as its place is', async (only) => {
    const before = ['protocol error', 'CORS preflight', '401'].includes(only.stage);
    // The keys that have expired and that were revoked are those of the other service, and not known to this one.
    const answers = only.stage === '401' ? [only.answer, 'api_key_invalid' as const] : [only.answer];
    const expected = before ? answers : ['rate_limited' as const];
    await Promise.all(operations(only).map((operation) => expectAnswer(operation, [only], expected, limited)));
  });

  it.each(PAIRS)('answers $name before what comes after it, and stores nothing', async ({ first, seconds }) => {
    const before = await service.send('/v1/pets?limit=100');
    await Promise.all(
      seconds.flatMap((second) => {
        const [earlier, later] = rank(first) <= rank(second) ? [first, second] : [second, first];
        // Of one stage, either may answer.
        const answers = rank(first) === rank(second) ? [earlier.answer, later.answer] : [earlier.answer];
        return operations(first, second).map((operation) => expectAnswer(operation, [first, second], answers));
      }),
    );
    const after = await service.send('/v1/pets?limit=100');
    expect(after.body).toBe(before.body);
  });

  it('finds pairs of every two stages that can meet', () => {
    const met = new Set(PAIRS.flatMap(({ first, seconds }) => seconds.map(({ stage }) => `${first.stage}, ${stage}`)));
    for (const stage of STAGES.slice(2)) {
      expect(met).toContain(`protocol error, ${stage}`);
      if (stage !== '401') expect(met).toContain(`401, ${stage}`);
    }
    expect(met).toContain('413 size, 400 fields');
    expect(met).toContain('400 fields, idempotency 422');
  });

  async function expectAnswer(
    operation: Operation,
    faults: Fault[],
    answers: (ErrorCode | 204)[],
    asked = service,
  ): Promise<void> {
    const draft = draftOf(operation, asked.key);
    for (const { spoil } of faults) spoil(draft);
    const answer = await Connection.ask(asked.port, textOf(draft));
    const told = answer.status === 204 ? 204 : expectErrorBody(answer).code;
    if (!answers.includes(told)) {
      throw new Error(
        `${operation} with ${faults.map(({ name }) => name).join(' and ')}: ${told}, not ${answers.join()}`,
      );
    }
  }
});

function fault(
  name: string,
  stage: Fault['stage'],
  answer: Fault['answer'],
  parts: readonly Part[],
  spoil: (draft: Draft) => unknown,
  on?: readonly Operation[],
): Fault {
  return { name, stage, answer, parts, spoil, on };
}

function rank({ stage }: Fault): number {
  return STAGES.indexOf(stage);
}

/** The operations that all of the faults can be put into. */
function operations(...faults: Fault[]): Operation[] {
  const all: Operation[] = ['listPets', 'createPet', 'getPet'];
  return all.filter((operation) => faults.every(({ on }) => on?.includes(operation) ?? true));
}

function bearer(key: string): Record<string, string> {
  return { Authorization: `Bearer ${key}` };
}

function draftOf(operation: Operation, key: string): Draft {
  const posts = operation === 'createPet';
  return {
    method: posts ? 'POST' : 'GET',
    path: operation === 'getPet' ? '/v1/pets/1' : '/v1/pets',
    query: '',
    version: 'HTTP/1.1',
    host: ['Host: pets.example'],
    authorization: [`Bearer ${key}`],
    headers: [],
    contentType: posts ? ['Content-Type: application/json'] : [],
    framing: '',
    body: posts ? PET : '',
    end: '\r\n',
  };
}

function textOf(draft: Draft): string {
  const framing = draft.framing || (draft.body === '' ? '' : `Content-Length: ${draft.body.length}`);
  const lines = [
    `${draft.method} ${draft.path}${draft.query} ${draft.version}`,
    ...draft.host,
    ...draft.authorization.map((value) => `Authorization: ${value}`),
    ...draft.contentType,
    ...draft.headers,
    ...(framing === '' ? [] : [framing]),
  ];
  const head = lines.map((line) => `${line}\r\n`).join('');
  return draft.end === '' ? head : head + draft.end + draft.body;
}
