import { EntitySchema } from 'typeorm';
import { Pet } from '../../../domain/pets/pet.js';
import { int64 } from './columns.js';

/** How animals are kept: the domain's own type on the table `pet`. */
export const PetSchema = new EntitySchema<Pet>({
  name: 'pet',
  columns: {
    id: { ...int64, primary: true, generated: 'increment' },
    name: { type: 'varchar', length: 255 },
    categoryId: { ...int64, name: 'category_id' },
    status: { type: 'varchar', length: 9 },
  },
  indices: [{ name: 'pet_status_id', columns: ['status', 'id'] }],
});
