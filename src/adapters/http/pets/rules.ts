import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ValidateBy, ValidateIf } from 'class-validator';
import { INT64_MAX, INT64_MIN } from '../../../domain/int64.js';
import { petNameFault } from '../../../domain/pets/pet-name.js';

/** Stands in a rule's message for the value that was given; class-validator's own `$value` would neither quote it nor cut it. */
export const GIVEN = '$given';

/** The field may be left out. Optional is not nullable. */
export function MayBeAbsent(): PropertyDecorator {
  return applyDecorators(
    ValidateIf((_body, value) => value !== undefined),
    ApiProperty({ required: false }),
  );
}

/** The value is an integer of 64 bits, which the reader of the body has made a bigint. */
export function IsInt64(): PropertyDecorator {
  return ValidateBy({
    name: 'isInt64',
    validator: {
      validate: (value) => typeof value === 'bigint',
      defaultMessage: () => `$property must be an integer from ${INT64_MIN} to ${INT64_MAX}, not ${GIVEN}`,
    },
  });
}

/** A string is the name of a pet, as the domain allows it. */
export function IsPetName(): PropertyDecorator {
  return ValidateBy({
    name: 'isPetName',
    validator: {
      validate: (value) => typeof value !== 'string' || petNameFault(value) === undefined,
      defaultMessage: (args) => `$property ${petNameFault(args?.value as string)}`,
    },
  });
}
