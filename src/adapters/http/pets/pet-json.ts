import { Pet } from '../../../domain/pets/pet.js';

/** The text of a pet as JSON: its int64s as exact numbers, which `JSON.stringify` cannot write. */
export function petJson({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

/** The text of pets as a JSON array. */
export function petsJson(pets: readonly Pet[]): string {
  return `[${pets.map(petJson).join(',')}]`;
}
