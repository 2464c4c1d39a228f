/** A text as the name of a test may have it: whole if it is short, else its beginning and its length. */
export function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 20)}… (${text.length} characters)` : text;
}
