import { int64FromLiteral } from '../../../domain/int64.js';
import { ApiError } from '../errors/api-error.js';

/** A number that is no int64, as it is written. */
export class NumberLiteral {
  constructor(readonly text: string) {}
}

/** A member of a JSON object. */
export interface Member {
  readonly name: string;
  /**
   * A string, boolean, null or bigint; `NumberLiteral` if a number is no int64; `{}` or `[]` for an object or array.
   */
  readonly value: unknown;
}

/**
 * The members of a JSON object in the order of the text, duplicates included. `JSON.parse` validates the text (RFC
 * 8259); it is tokenized again here because `JSON.parse` drops duplicates and rounds large numbers. Throws
 * `invalid_json` if the text is no JSON, and `invalid_body` if it is no object.
 */
export function jsonMembers(text: string): Member[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    // The rest of Node's message repeats what the client sent.
    const position = /at position (\d+)/.exec((error as SyntaxError).message)?.[1];
    const where = position === undefined ? '' : ` The error is at character ${position}.`;
    throw new ApiError('invalid_json', `The body is not valid JSON (RFC 8259).${where}`);
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

/** A string, a bracket, a number, `true`, `false` or `null`; in valid JSON nothing else has a meaning. */
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

/** The text of a JSON string. */
function textOf(token: string): string {
  return token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
}
