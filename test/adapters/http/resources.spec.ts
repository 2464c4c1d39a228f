import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ErrorCode } from '../../../src/adapters/http/errors/error-code.js';
import { expectError } from '../../support/error-body.js';
import { Service } from '../../support/service.js';
import { shortened } from '../../support/shortened.js';
import { storeKinds, TestStore } from '../../support/stores.js';

interface Refusal {
  readonly body: string;
  readonly code: ErrorCode;
  readonly says: RegExp | string;
}

const named = (name: string) => JSON.stringify({ name, categoryId: 1 });
const with_ = (members: string) => `{"name":"Bella","categoryId":1,${members}}`;
const category = (literal: string) => `{"name":"Bella","categoryId":${literal}}`;

/** Names that are kept as they are. */
const NAMES: readonly (readonly [what: string, name: string])[] = [
  ['one character', 'x'],
  ['255 characters', 'x'.repeat(255)],
  ['255 code points of two UTF-16 units each', '🐕'.repeat(255)],
  ['white space at both ends, which is not trimmed', '  Bella \u3000'],
  ['a decomposed letter, which is not normalised', 'Zoe\u0308'],
  ['a composed letter, which is not normalised', 'Zo\u00eb'],
  ['signs of SQL', "Robert'); DROP TABLE pet;--"],
  ['signs of HTML', '<img src=x onerror=alert(1)>'],
  ['quotes and backslashes', '"\\"\\\\"'],
  ['the line separators of JavaScript', 'a\u2028b\u2029c'],
  ['a zero-width joiner', '👩‍👧'],
  ['a non-character', 'a\uffffb'],
  ['a byte order mark inside', 'a\ufeffb'],
];

const NAME_REFUSALS: readonly (readonly [what: string, body: string, says: RegExp])[] = [
  ['no character', named(''), /^name must have at least one character/],
  ['white space only', named(' \u00a0\u3000\u2003'), /^name must have at least one character/],
  ['256 characters', named('x'.repeat(256)), /^name must have at most 255 characters/],
  ['256 code points of two units each', named('🐕'.repeat(256)), /^name must have at most 255 characters/],
  ['60,000 characters', named('x'.repeat(60_000)), /^name must have at most 255 characters/],
  ['NUL', '{"name":"a\\u0000b","categoryId":1}', /^name has the control character U\+0000/],
  ['a line feed (C0)', named('a\nb'), /^name has the control character U\+000A/],
  ['DEL', '{"name":"a\u007fb","categoryId":1}', /^name has the control character U\+007F/],
  ['a C1 control', '{"name":"a\u0085b","categoryId":1}', /^name has the control character U\+0085/],
  ['a lone high surrogate', '{"name":"a\\ud83d","categoryId":1}', /^name has a lone surrogate/],
  ['a lone low surrogate', '{"name":"\\udc36a","categoryId":1}', /^name has a lone surrogate/],
  ['surrogates in the wrong order', '{"name":"\\udc36\\ud83d","categoryId":1}', /^name has a lone surrogate/],
  ['null', '{"name":null,"categoryId":1}', /^name must be a string, not null\.$/],
  ['a number', '{"name":5,"categoryId":1}', /^name must be a string, not a number|^name must be a string, not/],
  ['an array', '{"name":["Bella"],"categoryId":1}', /^name must be a string, not an array\.$/],
  ['an object', '{"name":{"a":1,"a":2},"categoryId":1}', /^name must be a string, not an object\.$/],
];

