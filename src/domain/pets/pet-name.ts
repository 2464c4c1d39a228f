/** The most Unicode code points that a name may have. */
export const NAME_MAX_LENGTH = 255;

/**
 * What is wrong with the name of a pet, as the end of a sentence that begins with the field; undefined if it is fine.
 *
 * The interface leaves the rules open; a name has 1 to 255 Unicode code points, is not only white space, and has no control
 * character (Unicode Cc) and no lone surrogate, because no database keeps NUL and no UTF-8 text can hold half a pair.
 */
export function petNameFault(name: string): string | undefined {
  if (!name.isWellFormed()) return 'has a lone surrogate, which is no character; it must be well-formed Unicode';
  const control = /\p{Cc}/u.exec(name);
  if (control) {
    const code = control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return `has the control character U+${code}; control characters are not allowed`;
  }
  if (!/\S/u.test(name)) return 'must have at least one character that is not white space';
  // A code point has at most two UTF-16 units, so that a name of any size is refused without being counted to its end.
  const { length } = name;
  if (length > 2 * NAME_MAX_LENGTH || (length > NAME_MAX_LENGTH && [...name].length > NAME_MAX_LENGTH)) {
    return `must have at most ${NAME_MAX_LENGTH} characters (Unicode code points)`;
  }
  return undefined;
}
