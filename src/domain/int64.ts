export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

export function isInt64(value: bigint): boolean {
  return value >= INT64_MIN && value <= INT64_MAX;
}

/**
 * Parses a JSON number literal (RFC 8259, section 6); undefined if its value is not an int64.
 *
 * The value counts, not the spelling: `1.0`, `1e3` and `-0` are integers, `1.5` and `1e-1` are not. Time and memory are
 * bounded by the length of the literal, whatever its exponent.
 */
export function int64FromLiteral(literal: string): bigint | undefined {
  const [, sign, whole = '', fraction = '', exponent = ''] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  if (sign === undefined) return undefined;
  const digits = whole + fraction;
  let start = 0;
  while (digits[start] === '0') start++;
  if (start === digits.length) return 0n;
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  // value = significant digits × 10^scale
  const scale = Number(exponent) - fraction.length + (digits.length - end);
  // An int64 has at most 19 digits.
  if (scale < 0 || end - start + scale > 19) return undefined;
  const value = BigInt(sign + digits.slice(start, end) + '0'.repeat(scale));
  return isInt64(value) ? value : undefined;
}
