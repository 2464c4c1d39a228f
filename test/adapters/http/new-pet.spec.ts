import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { getMetadataStorage } from 'class-validator';
import { jsonMembers } from '../../../src/adapters/http/body/json-object.js';
import { ApiError } from '../../../src/adapters/http/errors/api-error.js';
import { NewPetDto } from '../../../src/adapters/http/pets/new-pet.dto.js';
import { petJson } from '../../../src/adapters/http/pets/pet-json.js';
import { readNewPet } from '../../../src/adapters/http/pets/read-new-pet.js';
import type { Pet } from '../../../src/domain/pets/pet.js';
import { Service } from '../../support/service.js';

interface Schema {
  readonly allOf?: readonly Schema[];
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly required?: readonly string[];
  readonly properties?: Record<string, Schema>;
  readonly example?: unknown;
}

/** An operation of the document, as far as it shows pets. */
interface Operation {
  readonly requestBody: { readonly content: Record<string, { schema: object; examples: { full: { value: object } } }> };
  readonly responses: Record<string, { readonly content: Record<string, { example: object }> }>;
}

/** The served document. */
async function served(): Promise<{
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}> {
  const service = await Service.start();
  const { json } = service.contract();
  await service.stop();
  return JSON.parse(json) as Awaited<ReturnType<typeof served>>;
}

/** The schemas of the served document, with what a schema refers to put in its place. */
async function schemas(): Promise<(name: string) => Schema> {
  const all = (await served()).components.schemas;
  return (name) => resolved({ $ref: `/${name}` });

  function resolved(schema: Schema): Schema {
    const { $ref, allOf = [], ...own } = schema;
    const parts = [...allOf, ...($ref === undefined ? [] : [all[$ref.split('/').at(-1) as string] as Schema])];
    const whole = parts.map(resolved).reduce(merged, own);
    const properties = Object.entries(whole.properties ?? {}).map(([name, property]) => [name, resolved(property)]);
    return { ...whole, properties: Object.fromEntries(properties) as Record<string, Schema> };
  }
}

function merged(a: Schema, b: Schema): Schema {
  return {
    ...b,
    ...a,
    properties: { ...b.properties, ...a.properties },
    required: [...(a.required ?? []), ...(b.required ?? [])],
  };
}

