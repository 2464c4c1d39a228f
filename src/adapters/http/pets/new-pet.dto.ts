import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { DEFAULT_STATUS, NAME_MAX_LENGTH, PET_STATUSES, type PetStatus } from '../../../domain/pets/pet.js';
import { GIVEN, IsInt64, IsText, MayBeAbsent } from '../body/rules.js';
import { INT64, namedSchema, text } from '../docs/schemas.js';

export const PET_STATUS = namedSchema('PetStatus', {
  type: 'string',
  description: 'The availability of an animal.',
  enum: [...PET_STATUSES],
});

/** The body of createPet. */
@ApiSchema({ name: 'NewPet', description: 'An animal to add. It has no other fields.' })
export class NewPetDto {
  @IsText(NAME_MAX_LENGTH)
  @ApiProperty({
    ...text(NAME_MAX_LENGTH),
    description:
      'The name of the animal: 1 to 255 Unicode code points, not only white space, no control characters. ' +
      'It is stored exactly as given, and need not be unique.',
    example: 'Bella',
  })
  name!: string;

  @IsInt64()
  @ApiProperty({ ...INT64, description: 'Identifier of the category that the animal belongs to.', example: 42 })
  categoryId!: bigint;

  @MayBeAbsent()
  @IsIn(PET_STATUSES, { message: `$property must be one of $constraint1, not ${GIVEN}` })
  @ApiPropertyOptional({
    description: 'The availability of the animal; `available` if the field is absent. It cannot be null.',
    // With the default outside of allOf, openapi-typescript would make the field required.
    allOf: [PET_STATUS, { type: 'string', default: DEFAULT_STATUS }],
    example: DEFAULT_STATUS,
  })
  status?: PetStatus;
}
