import { beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import type { ErrorCode } from '../../src/adapters/http/errors/error-code.js';
import { expectError } from '../support/error-body.js';
import { FIELDS, newPetJson, petJson } from '../support/fields.js';
import { Service } from '../support/service.js';
import { operation } from './requests.js';

const createPet = operation('createPet');
const required = FIELDS.filter((field) => field.required).map(({ name }) => name);

const service = Service.forSuite();

/** Expects a body to be rejected and nothing to be created; returns the message. */
async function rejected(body: string | Buffer, code: ErrorCode): Promise<string> {
  const before = (await service.send('/v1/pets?limit=1')).body;
  const { message } = expectError(await service.add(body), code);
  expect((await service.send('/v1/pets?limit=1')).body).toBe(before);
  return message;
}

/** The newPetJson with an additional member, which may be a duplicate. */
const withMember = (member: string) => newPetJson().replace(/\}$/, `,${member}}`);

describe('fields', () => {
  it.each(FIELDS)('every valid $name is stored and returned exactly', async ({ name, valid }) => {
    for (const value of valid) {
      const { status, headers, body } = await service.add(newPetJson({ [name]: value }));
      const location = String(headers.location);
      expect(location).toMatch(/^\/v1\/pets\/\d+$/);
      expect([status, body]).toEqual([201, petJson(Number(location.slice('/v1/pets/'.length)), { [name]: value })]);
      expect((await service.send(location)).body).toBe(body);
      expect((await service.send('/v1/pets?limit=1')).body).toBe(`[${body}]`);
    }
  });

  it('names each missing field', async () => {
    expect(await rejected('{}', 'missing_field')).toBe(required.map((name) => `${name} is required.`).join(' '));
  });

  it.each(['9223372036854775807.5', '9'.repeat(60_000)])(
    'rejects a number that is not an int64, with a short message (%#)',
    async (literal) => {
      const message = await rejected(newPetJson({ categoryId: literal }), 'invalid_field');
      expect(message).toMatch(/^categoryId .*-9223372036854775808 to 9223372036854775807, not .{1,50}\.$/);
    },
  );

  it.each(['9007199254740993', '9223372036854775808'])('repeats the integer %s exactly in a message', async (value) => {
    expect(await rejected(newPetJson({ name: value, status: value }), 'invalid_field')).toMatch(
      new RegExp(`^name .* not ${value}\\. status .* not ${value}\\.$`),
    );
  });

  it('repeats a text in a message without interpreting it', async () => {
    const text = '$value $property $constraint1 $&';
    const message = await rejected(newPetJson({ status: JSON.stringify(text) }), 'invalid_field');
    expect(message).toContain(`not "${text}".`);
  });

  it.each([
    ['Status', 'status'],
    ['nmae', 'name'],
    ['id', undefined],
    ['', undefined],
    ['__proto__', undefined],
    ['constructor', undefined],
  ])('rejects the unknown field "%s" and suggests %s', async (name, suggestion) => {
    const message = await rejected(withMember(`${JSON.stringify(name)}:{}`), 'unknown_field');
    expect(message.startsWith(`${JSON.stringify(name)} `)).toBe(true);
    expect(/Did you mean "(.*)"\?$/.exec(message)?.[1]).toBe(suggestion);
  });

  it('does not read fields from the value of __proto__', async () => {
    expect(await rejected(`{"__proto__":${newPetJson()}}`, 'unknown_field')).toContain('name is required.');
  });

  it.each(['"name":"Bella"', '"n\\u0061me":"Max"'])('rejects a duplicate field, as %s', async (member) => {
    expect(await rejected(withMember(member), 'duplicate_field')).toBe('name must be given once.');
  });

  it('names every fault in document order, with the code of the first', async () => {
    const faults = [
      ['"status":"lost"', 'status must be'],
      ['"colour":1', '"colour" is not'],
      ['"categoryId":1.5', 'categoryId must be an integer from -9223372036854775808 to 9223372036854775807, not 1.5.'],
      ['"status":"sold"', 'status must be given once'],
      ['', 'name is required'],
    ] as const;
    const members = faults.map(([member]) => member).filter(Boolean);
    const message = await rejected(`{${members.join()}}`, 'invalid_field');
    const places = faults.map(([, text]) => message.indexOf(text));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places[0]).toBe(0);
    await rejected('{"colour":1,"categoryId":1.5}', 'unknown_field');
  });

  it('names at most ten faults and counts the others', async () => {
    const unknown = (count: number) => Array.from({ length: count }, (_, i) => `"x${i}":1`).join();
    expect(await rejected(withMember(unknown(10)), 'unknown_field')).toMatch(/"x9" is not [^.]*\.$/);
    expect(await rejected(withMember(unknown(22)), 'unknown_field')).toMatch(/"x9" is not [^.]*\. … and 12 more\.$/);
    const long = await rejected(withMember(`"${'x'.repeat(60_000)}":1`), 'unknown_field');
    expect(long.length).toBeLessThan(200);
  });
});

describe('the schema of the OpenAPI document', () => {
  let validate: ValidateFunction;

  beforeAll(() => {
    const { document } = service.contract();
    const schema = document.paths['/pets']?.post?.requestBody?.content['application/json']?.schema;
    const ajv = new Ajv2020({ formats: { int64: true }, strictTypes: false }).addVocabulary(['components', 'example']);
    validate = ajv.compile({ ...schema, components: document.components });
  });

  it('accepts what the service accepts', () => {
    for (const { name, valid } of FIELDS)
      for (const value of valid)
        expect([name, value, validate(JSON.parse(newPetJson({ [name]: value })))]).toEqual([name, value, true]);
  });

  // JSON Schema cannot bound int64 exactly, and its patterns see no lone surrogates.
  it('rejects what the service rejects, except integers beyond int64 and lone surrogates', () => {
    for (const { body = '' } of createPet.invalid) {
      const parsed = JSON.parse(body) as Record<string, unknown>;
      const isHuge = Object.values(parsed).some((value) => Number.isInteger(value) && !Number.isSafeInteger(value));
      if (!isHuge && !/\\ud[89a-f]/i.test(body)) expect([body, validate(parsed)]).toEqual([body, false]);
    }
  });
});

describe('JSON', () => {
  it('rejects an encoded surrogate, which is not UTF-8', async () => {
    await rejected(Buffer.from('5b22eda080225d', 'hex'), 'invalid_json');
  });

  it('rejects a byte order mark', async () => {
    await rejected(`\ufeff${newPetJson()}`, 'invalid_json');
  });

  it('answers 400 to objects nested as deeply as the body allows', async () => {
    const value = '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000);
    expect((await service.add(newPetJson({ name: value }))).status).toBe(400);
  });
});
