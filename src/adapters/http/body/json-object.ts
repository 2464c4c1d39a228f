import { quoted } from '../../../messages/texts.js';
import { int64FromLiteral } from '../../../domain/int64.js';
import { ApiError } from '../errors/api-error.js';

/** The name of a member of an object, and the first token of its value: what is nested in it is dropped. */
export type Member = readonly [name: string, token: string];

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
  // A text that is JSON has at least one.
  const tokens = text.match(TOKEN) as [string, ...string[]];
  const [first] = tokens;
  if (first !== '{') {
    throw new ApiError('invalid_body', `The body must be a JSON object, not ${describeValue(first)}.`);
  }
  const members: Member[] = [];
  let depth = 0;
  let name: string | undefined;
  for (const token of tokens) {
    if (token === '}' || token === ']') depth--;
    else if (depth === 1 && name === undefined) name = JSON.parse(token) as string;
    else if (depth === 1) {
      members.push([name as string, token]);
      name = undefined;
    }
    if (token === '{' || token === '[') depth++;
  }
  return members;
}

/** The value that begins with a token. An int64 is a bigint; no rule accepts any other number. */
export function valueOf(token: string): unknown {
  if (token === '{') return {};
  if (token === '[') return [];
  return int64FromLiteral(token) ?? JSON.parse(token);
}

/** The value that begins with a token as a message shows it; a number that is no int64 is shown as it is written. */
export function describeValue(token: string): string {
  if (token === '{') return 'an object';
  if (token === '[') return 'an array';
  if (token.startsWith('"')) return quoted(JSON.parse(token) as string);
  return String(int64FromLiteral(token) ?? (token.length > 40 ? `${token.slice(0, 40)}…` : token));
}
