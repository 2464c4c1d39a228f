import { createHash } from 'node:crypto';
import { NewPet } from '../../domain/pets/pet.js';

/**
 * SHA-256 of the fields of a payload, in hexadecimal. A field that a later release adds is included by name and only if
 * it is given, so that the stored fingerprints of payloads without it stay valid.
 */
export function fingerprint({ name, categoryId, status, ...later }: NewPet): string {
  const given = Object.entries<unknown>(later).filter(([, value]) => value !== undefined);
  given.sort(([field], [other]) => (field < other ? -1 : 1));
  const json = JSON.stringify([name, categoryId, status, ...given], (_name, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  return createHash('sha256').update(json).digest('hex');
}
