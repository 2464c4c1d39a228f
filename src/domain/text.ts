const CONTROL = /\p{Cc}/u;

/**
 * What is wrong with a text that people read, as the end of a sentence that begins with the field; undefined if it is fine.
 *
 * The interface leaves the rules open; a text has 1 to `maxLength` Unicode code points, is not only white space, and has no control
 * character (Unicode Cc) and no lone surrogate, because no database keeps NUL and no UTF-8 text can hold half a pair.
 */
export function textFault(text: string, maxLength: number): string | undefined {
  if (!text.isWellFormed()) return 'has a lone surrogate, which is no character; it must be well-formed Unicode';
  const control = CONTROL.exec(text);
  if (control) {
    const code = control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return `has the control character U+${code}; control characters are not allowed`;
  }
  if (!/\S/u.test(text)) return 'must have at least one character that is not white space';
  // A code point has at most two UTF-16 units, so that a text of any size is refused without being counted to its end.
  if (text.length > 2 * maxLength || (text.length > maxLength && [...text].length > maxLength)) {
    return `must have at most ${maxLength} characters (Unicode code points)`;
  }
  return undefined;
}
