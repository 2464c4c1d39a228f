import { EntitySchema, EntitySchemaColumnOptions } from 'typeorm';
import { Pet } from '../../../../domain/pets/pet.js';
import { int64 } from '../columns.js';
import { Table } from '../table.js';

/** How pets are kept: the domain's own type on the table `pet`, with the type that its engine has for an id. */
export function petSchema(idType: 'bigint' | 'integer'): EntitySchema<Pet> {
  return new EntitySchema<Pet>({
    name: 'pet',
    columns: {
      id: { ...int64, type: idType, primary: true, generated: 'increment' },
      name: { type: 'varchar', length: 255 },
      categoryId: { ...int64, name: 'category_id' },
      status: { type: 'varchar', length: 9 },
    } satisfies Record<keyof Pet, EntitySchemaColumnOptions>,
    indices: [{ name: 'pet_status_id', columns: ['status', 'id'] }],
  });
}

/** The table of the pets. */
export const petTable = new Table(petSchema('bigint'));
