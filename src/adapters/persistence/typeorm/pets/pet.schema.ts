import { EntitySchema } from 'typeorm';
import { NewPet, Pet, PetStatus } from '../../../../domain/pets/pet.js';
import type { LastingUrl } from '../../database-url.js';
import { generatedId, int64 } from '../columns.js';

/** The table `pet`, for checks of the schema and for copies, not for inserts: TypeORM's own rounds ids on SQLite. */
export function petSchema(engine: LastingUrl['engine']): EntitySchema<Pet> {
  return new EntitySchema<Pet>({
    name: 'pet',
    columns: {
      id: generatedId(engine),
      name: { type: 'varchar', length: 255 },
      categoryId: { ...int64, name: 'category_id' },
      status: { type: 'varchar', length: 9 },
    },
    indices: [{ name: 'pet_status_id', columns: ['status', 'id'] }],
  });
}

/** The columns that `toPet` reads. */
export const PET_COLUMNS = 'id, name, category_id, status';

/** A row of `PET_COLUMNS`, as the driver reads it: an int64 is a bigint or a string. */
export interface PetRow {
  readonly id: bigint | string;
  readonly name: string;
  readonly category_id: bigint | string;
  readonly status: PetStatus;
}

/** The row of a new pet. */
export function toRow({ name, categoryId, status }: NewPet) {
  return { name, category_id: categoryId, status };
}

/** The pet in a row. */
export function toPet({ id, name, category_id, status }: PetRow): Pet {
  return { id: BigInt(id), name, categoryId: BigInt(category_id), status };
}
