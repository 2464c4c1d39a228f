import { distance } from 'fastest-levenshtein';
import { maskKeys } from '../domain/keys/api-key.js';

/** ` Did you mean "…"?` if one of the known names is near the given one, else nothing. */
export function didYouMean(given: string, known: readonly string[]): string {
  const near = nearName(given, known, 1 / 3);
  return near === undefined ? '' : ` Did you mean "${near}"?`;
}

/**
 * A known name of which at most this share of the letters, or one, are inserted, missing or wrong, or whose letters are
 * given in another order.
 */
export function nearName(given: string, known: readonly string[], share: number): string | undefined {
  const text = given.toLowerCase();
  // The length first: of a text of 64 KiB the rest would take milliseconds.
  return known.find(
    (name) =>
      given.length <= 2 * name.length &&
      (distance(text, name.toLowerCase()) <= Math.max(1, share * name.length) || sorted(given) === sorted(name)),
  );
}

function sorted(text: string): string {
  return [...text.toLowerCase()].sort().join('');
}

/** Invisible characters, and those that change the direction of text; JSON escapes only some of them. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Quotes a value for a message: on one line, cut after 100 characters, without what may be an API key. */
export function quoted(value: string): string {
  const masked = maskKeys(value);
  const text = JSON.stringify(masked.length > 100 ? `${masked.slice(0, 100)}…` : masked);
  return text.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
