import { distance } from 'fastest-levenshtein';

/** The most characters of a client's text that a message repeats. */
const MAX_QUOTED = 60;

/** A client's text, quoted as in JSON and cut if it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text);
}

/** ` Did you mean "…"?` if one of the known names is near the given one, else nothing. */
export function didYouMean(given: string, known: readonly string[]): string {
  // Longer ones are near to none.
  if (given.length > MAX_QUOTED) return '';
  const [nearest] = known
    .map((name) => ({ name, far: slips(given.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, far }) => far <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.far - b.far);
  return nearest ? ` Did you mean "${nearest.name}"?` : '';
}

/** The number of letters that are inserted, missing or wrong; 1 if two neighbours are swapped and nothing else. */
function slips(given: string, name: string): number {
  const at = [...name].findIndex((letter, index) => letter !== given[index]);
  const swapped = given.slice(0, at) + given.charAt(at + 1) + given.charAt(at) + given.slice(at + 2);
  return swapped === name ? 1 : distance(given, name);
}
