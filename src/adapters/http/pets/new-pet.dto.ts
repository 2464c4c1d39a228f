import { IsIn } from 'class-validator';
import { NAME_MAX_LENGTH, PET_STATUSES, type PetStatus } from '../../../domain/pets/pet.js';
import { GIVEN, IsInt64, IsText, MayBeAbsent } from '../body/rules.js';

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
