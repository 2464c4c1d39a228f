import { IsIn, registerDecorator, ValidateIf, type ValidationArguments } from 'class-validator';
import { INT64_MAX, INT64_MIN } from '../../../domain/int64.js';
import { PET_STATUSES, type PetStatus } from '../../../domain/pets/pet.js';
import { petNameFault } from '../../../domain/pets/pet-name.js';
import { kindOf, NumberLiteral } from '../body/json-object.js';
import { quoted } from '../errors/wording.js';

/** The schema NewPet: the body of createPet. The messages end a sentence that begins with the name of the field. */
export class NewPetDto {
  @Check((value) => (typeof value === 'string' ? petNameFault(value) : `must be a string, not ${shown(value)}`))
  name!: string;

  @Check((value) =>
    typeof value === 'bigint' ? undefined : `must be an integer from ${INT64_MIN} to ${INT64_MAX}, not ${shown(value)}`,
  )
  categoryId!: bigint;

  // Optional is not nullable.
  @ValidateIf((_pet, value) => value !== undefined)
  @IsIn(PET_STATUSES, { message: ({ value }) => `must be one of ${PET_STATUSES.join(', ')}, not ${shown(value)}` })
  status?: PetStatus;
}

/** A class-validator rule made of a function that tells what is wrong with a value. */
function Check(fault: (value: unknown) => string | undefined): PropertyDecorator {
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

function shown(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (value instanceof NumberLiteral) return value.text.length > 40 ? `${value.text.slice(0, 40)}…` : value.text;
  return typeof value === 'boolean' ? String(value) : kindOf(value);
}
