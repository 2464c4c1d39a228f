import { quoted } from '../../../application/errors.js';
import { int64FromLiteral } from '../../../domain/int64.js';
import { ApiError } from '../errors/api-error.js';

/** A number that is no int64, as it is written. */
class NumberLiteral {
  constructor(readonly text: string) {}
}

/**
 * The name of a member of an object, and its value: a string, boolean, null or bigint; `NumberLiteral` if a number is
 * no int64; `{}` or `[]` for an object or array.
 */
export type Member = readonly [name: string, value: unknown];

/** A string, a bracket, a number, `true`, `false` or `null`; in valid JSON nothing else has a meaning. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]]|[^\s{}[\]:,"]+/g;

/**
 * The members of a JSON object in the order of the text, duplicates included. `JSON.parse` validates the text (RFC
 * 8259); it is tokenized here because `JSON.parse` drops duplicates and rounds large numbers. Throws `invalid_json` if
 * the text is no JSON, and `invalid_body` if it is no object.
 */
export function jsonMembers(text: string): Member[] {
  if (text === '') throw new ApiError('invalid_body', 'The request has no body; it must be a JSON object.');
  try {
    JSON.parse(text);
  } catch (error) {
    // The rest of Node's message repeats what the client sent.
    const [where = ''] = / at position \d+/.exec((error as Error).message) ?? [];
    throw new ApiError('invalid_json', `The body is not valid JSON (RFC 8259)${where}.`);
  }
  const tokens = text.match(TOKEN) ?? [];
  const [first = ''] = tokens;
  if (first !== '{') {
    throw new ApiError('invalid_body', `The body must be a JSON object, not ${describeValue(valueOf(first))}.`);
  }
  const members: Member[] = [];
  let depth = 0;
  let name: string | undefined;
  for (const token of tokens) {
    if (token === '}' || token === ']') depth--;
    else if (depth === 1 && name === undefined) name = JSON.parse(token) as string;
    else if (depth === 1) {
      members.push([name as string, valueOf(token)]);
      name = undefined;
    }
    if (token === '{' || token === '[') depth++;
  }
  return members;
}

/** A value as a message shows it. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (value instanceof NumberLiteral) return value.text.length > 40 ? `${value.text.slice(0, 40)}…` : value.text;
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/** A value by its first token. */
function valueOf(token: string): unknown {
  if (token === '{') return {};
  if (token === '[') return [];
  return /^[-0-9]/.test(token) ? (int64FromLiteral(token) ?? new NumberLiteral(token)) : JSON.parse(token);
}
