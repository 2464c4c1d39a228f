/**
 * What is wrong with a text, as the end of a sentence that begins with the field's name; undefined if it is valid.
 *
 * A text has 1 to `maxLength` Unicode code points, not only white space. Control characters (Unicode Cc) and lone
 * surrogates are rejected: PostgreSQL cannot store NUL, and UTF-8 cannot encode a lone surrogate.
 */
export function textFault(text: string, maxLength: number): string | undefined {
  if (!text.isWellFormed()) return 'has a lone surrogate; it must be well-formed Unicode';
  const control = /\p{Cc}/u.exec(text);
  if (control) {
    const code = control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return `has the control character U+${code}; control characters are not allowed`;
  }
  if (!/\S/u.test(text)) return 'must have at least one character that is not white space';
  // A code point has at most two UTF-16 units: a very long text need not be counted.
  if (text.length > 2 * maxLength || [...text].length > maxLength) {
    return `must have at most ${maxLength} characters (Unicode code points)`;
  }
  return undefined;
}
