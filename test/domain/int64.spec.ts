import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { INT64_MAX, INT64_MIN, int64FromLiteral } from '../../src/domain/int64.js';

describe('int64FromLiteral', () => {
  it.each([
    ['-0.0', 0n],
    ['0e99', 0n],
    ['1E+3', 1000n],
    ['92233720368547758070e-1', INT64_MAX],
    ['-9.223372036854775808e+18', INT64_MIN],
  ])('accepts %s by its value', (literal, value) => {
    expect(int64FromLiteral(literal)).toBe(value);
  });

  it.each(['1.5', '1e-1', '15e-2', '9223372036854775808', '-9223372036854775809', '9223372036854775807.1', '1e19'])(
    'rejects %s, which is no int64',
    (literal) => {
      expect(int64FromLiteral(literal)).toBeUndefined();
    },
  );

  it.each(['', '-', '+1', '.5', '5.', '1e', '0x10', '1_000', ' 1', '1\n', 'NaN', '--1', '٣'])(
    'rejects %j, which is no number in JSON',
    (literal) => {
      expect(int64FromLiteral(literal)).toBeUndefined();
    },
  );

  it('takes no time for many digits or a huge exponent', () => {
    const many = (digit: string) => digit.repeat(60_000);
    expect(int64FromLiteral(`1${many('9')}`)).toBeUndefined();
    expect(int64FromLiteral(`7.${many('0')}`)).toBe(7n);
    expect(int64FromLiteral(`0.${many('0')}7e60001`)).toBe(7n);
    expect(int64FromLiteral(`7${many('0')}e-60000`)).toBe(7n);
    for (const exponent of ['999999999999', many('9')]) {
      expect(int64FromLiteral(`1e${exponent}`)).toBeUndefined();
      expect(int64FromLiteral(`1e-${exponent}`)).toBeUndefined();
      expect(int64FromLiteral(`0.0e-${exponent}`)).toBe(0n);
    }
  });

  it('accepts every int64 in any notation, and no other integer', () => {
    fc.assert(
      fc.property(fc.bigInt(INT64_MIN, INT64_MAX), fc.nat(30), (value, shift) => {
        const [sign, digits] = value < 0n ? ['-', String(-value)] : ['', String(value)];
        expect(int64FromLiteral(`${value}.${'0'.repeat(shift + 1)}`)).toBe(value);
        expect(int64FromLiteral(`${value}${'0'.repeat(shift)}E-${shift}`)).toBe(value);
        expect(int64FromLiteral(`${sign}0.${'0'.repeat(shift)}${digits}e+${shift + digits.length}`)).toBe(value);
      }),
    );
    fc.assert(
      fc.property(fc.bigInt(INT64_MAX + 1n, 10n ** 40n), (beyond) => {
        expect(int64FromLiteral(String(beyond))).toBeUndefined();
        expect(int64FromLiteral(String(-beyond - 1n))).toBeUndefined();
      }),
    );
  });
});