/** Literals that stand for an int64, and the text of it in the answer. */
const INTEGERS: readonly (readonly [literal: string, value: string])[] = [
  ['0', '0'],
  ['-0', '0'],
  ['-0.0e5', '0'],
  ['1.0', '1'],
  ['1e3', '1000'],
  ['1E+3', '1000'],
  ['-2.50e1', '-25'],
  ['1000e-3', '1'],
  ['9007199254740993', '9007199254740993'],
  // JSON.parse rounds it to a number that is written in the same way.
  ['1234567890123456800', '1234567890123456800'],
  ['9223372036854775807', '9223372036854775807'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['9.223372036854775807e18', '9223372036854775807'],
  ['9223372036854775807.000', '9223372036854775807'],
  [`1${'0'.repeat(60_000)}e-60000`, '1'],
  [`1.${'0'.repeat(60_000)}`, '1'],
  ['0e999999999999999999', '0'],
];

const NO_INTEGERS: readonly (readonly [what: string, literal: string])[] = [
  ['2^63', '9223372036854775808'],
  ['-2^63 - 1', '-9223372036854775809'],
  ['2^64', '18446744073709551616'],
  ['1.5', '1.5'],
  ['1e-1', '1e-1'],
  ['9223372036854775807.5', '9223372036854775807.5'],
  ['9.3e18', '9.3e18'],
  ['a huge exponent', '1e999999999999999999'],
  ['a huge negative exponent', '1e-999999999999999999'],
  ['60,000 digits', '9'.repeat(60_000)],
  ['an exponent of 60,000 digits', `1e${'9'.repeat(60_000)}`],
  ['a number in quotes', '"5"'],
  ['true', 'true'],
  ['null', 'null'],
  ['an array', '[1]'],
  ['an object', '{}'],
];

const REFUSALS: readonly (readonly [what: string, refusal: Refusal])[] = [
  [
    'a status of null',
    {
      body: with_('"status":null'),
      code: 'invalid_field',
      says: 'status must be one of available, pending, sold, not null.',
    },
  ],
  [
    'a status of the wrong case',
    {
      body: with_('"status":"Available"'),
      code: 'invalid_field',
      says: 'status must be one of available, pending, sold, not "Available".',
    },
  ],
  [
    'a status that is none of the three',
    { body: with_('"status":"lost"'), code: 'invalid_field', says: /not "lost"\.$/ },
  ],
  ['an empty status', { body: with_('"status":""'), code: 'invalid_field', says: /not ""\.$/ }],
  ['a status with a space', { body: with_('"status":"sold "'), code: 'invalid_field', says: /not "sold "\.$/ }],
  ['a status in an array', { body: with_('"status":["sold"]'), code: 'invalid_field', says: /not an array\.$/ }],
  ['a status of true', { body: with_('"status":true'), code: 'invalid_field', says: /not true\.$/ }],
  [
    'an unknown field',
    { body: with_('"colour":"red"'), code: 'unknown_field', says: '"colour" is not a field of a new pet.' },
  ],
  [
    'an unknown field near a known one: did you mean',
    {
      body: with_('"Status":"sold"'),
      code: 'unknown_field',
      says: '"Status" is not a field of a new pet. Did you mean "status"?',
    },
  ],
  [
    'nmae, which is one slip away: did you mean',
    { body: with_('"nmae":"Max"'), code: 'unknown_field', says: /^"nmae" is not a field .* Did you mean "name"\?$/ },
  ],
  [
    'categoryID: did you mean',
    {
      body: '{"name":"Bella","categoryID":1}',
      code: 'unknown_field',
      says: '"categoryID" is not a field of a new pet. Did you mean "categoryId"? categoryId is required.',
    },
  ],
  [
    'category_id: did you mean',
    { body: with_('"category_id":1'), code: 'unknown_field', says: /Did you mean "categoryId"\?$/ },
  ],
  ['the id', { body: with_('"id":7'), code: 'unknown_field', says: '"id" is not a field of a new pet.' }],
  [
    '__proto__ as an unknown field',
    {
      body: with_('"__proto__":{"status":"sold"}'),
      code: 'unknown_field',
      says: '"__proto__" is not a field of a new pet.',
    },
  ],
  [
    'constructor as an unknown field',
    {
      body: with_('"constructor":{"prototype":{}}'),
      code: 'unknown_field',
      says: '"constructor" is not a field of a new pet.',
    },
  ],
  [
    'toString as an unknown field',
    { body: with_('"toString":1'), code: 'unknown_field', says: '"toString" is not a field of a new pet.' },
  ],
  [
    'a __proto__ that would bring the fields',
    {
      body: '{"__proto__":{"name":"Bella","categoryId":1}}',
      code: 'unknown_field',
      says: /name is required\. categoryId is required\.$/,
    },
  ],
  ['an empty name of a field', { body: with_('"":1'), code: 'unknown_field', says: '"" is not a field of a new pet.' }],
  [
    'a long unknown field, cut in the message',
    {
      body: with_(`"${'x'.repeat(1_000)}":1`),
      code: 'unknown_field',
      says: `"${'x'.repeat(60)}…" is not a field of a new pet.`,
    },
  ],
  [
    'a duplicate key',
    { body: '{"name":"A","categoryId":1,"name":"B"}', code: 'duplicate_field', says: '"name" must be given once.' },
  ],
  [
    'a duplicate key in another spelling',
    {
      body: '{"name":"A","categoryId":1,"n\\u0061me":"A"}',
      code: 'duplicate_field',
      says: '"name" must be given once.',
    },
  ],
  ['no fields', { body: '{}', code: 'missing_field', says: 'name is required. categoryId is required.' }],
  ['no name', { body: '{"categoryId":1}', code: 'missing_field', says: 'name is required.' }],
  ['no categoryId', { body: '{"name":"Bella"}', code: 'missing_field', says: 'categoryId is required.' }],
  [
    'an array as the body',
    {
      body: '[{"name":"Bella","categoryId":1}]',
      code: 'invalid_body',
      says: 'The body must be a JSON object, not an array.',
    },
  ],
  ['null as the body', { body: 'null', code: 'invalid_body', says: 'The body must be a JSON object, not null.' }],
  [
    'a string as the body',
    { body: '"Bella"', code: 'invalid_body', says: 'The body must be a JSON object, not a string.' },
  ],
  [
    'a number as the body',
    { body: '9223372036854775807', code: 'invalid_body', says: 'The body must be a JSON object, not a number.' },
  ],
  [
    'several faults, all named, with the code of the first in document order',
    {
      body: '{"status":"lost","categoryId":1.5,"colour":1,"status":"sold"}',
      code: 'invalid_field',
      says: 'status must be one of available, pending, sold, not "lost". categoryId must be an integer from -9223372036854775808 to 9223372036854775807, not 1.5. "colour" is not a field of a new pet. "status" must be given once. name is required.',
    },
  ],
  [
    'the same faults in another order, with another code',
    {
      body: '{"colour":1,"status":"sold","status":"lost","categoryId":1.5}',
      code: 'unknown_field',
      says: '"colour" is not a field of a new pet. "status" must be given once. categoryId must be an integer from -9223372036854775808 to 9223372036854775807, not 1.5. name is required.',
    },
  ],
];

describe.each(storeKinds)('resources on $name', (kind) => {
  let store: TestStore;
  let service: Service;

  beforeAll(async () => {
    store = await kind.create();
    service = await Service.start({ DATABASE_URL: store.url });
  });

  afterAll(async () => {
    await service.stop();
    await store.remove();
  });

  async function expectRefusal(body: string, { code, says }: Omit<Refusal, 'body'>): Promise<void> {
    const before = (await service.send('/v1/pets?limit=1')).body;
    const { message } = expectError(await service.add(body), code);
    if (typeof says === 'string') expect(message).toBe(says);
    else expect(message).toMatch(says);
    expect((await service.send('/v1/pets?limit=1')).body).toBe(before);
  }

  /** Adds a pet and expects all three operations to show it as it was answered. */
  async function expectKept(body: string): Promise<{ text: string; name: string; status: string }> {
    const added = await service.add(body);
    expect(added.status).toBe(201);
    expect((await service.send('/v1/pets?limit=1')).body).toBe(`[${added.body}]`);
    const pet = JSON.parse(added.body) as { id: number; name: string; status: string };
    expect((await service.send(`/v1/pets/${pet.id}`)).body).toBe(added.body);
    return { ...pet, text: added.body };
  }

  it('stores and returns an absent status on create as available', async () => {
    const { text } = await expectKept('{"name":"Bella","categoryId":1}');
    expect(text).toMatch(/^\{"id":[1-9][0-9]*,"name":"Bella","categoryId":1,"status":"available"\}$/);
  });

  it.each(['available', 'pending', 'sold'])('keeps the status %s', async (status) => {
    expect(await expectKept(with_(`"status":"${status}"`))).toMatchObject({ status });
  });

  it.each(REFUSALS)('refuses %s', (_what, { body, ...refusal }) => expectRefusal(body, refusal));

  it.each(NAMES)('keeps a name of %s byte for byte', async (_what, name) => {
    expect((await expectKept(named(name))).name).toBe(name);
  });

  it('does not ask for a name to be unique', async () => {
    await expectKept(named('Twin'));
    await expectKept(named('Twin'));
  });

  it.each(NAME_REFUSALS)('refuses a name of %s', (_what, body, says) =>
    expectRefusal(body, { code: 'invalid_field', says }),
  );

  it.each(INTEGERS.map((row) => [shortened(row[0]), row[1], row[0]] as const))(
    'takes the number literal %s for the int64 %s',
    async (_short, value, literal) => {
      expect((await expectKept(category(literal))).text).toContain(`,"categoryId":${value},`);
    },
  );

  it.each(NO_INTEGERS)('refuses a categoryId of %s', (_what, literal) =>
    expectRefusal(category(literal), {
      code: 'invalid_field',
      says: /^categoryId must be an integer from -9223372036854775808 to 9223372036854775807, not .{1,50}\.$/,
    }),
  );

  it('assigns increasing ids', async () => {
    const ids: number[] = [];
    for (let i = 0; i < 5; i++) ids.push((JSON.parse((await service.add(named('Next'))).body) as { id: number }).id);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(new Set(ids).size).toBe(5);
  });
});
