import { getSchemaPath } from '@nestjs/swagger';
import { INT64, namedSchema } from '../docs/schemas.js';
import { NewPetDto, PET_STATUS } from './new-pet.dto.js';
import { MAX_LIMIT } from './page-query.pipe.js';

/** The schema of what `petJson` writes. */
export const PET = namedSchema('Pet', {
  description: 'An animal of the catalogue: all fields of NewPet, and its identifier.',
  allOf: [
    { $ref: getSchemaPath(NewPetDto) },
    {
      type: 'object',
      required: ['status', 'id'],
      properties: {
        // Repeated, since generated clients would else have it optional, as in NewPet.
        status: { description: 'The availability of the animal.', allOf: [PET_STATUS] },
        id: {
          ...INT64,
          description: 'Unique identifier, assigned by the service. A later animal has a larger one; none is reused.',
          minimum: 1,
          example: 1,
        },
      },
    },
  ],
});

export const PETS = namedSchema('Pets', {
  type: 'array',
  description: 'A page of animals, newest first.',
  items: PET,
  maxItems: MAX_LIMIT,
});
