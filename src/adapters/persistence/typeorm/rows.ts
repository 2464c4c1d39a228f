import { Pet, PetStatus } from '../../../domain/pets/pet.js';

/** A row, in the order of the selected columns. An int64 comes as a bigint or as a string, without loss. */
export type Row = readonly unknown[];

/** The animal in a row that begins with id, name, category_id and status. */
export function petOf([id, name, categoryId, status]: Row): Pet {
  return {
    id: BigInt(id as string | bigint),
    name: name as string,
    categoryId: BigInt(categoryId as string | bigint),
    status: status as PetStatus,
  };
}
