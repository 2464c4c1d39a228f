import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { INT64_MAX, INT64_MIN, int64FromLiteral, isInt64 } from '../../src/domain/int64.js';

describe('int64FromLiteral', () => {
  it.each([
    ['0', 0n],
    ['-0', 0n],
    ['-0.0', 0n],
    ['0e99', 0n],
    ['0.000e-5', 0n],
    ['1.0', 1n],
    ['-1.000', -1n],
    ['1e3', 1000n],
    ['1E+3', 1000n],
    ['1.5e1', 15n],
    ['1500e-2', 15n],
    ['0.1e1', 1n],
    ['0.00042e5', 42n],
    ['12e0', 12n],
    ['10e-1', 1n],
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', INT64_MAX],
    ['9223372036854775807.0', INT64_MAX],
    ['9.223372036854775807e18', INT64_MAX],
    ['92233720368547758070e-1', INT64_MAX],
    ['-9223372036854775808', INT64_MIN],
    ['-9.223372036854775808e+18', INT64_MIN],
    ['1000000000000000000', 10n ** 18n],
  ])('takes %s by its value', (literal, value) => {
    expect(int64FromLiteral(literal)).toBe(value);
  });

  it.each([
    '1.5',
    '1e-1',
    '-0.5',
    '15e-2',
    '9223372036854775808',
    '-9223372036854775809',
    '9223372036854775807.1',
    '1e19',
    '9.3e18',
    '99999999999999999999',
  ])('refuses %s, which is no int64', (literal) => {
    expect(int64FromLiteral(literal)).toBeUndefined();
  });

  it.each([
    '',
    '-',
    '+1',
    '.5',
    '5.',
    '1e',
    '1e+',
    'e5',
    '0x10',
    '1_000',
    ' 1',
    '1 ',
    '1\n',
    'NaN',
    'Infinity',
    '--1',
    '٣',
  ])('refuses %j, which is no number in JSON', (literal) => {
    expect(int64FromLiteral(literal)).toBeUndefined();
  });

  it('refuses 60,000 digits, and reads past 60,000 zeros', () => {
    const many = (digit: string) => digit.repeat(60_000);
    expect(int64FromLiteral(`1${many('9')}`)).toBeUndefined();
    expect(int64FromLiteral(`1${many('0')}`)).toBeUndefined();
    expect(int64FromLiteral(`1.${many('3')}`)).toBeUndefined();
    expect(int64FromLiteral(`7.${many('0')}`)).toBe(7n);
    expect(int64FromLiteral(`0.${many('0')}7e60001`)).toBe(7n);
    expect(int64FromLiteral(`7${many('0')}e-60000`)).toBe(7n);
    expect(int64FromLiteral(`1e-${many('0')}`)).toBe(1n);
  });

  it('returns for an exponent whose power of ten no machine could hold', () => {
    for (const exponent of ['999999999999', '1' + '0'.repeat(400), '9'.repeat(60_000)]) {
      expect(int64FromLiteral(`1e${exponent}`)).toBeUndefined();
      expect(int64FromLiteral(`1e-${exponent}`)).toBeUndefined();
      expect(int64FromLiteral(`0e${exponent}`)).toBe(0n);
      expect(int64FromLiteral(`0.0e-${exponent}`)).toBe(0n);
    }
  });

  it('takes every int64, however it is written', () => {
    fc.assert(
      fc.property(fc.bigInt(INT64_MIN, INT64_MAX), fc.nat(30), (value, shift) => {
        const [sign, digits] = value < 0n ? ['-', String(-value)] : ['', String(value)];
        expect(int64FromLiteral(String(value))).toBe(value);
        expect(int64FromLiteral(`${value}.${'0'.repeat(shift + 1)}`)).toBe(value);
        expect(int64FromLiteral(`${value}${'0'.repeat(shift)}E-${shift}`)).toBe(value);
        expect(int64FromLiteral(`${sign}0.${'0'.repeat(shift)}${digits}e+${shift + digits.length}`)).toBe(value);
      }),
    );
  });

  it('refuses every integer outside, and every fraction', () => {
    fc.assert(
      fc.property(fc.bigInt(INT64_MAX + 1n, 10n ** 40n), fc.integer({ min: 1, max: 9 }), (beyond, digit) => {
        expect(int64FromLiteral(String(beyond))).toBeUndefined();
        expect(int64FromLiteral(String(-beyond - 1n))).toBeUndefined();
        expect(int64FromLiteral(`${beyond % 1000n}.${digit}`)).toBeUndefined();
      }),
    );
  });
});

describe('isInt64', () => {
  it('holds from -2^63 to 2^63 - 1', () => {
    for (const value of [INT64_MIN, -1n, 0n, 1n, INT64_MAX]) expect(isInt64(value)).toBe(true);
    for (const value of [INT64_MIN - 1n, INT64_MAX + 1n, 2n ** 64n]) expect(isInt64(value)).toBe(false);
  });
});
