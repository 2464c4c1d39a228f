import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ERROR_STATUS, ErrorCode } from '../../src/adapters/http/errors/error-code.js';
import { Connection } from '../support/connection.js';
import { expectErrorBody } from '../support/error-body.js';
import { FIELDS, newPetJson } from '../support/fields.js';
import { OPERATIONS } from '../support/operations.js';
import { Service } from '../support/service.js';

const KEY = 'a-key-of-the-model';

/** The codes of what may be wrong with a generated request, in the order of the checks. */
const ORDER: readonly (readonly ErrorCode[])[] = [
  ['api_key_missing', 'api_key_invalid'],
  ['route_not_found'],
  ['method_not_allowed'],
  ['not_acceptable'],
  ['invalid_parameter', 'repeated_parameter', 'unknown_parameter'],
  ['invalid_cursor'],
  ['pet_not_found'],
  ['unsupported_media_type'],
  ['invalid_json'],
  ['missing_field', 'invalid_field', 'unknown_field', 'duplicate_field'],
];

/** A part of a request and, if it is wrong, the code of the error. */
type Part = readonly [text: string, code?: ErrorCode];

const part = (valid: string[], invalid: Part[]) =>
  fc.oneof(
    { arbitrary: fc.constantFrom(...valid).map((text): Part => [text]), weight: 8 },
    { arbitrary: fc.constantFrom(...invalid), weight: 1 },
  );

interface Member {
  readonly text: readonly string[];
  readonly code?: ErrorCode;
}

/** The members of a NewPet, each of them valid, invalid, absent or given twice. */
const newPet = fc.tuple(
  ...FIELDS.map(({ name, required, valid, invalid }) => {
    const members = (values: readonly string[], times: number, code?: ErrorCode) =>
      fc
        .constantFrom(...values)
        .map((value): Member => ({ text: Array<string>(times).fill(`"${name}":${value}`), code }));
    return fc.oneof(
      { arbitrary: members(valid, 1), weight: 12 },
      { arbitrary: members(invalid, 1, 'invalid_field'), weight: 1 },
      { arbitrary: members(valid, 0, required ? 'missing_field' : undefined), weight: 1 },
      { arbitrary: members(valid, 2, 'duplicate_field'), weight: 1 },
    );
  }),
);

const request = fc.record({
  operation: fc.constantFrom(...OPERATIONS),
  /** Which invalid request of the operation; undefined: its valid one. */
  invalid: fc.option(fc.nat(), { freq: 2, nil: undefined }),
  newPet,
  path: part([''], [['/x/y', 'route_not_found']]),
  method: part([''], [['PROPFIND', 'method_not_allowed']]),
  query: part([''], [['nothing=1', 'unknown_parameter']]),
  key: part(
    [`Bearer ${KEY}`, `bEARER  ${KEY}`],
    [
      [`Bearer ${KEY}x`, 'api_key_invalid'],
      ['Bearer a,b', 'api_key_invalid'],
      [`Basic ${KEY}`, 'api_key_missing'],
    ],
  ),
  accept: part(
    ['*/*', 'application/json', 'text/html, application/*;q=0.1'],
    [
      ['text/html', 'not_acceptable'],
      ['application/json; q=0', 'not_acceptable'],
    ],
  ),
  type: part(
    ['application/json', 'Application/JSON; charset="UTF-8"'],
    [
      ['text/plain', 'unsupported_media_type'],
      ['application/json; charset=latin1', 'unsupported_media_type'],
    ],
  ),
  encoding: part(['identity'], [['gzip', 'unsupported_media_type']]),
  tail: part(
    ['', ' \n'],
    [
      ['x', 'invalid_json'],
      ['{}', 'invalid_json'],
      ['\xff', 'invalid_json'],
    ],
  ),
  isChunked: fc.boolean(),
});

type Generated = typeof request extends fc.Arbitrary<infer Value> ? Value : never;

/** The bytes of a request, and the code with which it is rejected. */
function compose(generated: Generated): { bytes: Buffer; code?: ErrorCode } {
  const { operation, newPet, key, accept, type, encoding, query, path, tail, isChunked } = generated;
  const { hasBody = false, invalid } = operation;
  const row = generated.invalid === undefined ? undefined : invalid[generated.invalid % invalid.length];
  const { target, body = '' } = row ?? operation.valid;
  const members = operation.name === 'createPet' && !row ? newPet : [];
  // Missing fields are named after all others.
  const isMissing = ({ code }: Member) => code === 'missing_field';
  const ofMembers = [...members.filter((each) => !isMissing(each)), ...members.filter(isMissing)];
  const codes = [
    ...[row, ...ofMembers].map((each) => each?.code),
    ...[key, path, generated.method, accept, query, ...(hasBody ? [type, encoding, tail] : [])].map(([, code]) => code),
  ];
  const json = members.length > 0 ? `{${members.flatMap(({ text }) => text).join()}}` : body;
  const content = hasBody ? json + tail[0] : '';
  const length = Buffer.byteLength(content);
  const [first, search] = target.split('?');
  const queries = [search, query[0]].filter(Boolean).join('&');
  const method = generated.method[0] || operation.method;
  const head = [
    `${method} ${first}${path[0]}${queries && `?${queries}`} HTTP/1.1`,
    ...['Host: pets.example', `Authorization: ${key[0]}`, `Accept: ${accept[0]}`],
    ...(hasBody ? [`Content-Type: ${type[0]}`, `Content-Encoding: ${encoding[0]}`] : []),
    hasBody && isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`,
  ].join('\r\n');
  const framed = hasBody && isChunked ? `${length.toString(16)}\r\n${content}\r\n0\r\n\r\n` : content;
  return {
    bytes: Buffer.from(`${head}\r\n\r\n${framed}`),
    code: ORDER.flatMap((stage) => codes.find((code) => code && stage.includes(code)) ?? [])[0],
  };
}

let service: Service;
let connection: Connection;

beforeAll(async () => {
  service = await Service.start({ API_KEYS: KEY });
  await service.add(newPetJson());
  connection = await Connection.open(service.port);
});

afterAll(async () => {
  connection.destroy();
  await service.stop();
});

it('generated requests on one connection are answered in the order of the checks, and none with 5xx', async () => {
  await fc.assert(
    fc.asyncProperty(request, async (generated) => {
      const { bytes, code } = compose(generated);
      connection.write(bytes);
      const response = await connection.answer();
      expect(response.status).toBe(code === undefined ? generated.operation.success : ERROR_STATUS[code]);
      if (response.status >= 400) expect(expectErrorBody(response).code).toBe(code);
      // Only a chunked body that was not read may cost the connection.
      if (response.header('Connection') === 'close') {
        expect(generated.isChunked).toBe(true);
        await connection.closed;
        connection = await Connection.open(service.port);
      }
    }),
    { numRuns: 500 },
  );
});
