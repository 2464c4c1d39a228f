import { NewPet } from '../../domain/pets/pet.js';

/**
 * What tells one payload from another: all its fields, the default written out. A field that a later release adds joins by its name and only
 * if it is given, so that a payload without it keeps its fingerprint, as the keys that are stored need it.
 */
export function fingerprint({ name, categoryId, status, ...later }: NewPet): string {
  const given = Object.entries<unknown>(later).filter(([, value]) => value !== undefined);
  given.sort(([field], [other]) => (field < other ? -1 : 1));
  return JSON.stringify([name, categoryId, status, ...given], (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}
