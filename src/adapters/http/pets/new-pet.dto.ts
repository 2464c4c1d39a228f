import { registerDecorator, ValidateIf, type ValidationArguments } from 'class-validator';
import type { PetStatus } from '../../../domain/pets/pet.js';
import { type NewPetBody, type Rule, RULES } from './new-pet.js';

/** The schema NewPet: the body of createPet. The messages end a sentence that begins with the name of the field. */
export class NewPetDto implements NewPetBody {
  @Check(RULES.name)
  name!: string;

  @Check(RULES.categoryId)
  categoryId!: bigint;

  // Optional is not nullable.
  @ValidateIf((_pet, value) => value !== undefined)
  @Check(RULES.status)
  status?: PetStatus;
}

/** A rule as class-validator takes it. */
function Check(fault: Rule): PropertyDecorator {
  return (target, property) =>
    registerDecorator({
      target: target.constructor,
      propertyName: property as string,
      validator: {
        validate: (value: unknown) => fault(value) === undefined,
        defaultMessage: (args?: ValidationArguments) => fault(args?.value) ?? '',
      },
    });
}
