import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ErrorCode } from '../../../src/adapters/http/errors/error-code.js';
import { Connection } from '../../support/connection.js';
import { expectErrorBody } from '../../support/error-body.js';
import { Service } from '../../support/service.js';

/** A part of a request and what is to be said of it; nothing if it is well. */
interface Part {
  readonly text: string;
  readonly code?: ErrorCode;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: readonly Part[];
  readonly key: Part;
  readonly accept: Part;
  readonly type: Part;
  readonly encoding: Part;
  readonly members: readonly (Part & { readonly field: string })[];
  readonly tail: Part;
  readonly chunked: boolean;
}

const well = (...texts: string[]) => texts.map((text): Part => ({ text }));
const ill = (code: ErrorCode, ...texts: string[]) => texts.map((text): Part => ({ text, code }));
/** A choice that is more often well than not. */
const mostly = (good: Part[], bad: Part[], weight = 5) =>
  fc.oneof({ arbitrary: fc.constantFrom(...good), weight }, { arbitrary: fc.constantFrom(...bad), weight: 1 });

const KEY = 'a-key-of-the-model';

const member = (field: string, good: string[], bad: string[]) =>
  mostly(well(...good), ill('invalid_field', ...bad)).map((part) => ({ ...part, field }));

const asked: fc.Arbitrary<Asked> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'POST', 'POST', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH'),
  path: fc.constantFrom(
    '/v1/pets',
    '/v1/pets',
    '/v1/pets',
    '/v1/pets/1',
    '/v1/pets/%31',
    '/v1/pets/0',
    '/v1/pets/x',
    '/v1/pets/9223372036854775808',
    '/v1/pets/',
    '/v1/Pets',
    '/v1/pets/1/x',
    '/nothing',
  ),
  query: fc.oneof(
    { arbitrary: fc.constant([]), weight: 3 },
    {
      arbitrary: fc.array(
        mostly(
          well('limit=1', 'limit=100', 'limit=%35', 'status=sold', 'status=available'),
          [
            ...ill('invalid_parameter', 'limit=0', 'limit=', 'limit=1e1', 'status=Sold', 'status='),
            ...ill('unknown_parameter', 'page=2', 'Limit=3', '__proto__=1', '='),
          ],
          3,
        ),
        { maxLength: 3 },
      ),
      weight: 1,
    },
  ),
  key: mostly(
    well(`Bearer ${KEY}`, `bEARER  ${KEY}`),
    [
      ...ill('api_key_invalid', `Bearer ${KEY}x`, 'Bearer', 'Bearer a,b'),
      ...ill('api_key_missing', `Basic ${KEY}`, KEY),
    ],
    12,
  ),
  accept: mostly(
    well('*/*', 'application/json', 'text/html, application/*;q=0.1'),
    ill('not_acceptable', 'text/html', 'application/json; q=0', 'image/*'),
    8,
  ),
  type: mostly(
    well('application/json', 'Application/JSON; charset="UTF-8"'),
    ill('unsupported_media_type', 'text/plain', 'application/json; charset=latin1', ''),
    8,
  ),
  encoding: mostly(well('identity'), ill('unsupported_media_type', 'gzip', 'br'), 12),
  members: fc.array(
    fc.oneof(
      {
        arbitrary: member(
          'name',
          ['"Bella"', '"\\u00e9"', `"${'x'.repeat(255)}"`],
          ['1', 'null', '""', '" "', '"\\ud800"', '"\\u0000"', '[]', `"${'x'.repeat(256)}"`],
        ),
        weight: 4,
      },
      {
        arbitrary: member(
          'categoryId',
          ['1', '-0', '1e3', '9223372036854775807', '2.0'],
          ['1.5', '"1"', 'true', '9223372036854775808', '1e99', '{}'],
        ),
        weight: 4,
      },
      { arbitrary: member('status', ['"sold"', '"pending"'], ['null', '"SOLD"', '""', '[]']), weight: 2 },
      {
        arbitrary: fc
          .constantFrom('id', 'Name', '__proto__', 'constructor', '')
          .map((field) => ({ field, text: '1', code: 'unknown_field' as const })),
        weight: 1,
      },
    ),
    { maxLength: 5 },
  ),
  tail: mostly(well('', ' \n'), ill('invalid_json', 'x', ',', '{}', '\xff', '\u00a0'), 12),
  chunked: fc.boolean(),
});

