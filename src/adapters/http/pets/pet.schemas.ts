import { DEFAULT_STATUS, NAME_MAX_LENGTH, PET_STATUSES } from '../../../domain/pets/pet.js';
import { INT64, namedSchema, text } from '../docs/schemas.js';
import { MAX_LIMIT } from './page-query.pipe.js';

export const PET_STATUS = namedSchema('PetStatus', {
  type: 'string',
  description: 'The availability of an animal.',
  enum: [...PET_STATUSES],
});

/** The schema of `NewPetDto`. */
export const NEW_PET = namedSchema('NewPet', {
  type: 'object',
  description: 'An animal to add. It has no other fields.',
  required: ['name', 'categoryId'],
  properties: {
    name: {
      ...text(NAME_MAX_LENGTH),
      description:
        'The name of the animal: 1 to 255 Unicode code points, not only white space, no control characters. ' +
        'It is stored exactly as given, and need not be unique.',
      example: 'Bella',
    },
    categoryId: { ...INT64, description: 'Identifier of the category that the animal belongs to.', example: 42 },
    status: {
      description: 'The availability of the animal; `available` if the field is absent. It cannot be null.',
      // With the default outside of allOf, openapi-typescript would make the field required.
      allOf: [PET_STATUS, { type: 'string', default: DEFAULT_STATUS }],
    },
  },
});

/** The schema of what `petJson` writes. */
const PET_PROPERTIES = {
  // Repeated, since generated clients would else have it optional, as in NewPet.
  status: { description: 'The availability of the animal.', allOf: [PET_STATUS] },
  id: {
    ...INT64,
    description: 'Unique identifier, assigned by the service. A later animal has a larger one; none is reused.',
    minimum: 1,
    example: 1,
  },
};

export const PET = namedSchema('Pet', {
  description: 'An animal of the catalogue: all fields of NewPet, and its identifier.',
  allOf: [NEW_PET, { type: 'object', required: ['status', 'id'], properties: PET_PROPERTIES }],
});

export const PETS = namedSchema('Pets', {
  type: 'array',
  description: 'A page of animals, newest first.',
  items: PET,
  maxItems: MAX_LIMIT,
});