/** What a body is refused for. */
function message(body: string): string {
  try {
    readNewPet(jsonMembers(body));
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
  throw new Error(`${body} is not refused.`);
}

describe('a new pet', () => {
  it('has the same fields in its class, in its rules and in the document', async () => {
    const { properties } = (await schemas())('NewPet');
    const rules = getMetadataStorage().getTargetValidationMetadatas(NewPetDto, '', false, false);
    const fields = Object.keys(new NewPetDto());
    expect(fields.length).toBeGreaterThan(2);
    expect(Object.keys(properties ?? {})).toEqual(fields);
    expect([...new Set(rules.map(({ propertyName }) => propertyName))]).toEqual(fields);
  });

  it('must have the fields that the document requires, and no others', async () => {
    const { required = [] } = (await schemas())('NewPet');
    expect(message('{}')).toBe(required.map((field) => `${field} is required.`).join(' '));
  });

  it('takes texts of the lengths that the document says, and of no others', async () => {
    const { properties = {} } = (await schemas())('NewPet');
    const texts = Object.entries(properties).filter(([, each]) => each.type === 'string' && !each.enum);
    expect(texts.map(([name]) => name)).toContain('name');
    for (const [field, { minLength = 0, maxLength = 0 }] of texts) {
      expect([field, minLength > 0, maxLength > 0]).toEqual([field, true, true]);
      const body = (length: number) => JSON.stringify({ name: 'Bella', categoryId: 1, [field]: 'x'.repeat(length) });
      for (const length of [minLength, maxLength]) readNewPet(jsonMembers(body(length)));
      for (const length of [minLength - 1, maxLength + 1]) expect(message(body(length))).toMatch(`${field} must have`);
    }
  });

  it('is refused for another form of a text, or for a field besides, as the document says', async () => {
    const document = await served();
    const schema = document.paths['/pets']?.post?.requestBody.content['application/json']?.schema;
    const ajv = new Ajv2020({ formats: { int64: true }, strictTypes: false }).addVocabulary(['components', 'example']);
    const validate = ajv.compile({ ...schema, components: document.components });
    const names = ['Bella', ' x ', '\u2028x', '🐶', 'x'.repeat(255), '🐶'.repeat(255)];
    const others = ['', ' ', '\u3000\u2003', 'x\0', 'a\nb', '\u007fx', 'x\u0085', 'x'.repeat(256), '🐶'.repeat(256)];
    for (const name of [...names, ...others]) {
      const body = { name, categoryId: 1 };
      expect([name, validate(body)]).toEqual([name, names.includes(name)]);
      if (names.includes(name)) readNewPet(jsonMembers(JSON.stringify(body)));
      else expect(message(JSON.stringify(body))).toMatch(/^name /);
    }
    for (const field of ['id', 'Status', 'colour'])
      expect([field, validate({ name: 'Bella', categoryId: 1, [field]: 1 })]).toEqual([field, false]);
    for (const status of [null, 'Available', 'lost', '', 1])
      expect([status, validate({ name: 'Bella', categoryId: 1, status })]).toEqual([status, false]);
  });

  it('has each field in the examples of the document that have every one', async () => {
    const { paths } = await served();
    const [list, one] = [paths['/pets'], paths['/pets/{petId}']];
    const sent = list?.post?.requestBody.content['application/json']?.examples.full.value ?? {};
    expect(Object.keys(sent).sort()).toEqual(Object.keys(new NewPetDto()).sort());
    for (const answer of [list?.post?.responses[201], one?.get?.responses[200]]) {
      expect(answer?.content['application/json']?.example).toEqual({ id: 1, ...sent });
    }
  });

  it('shows in a message what was given, as it was given', () => {
    const text = '$value $property $target $constraint1 $given $&';
    expect(message(`{"name":"Bella","categoryId":"${text}","status":"${text}"}`)).toBe(
      'categoryId must be an integer from -9223372036854775808 to 9223372036854775807, ' +
        `not "${text}". status must be one of available, pending, sold, not "${text}".`,
    );
  });

  it.each([
    ...['0', '-1', '1', '9007199254740991', '9007199254740993', '-9007199254740993'],
    ...['9223372036854775807', '-9223372036854775808', '9223372036854775808', '1'.repeat(40)],
  ])('shows an integer in a message as the number that it is: %s', (number) => {
    expect(message(`{"name":${number},"categoryId":1,"status":${number}}`)).toBe(
      `name must be a string, not ${number}. status must be one of available, pending, sold, not ${number}.`,
    );
    expect(message(`{"name":${number},"categoryId":1,"x":${number},"name":${number}}`)).toBe(
      `name must be a string, not ${number}. "x" is not a field of a new pet. "name" must be given once.`,
    );
  });

  it('shows the beginning of a number that is longer than 40 signs', () => {
    for (const number of ['1'.repeat(41), `-${'9'.repeat(60_000)}`, `0.${'3'.repeat(60_000)}`]) {
      const shown = `${number.slice(0, 40)}…`;
      expect(message(`{"name":${number},"categoryId":${number},"status":${number}}`)).toBe(
        `name must be a string, not ${shown}. ` +
          `categoryId must be an integer from -9223372036854775808 to 9223372036854775807, not ${shown}. ` +
          `status must be one of available, pending, sold, not ${shown}.`,
      );
    }
  });

  it.each(['name', 'categoryId', 'status', 'x'])('names a fault of %s without the types of the program', (field) => {
    for (const value of ['1', '1'.repeat(30), '1.5', '1e400', '-0', 'true', 'null', '{}', '[1]', '"x"']) {
      const sound = { name: '"Bella"', categoryId: '1', status: '"sold"', [field]: value };
      const body = `{${Object.entries(sound)
        .map(([name, text]) => `"${name}":${text}`)
        .join()},"y":${value}}`;
      expect(message(body)).not.toMatch(/bigint|undefined|NumberLiteral|\[object|NaN|Infinity/);
    }
  });

  it('has at most ten faults named, and the others counted', () => {
    const unknown = (count: number) => Array.from({ length: count }, (_, i) => `"x${i}":1`);
    const faults = (count: number) => Array.from({ length: count }, (_, i) => `"x${i}" is not a field of a new pet.`);
    const sound = '"name":"Bella","categoryId":1';
    expect(message(`{${unknown(10).join()},${sound}}`)).toBe(faults(10).join(' '));
    expect(message(`{${unknown(11).join()},${sound}}`)).toBe(`${faults(10).join(' ')} … and 1 more.`);
    expect(message(`{${unknown(20).join()}}`)).toBe(`${faults(10).join(' ')} … and 12 more.`);
    expect(message(`{${unknown(7_000).join()}}`).length).toBeLessThan(500);
  });

  it.each([
    ['short names', (i: number) => `"${i.toString(36)}":1`],
    ['one name', () => '"":1'],
    ['names near to a field', (i: number) => `"nam${i}":1`],
    ['names of signs that are escaped', () => '"\u2028\x7f":1'],
    ['a field', () => '"name":1'],
  ])('of 5,000 fields that are no good, %s, gets an answer that is shorter', async (_what, field) => {
    const service = await Service.start();
    const body = `{${Array.from({ length: 5_000 }, (_, i) => field(i)).join()}}`;
    const answer = await service.add(body);
    await service.stop();
    expect(answer.status).toBe(400);
    expect(answer.rawHeaders.join('').length + Buffer.byteLength(answer.body)).toBeLessThan(body.length);
  });
});

describe('the text of a pet', () => {
  it('has every property of the schema Pet, and no other', async () => {
    const { properties = {} } = (await schemas())('Pet');
    const examples = Object.entries(properties).map(([name, { format, example, enum: values }]) => {
      const value = example ?? values?.[0];
      expect([name, value]).toEqual([name, expect.anything()]);
      return { name, value, int64: format === 'int64' };
    });
    const pet = examples.map(({ name, value, int64 }) => [name, int64 ? BigInt(value as number) : value]);
    const expected = examples.map(({ name, value }) => [name, value]);
    expect(JSON.parse(petJson(Object.fromEntries(pet) as Pet))).toEqual(Object.fromEntries(expected));
  });
});