/** What the decisions say of a request: the status, and the code of an error. */
function expected({ method, path, query, key, accept, type, encoding, members, tail }: Asked): [number, ErrorCode?] {
  if (key.code) return [401, key.code];
  const one = /^\/v1\/pets\/[^/]+$/.test(path);
  if (path !== '/v1/pets' && !one) return [404, 'route_not_found'];
  if (method === 'OPTIONS') return [204];
  const reads = method === 'GET' || method === 'HEAD';
  if (!reads && (one || method !== 'POST')) return [405, 'method_not_allowed'];
  if (accept.code) return [406, accept.code];
  const fault = queryFault(query, reads && !one);
  if (fault) return [400, fault];
  if (one) return path === '/v1/pets/1' || path === '/v1/pets/%31' ? [200] : [404, 'pet_not_found'];
  if (reads) return [200];
  if (type.code ?? encoding.code) return [415, 'unsupported_media_type'];
  if (tail.code) return [400, tail.code];
  const bad = bodyFault(members);
  return bad ? [400, bad] : [201];
}

function queryFault(query: Asked['query'], lists: boolean): ErrorCode | undefined {
  const seen = new Set<string>();
  for (const { text, code } of query) {
    const [name = ''] = text.split('=');
    if (!lists) return 'unknown_parameter';
    if (seen.has(name) && (name === 'limit' || name === 'status')) return 'repeated_parameter';
    if (code) return code;
    seen.add(name);
  }
  return undefined;
}

function bodyFault(members: Asked['members']): ErrorCode | undefined {
  const seen = new Set<string>();
  for (const { field, code } of members) {
    if (seen.has(field)) return 'duplicate_field';
    if (code) return code;
    seen.add(field);
  }
  return seen.has('name') && seen.has('categoryId') ? undefined : 'missing_field';
}

function textOf({ method, path, query, key, accept, type, encoding, members, tail, chunked }: Asked): string {
  const body = `{${members.map(({ field, text }) => `"${field}":${text}`).join(',')}}${tail.text}`;
  const target = path + (query.length > 0 ? `?${query.map(({ text }) => text).join('&')}` : '');
  const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`;
  return [
    `${method} ${target} HTTP/1.1`,
    'Host: pets.example',
    `Authorization: ${key.text}`,
    `Accept: ${accept.text}`,
    `Content-Type: ${type.text}`,
    `Content-Encoding: ${encoding.text}`,
    framing,
    '',
    chunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body,
  ].join('\r\n');
}

let service: Service;
let connection: Connection;

beforeAll(async () => {
  service = await Service.start({ API_KEYS: KEY });
  await service.add('{"name":"First","categoryId":1}');
  connection = await Connection.open(service.port);
});

afterAll(async () => {
  connection.destroy();
  await service.stop();
});

it('answers some thousand generated requests as the decisions say, on one connection, and none with 5xx', async () => {
  await fc.assert(
    fc.asyncProperty(asked, async (request) => {
      connection.write(textOf(request));
      const head = request.method === 'HEAD';
      const answer = await connection.answer(head);
      const error = answer.status >= 400 && !head ? expectErrorBody(answer) : undefined;
      const [status, code] = expected(request);
      expect([answer.status, error?.code]).toEqual([status, head ? undefined : code]);
      // A chunked body of unknown length that nobody read may cost the connection, and nothing else may.
      if (answer.header('Connection') === 'close') {
        expect(request.chunked).toBe(true);
        await connection.closed;
        connection = await Connection.open(service.port);
      }
    }),
    { numRuns: 3_000 },
  );
});
