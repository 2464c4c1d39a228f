import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { crc32 } from 'node:zlib';
import {
  BASE62,
  isIssuedKey,
  KEY_RANDOM_LENGTH,
  keyPrefix,
  keyText,
  maskKeys,
  retiredName,
} from '../../../src/domain/keys/api-key.js';

const random = fc.string({
  unit: fc.constantFrom(...BASE62),
  minLength: KEY_RANDOM_LENGTH,
  maxLength: KEY_RANDOM_LENGTH,
});

describe('the text of an API key', () => {
  it('is the mark, 30 base62 digits, and their CRC-32 in 6 base62 digits', () => {
    fc.assert(
      fc.property(random, (digits) => {
        const text = keyText(digits);
        expect(text).toMatch(/^pets_[0-9A-Za-z]{36}$/);
        expect(text.slice(5, 35)).toBe(digits);
        const value = [...text.slice(35)].reduce((sum, digit) => sum * 62 + BASE62.indexOf(digit), 0);
        expect(value).toBe(crc32(digits));
        expect(isIssuedKey(text)).toBe(true);
      }),
    );
  });

  it('is not valid with one character changed, two neighbours swapped, truncated, or extended', () => {
    fc.assert(
      fc.property(random, fc.nat(39), fc.constantFrom(...BASE62, '🐶', ' '), (digits, at, other) => {
        const text = keyText(digits);
        expect(isIssuedKey(text.slice(0, at))).toBe(false);
        expect(isIssuedKey(text + other)).toBe(false);
        if (text[at] !== other) expect(isIssuedKey(text.slice(0, at) + other + text.slice(at + 1))).toBe(false);
        const swapped = text.slice(0, at) + text.charAt(at + 1) + text.charAt(at) + text.slice(at + 2);
        if (swapped !== text) expect(isIssuedKey(swapped)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it('is shown by its first 9 characters, 4 of them random', () => {
    expect(keyPrefix(keyText('a'.repeat(30)))).toBe('pets_aaaa');
  });

  it('is masked wherever it may be one, damaged or percent-encoded, and nothing else is', () => {
    const key = keyText('0123456789abcdefABCDEF'.padEnd(30, 'x'));
    const encoded = ['%5F', '%255f', '%25255F'].map((mark) => key.replace('_', mark));
    for (const text of [key, key.slice(0, 25), key.toUpperCase(), `${key}x`, ...encoded])
      expect(maskKeys(`a/${text}/b/${text}`)).toBe('a/pets_***/b/pets_***');
    for (const text of [key.slice(0, 9), 'pets_of_all_kinds_and_colours', `pets/${'0123456789'.repeat(4)}`])
      expect(maskKeys(text)).toBe(text);
  });
});

it('the name of a retired key has at most 64 characters', () => {
  expect(['shop', 'a'.repeat(64)].map(retiredName)).toEqual(['shop.old', `${'a'.repeat(60)}.old`]);
});
