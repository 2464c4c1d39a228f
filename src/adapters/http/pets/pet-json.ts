import { Pet } from '../../../domain/pets/pet.js';

/** The text of an animal as JSON: its int64s as exact numbers, which `JSON.stringify` cannot write. */
export function petJson({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

/** The text of animals as a JSON array. */
export function petsJson(pets: readonly Pet[]): string {
  return `[${pets.map(petJson).join(',')}]`;
}
