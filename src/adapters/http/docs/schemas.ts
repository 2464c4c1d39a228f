import type { OpenAPIObject } from '@nestjs/swagger';
import { NAME_MAX_LENGTH } from '../../../domain/pets/pet-name.js';
import { DEFAULT_STATUS, PET_STATUSES } from '../../../domain/pets/pet.js';
import { ERROR_STATUS } from '../errors/error-code.js';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

/** The schemas of the interface, by its names. */
export const schemas: Schemas = {
  PetStatus: {
    type: 'string',
    description: 'The availability of an animal.',
    enum: [...PET_STATUSES],
    example: 'available',
  },
  NewPet: {
    type: 'object',
    description: 'An animal to add. It has no fields but these.',
    required: ['name', 'categoryId'],
    properties: {
      name: {
        type: 'string',
        description:
          'The name of the animal: 1 to 255 Unicode code points, not only white space, and no control characters. It is kept exactly as it is given, and need not be unique.',
        minLength: 1,
        maxLength: NAME_MAX_LENGTH,
        example: 'Bella',
      },
      categoryId: {
        type: 'integer',
        format: 'int64',
        description: 'Identifier of the category that the animal belongs to.',
        example: 42,
      },
      // Beside allOf, the default would have openapi-typescript take the field for one that must be given.
      status: {
        description: 'The availability of the animal; `available` where the field is absent. It cannot be null.',
        allOf: [{ $ref: '#/components/schemas/PetStatus' }, { default: DEFAULT_STATUS }],
      },
    },
  },
  Pet: {
    description: 'An animal of the catalogue: all fields of NewPet, and its identifier.',
    allOf: [
      { $ref: '#/components/schemas/NewPet' },
      {
        type: 'object',
        required: ['id', 'status'],
        properties: {
          id: {
            type: 'integer',
            format: 'int64',
            description:
              'Unique identifier, assigned by the service on creation. A later animal has a larger one, and none is used twice.',
            minimum: 1,
            example: 1,
          },
        },
      },
    ],
  },
  Pets: {
    type: 'array',
    description: 'A page of animals, newest first.',
    items: { $ref: '#/components/schemas/Pet' },
    maxItems: 100,
  },
  Error: {
    type: 'object',
    description: 'The body of every error.',
    required: ['code', 'message', 'status'],
    additionalProperties: false,
    properties: {
      code: {
        type: 'string',
        description: 'What went wrong, for programs.',
        enum: Object.keys(ERROR_STATUS),
        example: 'missing_field',
      },
      message: {
        type: 'string',
        description: 'What went wrong, and what would be right, for people. Its words may change.',
        example: 'name is required.',
      },
      status: {
        type: 'integer',
        description: 'The HTTP status code of the response.',
        minimum: 400,
        maximum: 599,
        example: 400,
      },
    },
  },
};
