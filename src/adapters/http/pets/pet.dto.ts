import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import type { Pet, PetStatus } from '../../../domain/pets/pet.js';
import { namedSchema, schemaRef } from '../docs/schemas.js';
import { NewPetDto, PET_STATUS } from './new-pet.dto.js';
import { MAX_LIMIT } from './parameters.js';

/** The schema Pet: a pet as every answer shows it; `petJson` writes it. */
@ApiSchema({ name: 'Pet', description: 'An animal of the catalogue: all fields of NewPet, and its identifier.' })
export class PetDto extends NewPetDto implements Pet {
  @ApiProperty({
    type: 'integer',
    format: 'int64',
    description:
      'Unique identifier, assigned by the service on creation. A later animal has a larger one, and none is used twice.',
    minimum: 1,
    example: 1,
  })
  id!: bigint;

  // Of its own: a program that is generated would else take it for a field that may be left out, as it may in NewPet.
  @ApiProperty({ description: 'The availability of the animal.', allOf: [PET_STATUS], required: true })
  declare status: PetStatus;
}

/** A reference to the schema Pets: a page of the list. */
export const PETS = namedSchema('Pets', {
  type: 'array',
  description: 'A page of animals, newest first.',
  items: schemaRef(PetDto),
  maxItems: MAX_LIMIT,
});
