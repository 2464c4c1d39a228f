import { distance } from 'fastest-levenshtein';

/** ` Did you mean "…"?` if one of the known names is near the given one, else nothing. */
export function didYouMean(given: string, known: readonly string[]): string {
  const near = known.find((name) => isNear(given.toLowerCase(), name.toLowerCase()));
  return near === undefined ? '' : ` Did you mean "${near}"?`;
}

/** Whether few letters are inserted, missing or wrong, or the letters are the same in another order. */
function isNear(given: string, name: string): boolean {
  // The distance to a text of 64 KiB would take milliseconds.
  if (given.length > 2 * name.length) return false;
  const letters = (text: string) => [...text].sort().join('');
  return distance(given, name) <= name.length / 3 || letters(given) === letters(name);
}
