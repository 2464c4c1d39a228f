import { describe, expect, it } from '@jest/globals';
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
  readonly format?: string;
  readonly required?: readonly string[];
  readonly properties?: Record<string, Schema>;
  readonly example?: unknown;
}

/** The schemas of the served document, with what a schema refers to put in its place. */
async function schemas(): Promise<(name: string) => Schema> {
  const service = await Service.start();
  const { json } = service.contract();
  await service.stop();
  const all = (JSON.parse(json) as { components: { schemas: Record<string, Schema> } }).components.schemas;
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
    const examples = Object.entries(properties).map(([name, { format, example }]) => {
      expect([name, example]).toEqual([name, expect.anything()]);
      return [name, format === 'int64' ? BigInt(example as number) : example];
    });
    const pet = Object.fromEntries(examples) as unknown as Pet;
    const expected = Object.entries(properties).map(([name, { example }]) => [name, example]);
    expect(JSON.parse(petJson(pet))).toEqual(Object.fromEntries(expected));
  });
});
