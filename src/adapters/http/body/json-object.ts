import { int64FromLiteral } from '../../../domain/int64.js';
import { ApiError } from '../errors/api-error.js';

/** A number that is no int64, as it is written. */
export class NumberLiteral {
  constructor(readonly text: string) {}
}

/** A member of a JSON object. */
export interface Member {
  readonly name: string;
  /** A string, boolean or null as it is; a number as a bigint if it is an int64, else as `NumberLiteral`; of an object or array, only that it is one: `{}` or `[]`. */
  readonly value: unknown;
}

/**
 * The members of a JSON object, in the order of the text, those that come twice included. The text is checked by `JSON.parse`, which
 * takes RFC 8259 and nothing else; it is read again here because `JSON.parse` keeps no duplicates and rounds large numbers.
 * Throws `invalid_json` if the text is no JSON, and `invalid_body` if it is no object.
 */
export function jsonMembers(text: string): Member[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new ApiError('invalid_json', `The body is not valid JSON (RFC 8259): ${(error as SyntaxError).message}.`);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new ApiError('invalid_body', `The body must be a JSON object, not ${kindOf(parsed)}.`);
  }
  const entries = Object.entries(parsed as Record<string, unknown>);
  // A flat text that comes out again as it went in has no duplicates, and no number that was rounded: it need not be read again.
  if (entries.every(([, value]) => typeof value !== 'object') && JSON.stringify(parsed) === text) {
    return entries.map(([name, value]) => ({ name, value: typeof value === 'number' ? valueOfNumber(value) : value }));
  }
  const members: Member[] = [];
  let at = behindSpace(text, text.indexOf('{') + 1);
  while (text[at] !== '}') {
    const name = at;
    at = behindValue(text, name);
    const value = behindSpace(text, behindSpace(text, at) + 1);
    const end = behindValue(text, value);
    members.push({ name: JSON.parse(text.slice(name, at)) as string, value: valueOf(text.slice(value, end)) });
    at = behindSpace(text, end);
    if (text[at] === ',') at = behindSpace(text, at + 1);
  }
  return members;
}

/** What a JSON value is, for a message. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function valueOf(source: string): unknown {
  if (/^[-0-9]/.test(source)) return numberOf(source);
  if (source.startsWith('{')) return {};
  return source.startsWith('[') ? [] : JSON.parse(source);
}

/** Of a number that was not rounded. */
function valueOfNumber(value: number): bigint | NumberLiteral {
  return Number.isSafeInteger(value) ? BigInt(value) : numberOf(`${value}`);
}

function numberOf(literal: string): bigint | NumberLiteral {
  return int64FromLiteral(literal) ?? new NumberLiteral(literal);
}

// From here on the text is known to be valid.

function behindSpace(text: string, from: number): number {
  let at = from;
  while (' \t\n\r'.includes(text.charAt(at))) at++;
  return at;
}

function behindValue(text: string, from: number): number {
  let at = from;
  let depth = 0;
  do {
    const sign = text.charAt(at);
    if (sign === '"') {
      at = behindString(text, at);
      continue;
    }
    if (sign === '{' || sign === '[') depth++;
    if (sign === '}' || sign === ']') depth--;
    at++;
    // A number, true, false or null reaches to the sign that ends it; inside of brackets every sign is passed by alike.
    if (depth === 0 && /[-0-9a-z]/.test(sign)) while (/[-+.0-9a-zE]/.test(text.charAt(at))) at++;
  } while (depth > 0);
  return at;
}

function behindString(text: string, from: number): number {
  let at = from + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}
