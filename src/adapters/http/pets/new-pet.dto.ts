import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { DEFAULT_STATUS, NAME_MAX_LENGTH, PET_STATUSES, type PetStatus } from '../../../domain/pets/pet.js';
import { namedSchema } from '../docs/schemas.js';
import { GIVEN, IsInt64, IsText, MayBeAbsent } from './rules.js';

/** A reference to the schema PetStatus. */
export const PET_STATUS = namedSchema('PetStatus', {
  type: 'string',
  description: 'The availability of an animal.',
  enum: [...PET_STATUSES],
});

/** The schema NewPet: the body of createPet. */
@ApiSchema({ name: 'NewPet', description: 'An animal to add. It has no fields but these.' })
export class NewPetDto {
  @ApiProperty({
    description:
      'The name of the animal: 1 to 255 Unicode code points, not only white space, and no control characters. It is kept exactly as it is given, and need not be unique.',
    example: 'Bella',
  })
  @IsText(NAME_MAX_LENGTH)
  name!: string;

  @ApiProperty({
    type: 'integer',
    format: 'int64',
    description: 'Identifier of the category that the animal belongs to.',
    example: 42,
  })
  @IsInt64()
  categoryId!: bigint;

  // Beside allOf, the default would have openapi-typescript take the field for one that must be given.
  @ApiProperty({
    description: 'The availability of the animal; `available` if the field is absent. It cannot be null.',
    allOf: [PET_STATUS, { type: 'string', default: DEFAULT_STATUS }],
  })
  @MayBeAbsent()
  @IsIn(PET_STATUSES, { message: `$property must be one of $constraint1, not ${GIVEN}` })
  status?: PetStatus;
}
