import { EntitySchema, EntitySchemaColumnOptions } from 'typeorm';
import { NewPet, Pet } from '../../../../domain/pets/pet.js';
import type { LastingUrl } from '../../database-url.js';
import { generatedId, int64 } from '../columns.js';

/** The columns of a pet besides its id; those of optional fields are `nullable`. SELECT and INSERT derive from them. */
const columns: Record<keyof NewPet, EntitySchemaColumnOptions> = {
  name: { type: 'varchar', length: 255 },
  categoryId: { ...int64, name: 'category_id' },
  status: { type: 'varchar', length: 9 },
};

/** The domain's own type on the table `pet`. */
export function petSchema(engine: LastingUrl['engine']): EntitySchema<Pet> {
  return new EntitySchema<Pet>({
    name: 'pet',
    columns: { id: generatedId(engine), ...columns },
    indices: [{ name: 'pet_status_id', columns: ['status', 'id'] }],
  });
}

const FIELDS = Object.entries(columns).map(([field, { name = field, type }]) => ({
  field: field as keyof NewPet,
  name,
  type,
}));

/** The columns that `toPet` reads. */
export const PET_COLUMNS = ['id', ...FIELDS.map(({ name }) => name)].join(', ');

/** A row of `PET_COLUMNS`, as the driver reads it: an int64 is a bigint or a string. */
export type PetRow = Readonly<Record<string, string | bigint | number | null>>;

/** The row of a new pet. */
export function toRow(pet: NewPet): Record<string, unknown> {
  return Object.fromEntries(FIELDS.map(({ field, name }) => [name, pet[field] ?? null]));
}

/** The pet in a row. */
export function toPet(row: PetRow): Pet {
  const pet: Partial<Record<keyof Pet, unknown>> = { id: BigInt(row.id!) };
  for (const { field, name, type } of FIELDS) {
    const value = row[name] ?? null;
    if (value !== null) pet[field] = type === 'bigint' ? BigInt(value) : value;
  }
  return pet as Pet;
}
