import { EntitySchema, EntitySchemaColumnOptions } from 'typeorm';
import { NewPet, Pet } from '../../../../domain/pets/pet.js';
import { int64 } from '../columns.js';

/** The columns of a pet besides its id; those of optional fields are `nullable`. Every statement derives from them. */
const columns: Record<keyof NewPet, EntitySchemaColumnOptions> = {
  name: { type: 'varchar', length: 255 },
  categoryId: { ...int64, name: 'category_id' },
  status: { type: 'varchar', length: 9 },
};

/** The domain's own type on the table `pet`, with the type that its database has for an id. */
export function petSchema(idType: 'bigint' | 'integer'): EntitySchema<Pet> {
  return new EntitySchema<Pet>({
    name: 'pet',
    columns: { id: { ...int64, type: idType, primary: true, generated: 'increment' }, ...columns },
    indices: [{ name: 'pet_status_id', columns: ['status', 'id'] }],
  });
}

/** The columns that an insert writes, in order. */
export const NEW_PET_COLUMNS = Object.entries(columns).map(([field, { name, type }]) => ({
  field: field as keyof NewPet,
  name: name ?? field,
  type,
}));

/** Their names in the database. */
export const NEW_PET_NAMES = NEW_PET_COLUMNS.map(({ name }) => name).join(', ');

/** The columns that `toPet` reads. */
export const PET_COLUMNS = `id, ${NEW_PET_NAMES}`;

/** A row of `PET_COLUMNS`, as the driver reads it: an int64 is a bigint or a string. */
export type PetRow = Readonly<Record<string, string | bigint | number | null>>;

/** The pet in a row. */
export function toPet(row: PetRow): Pet {
  const pet: Partial<Record<keyof Pet, unknown>> = { id: BigInt(row.id!) };
  for (const { field, name, type } of NEW_PET_COLUMNS) {
    const value = row[name] ?? null;
    if (value !== null) pet[field] = type === 'bigint' ? BigInt(value) : value;
  }
  return pet as Pet;
}
