import { IsIn } from 'class-validator';
import { DEFAULT_STATUS, NAME_MAX_LENGTH, PET_STATUSES, type PetStatus } from '../../../domain/pets/pet.js';
import { GIVEN, IsInt64, IsText, MayBeAbsent } from '../body/rules.js';
import { INT64, namedSchema, text } from '../docs/schemas.js';

/** The body of createPet; `NEW_PET` is its schema. */
export class NewPetDto {
  @IsText(NAME_MAX_LENGTH)
  name!: string;

  @IsInt64()
  categoryId!: bigint;

  @MayBeAbsent()
  @IsIn(PET_STATUSES, { message: `$property must be one of $constraint1, not ${GIVEN}` })
  status?: PetStatus;
}

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
