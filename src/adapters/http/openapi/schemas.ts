import type { OpenAPIObject } from '@nestjs/swagger';
import { NAME_MAX_LENGTH } from '../../../domain/pets/pet-name.js';
import { DEFAULT_STATUS, PET_STATUSES } from '../../../domain/pets/pet.js';
import { ERROR_STATUS } from '../errors/error-code.js';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

/** The schemas of the interface, by its names. */
export const schemas: Schemas = {
  PetStatus: {
    type: 'string',
    description: 'Whether an animal can be had.',
    enum: [...PET_STATUSES],
    example: 'available',
  },
  NewPet: {
    type: 'object',
    description: 'An animal to be added. A field that is not listed here is refused.',
    required: ['name', 'categoryId'],
    properties: {
      name: {
        type: 'string',
        description:
          'The name of the animal: not only white space, without control characters. It is kept as it is and need not be unique.',
        minLength: 1,
        maxLength: NAME_MAX_LENGTH,
        example: 'Bella',
      },
      categoryId: {
        type: 'integer',
        format: 'int64',
        description:
          'Identifier of the category that the animal belongs to: any int64. It is exact; a client whose numbers are doubles must take care above 2^53.',
        example: 42,
      },
      status: {
        allOf: [{ $ref: '#/components/schemas/PetStatus' }],
        description: 'Where it is absent, the animal is `available`. It may not be null.',
        default: DEFAULT_STATUS,
      },
    },
  },
  Pet: {
    description: 'An animal of the catalogue.',
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
              'Unique identifier, assigned on creation; later animals have larger ones, and none is used twice.',
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
        description: 'What went wrong, for programs: one of a closed list.',
        enum: Object.keys(ERROR_STATUS),
        example: 'missing_field',
      },
      message: {
        type: 'string',
        description: 'What went wrong, and what would be right, for people.',
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
