type Json = Record<string, unknown>;

/** What is there for people, or tells of one installation, and can break nobody. */
const PROSE = new Set(['info', 'servers', 'tags', 'description', 'summary', 'example', 'examples']);

/** Where a client relies on each entry. */
const MAPS = new Set(['paths', 'parameters', 'responses', 'headers', 'content', 'properties', 'schemas']);

/**
 * What a client of the older OpenAPI document can trip over in the newer one, each change in a sentence: something is gone, must now be
 * given, or is narrower. A schema is compared alike whether it is sent or received.
 */
export function breakingChanges(older: unknown, newer: unknown): string[] {
  return compare([], older, newer);
}

function compare(where: readonly string[], older: unknown, newer: unknown): string[] {
  const key = where.at(-1) ?? '';
  const place = where.join(' ');
  const received = where.includes('headers');
  if (key === 'enum') {
    if (older === undefined) return [`${place} is now a closed list`];
    return missing(older, newer).map((value) => `${place} no longer has ${value}`);
  }
  if (key === 'required' && Array.isArray(newer))
    return missing(newer, older).map((name) => `${place} now has ${name}`);
  if (typeof newer === 'object' && newer) {
    // What is new as a whole is in nobody's way, unless it must be given.
    if (older === undefined)
      return !received && 'required' in newer && newer.required === true ? [`${place} is now required`] : [];
    return compareEntries(where, entries(older), entries(newer));
  }
  if (key === 'required') return older !== newer && newer !== received ? [`${place} is now ${String(newer)}`] : [];
  return isNarrower(key, older, newer) ? [`${place} is now ${String(newer)}`] : [];
}

function compareEntries(where: readonly string[], older: Json, newer: Json): string[] {
  const relied = MAPS.has(where.at(-1) ?? '') || where.at(-2) === 'paths';
  const gone = Object.keys(older).filter((key) => relied && !(key in newer));
  return [
    ...gone.map((key) => `${[...where, key].join(' ')} is gone`),
    ...Object.entries(newer)
      .filter(([key]) => !PROSE.has(key))
      .flatMap(([key, value]) => compare([...where, key], older[key], value)),
  ];
}

function isNarrower(key: string, older: unknown, newer: unknown): boolean {
  if (key.startsWith('min')) return Number(newer) > Number(older ?? -Infinity);
  if (key.startsWith('max')) return Number(newer) < Number(older ?? Infinity);
  if (key === 'additionalProperties') return newer === false && older !== false;
  return ['type', 'format', 'pattern', '$ref'].includes(key) && older !== newer;
}

/** The entries of an object, or of a list by what identifies them: a parameter by its place and name. */
function entries(value: unknown): Json {
  if (!Array.isArray(value)) return value as Json;
  return Object.fromEntries(
    (value as Json[]).map((entry, index) => [
      'in' in entry ? `${entry.in as string} ${entry.name as string}` : index,
      entry,
    ]),
  );
}

function missing(from: unknown, to: unknown): string[] {
  return (from as string[]).filter((value) => !((to as string[] | undefined) ?? []).includes(value));
}
