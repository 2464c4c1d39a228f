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
  return membersOf(text);
}

/** What a JSON value is, for a message. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** A string, a bracket, or a number, `true`, `false` or `null`; the signs between them tell nothing more of what is known to be valid. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]]|[^\s{}[\]:,"]+/g;

/** The members of a text that is known to be a valid object. */
function membersOf(text: string): Member[] {
  const members: Member[] = [];
  let depth = 0;
  let name: string | undefined;
  for (const token of text.match(TOKEN) ?? []) {
    if (token === '}' || token === ']') depth--;
    else if (depth === 1) {
      if (name === undefined) name = textOf(token);
      else {
        members.push({ name, value: valueOf(token) });
        name = undefined;
      }
    }
    if (token === '{' || token === '[') depth++;
  }
  return members;
}

/** A value by its first token. */
function valueOf(token: string): unknown {
  if (token === '{') return {};
  if (token === '[') return [];
  if (token.startsWith('"')) return textOf(token);
  return /^[-0-9]/.test(token) ? (int64FromLiteral(token) ?? new NumberLiteral(token)) : JSON.parse(token);
}

/** The text that a JSON string is for: if nothing in it is escaped, what stands between the quotes. */
function textOf(token: string): string {
  return token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
}
