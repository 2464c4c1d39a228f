import { isInteger, parse, stringify } from 'lossless-json';

/** Parses JSON, every integer as a bigint, since `JSON.parse` rounds above 2^53; undefined if it is malformed. */
export function parseJson(text: string): unknown {
  try {
    return parse(text, null, (number) => (isInteger(number) ? BigInt(number) : Number(number)));
  } catch {
    return undefined;
  }
}

/** The JSON of a value, with a bigint as a number of all its digits. */
export function toJson(value: object): string {
  return stringify(value) as string;
}

/** An int64 as a bigint. Throws a `TypeError` unless it is a bigint from −2^63 to 2^63−1 or a safe integer. */
export function int64(name: string, value: unknown): bigint {
  if (typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value))
    return BigInt(value as bigint | number);
  throw new TypeError(`${name} must be a bigint from -2^63 to 2^63-1, or a safe integer.`);
}
