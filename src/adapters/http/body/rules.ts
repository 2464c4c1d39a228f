import { ValidateBy, ValidateIf } from 'class-validator';
import { INT64_MAX, INT64_MIN } from '../../../domain/int64.js';
import { textFault } from '../../../domain/text.js';

/** The placeholder for the value in a rule's message: class-validator's `$value` would neither quote nor cut it. */
export const GIVEN = '$given';

/** The field may be left out. Optional is not nullable. */
export function MayBeAbsent(): PropertyDecorator {
  return ValidateIf((_body, value) => value !== undefined);
}

/** The value is an integer of 64 bits, which the reader of the body has made a bigint, in this range. */
export function IsInt64(min = INT64_MIN, max = INT64_MAX): PropertyDecorator {
  return ValidateBy({
    name: 'isInt64',
    validator: {
      validate: (value) => typeof value === 'bigint' && value >= min && value <= max,
      defaultMessage: () => `$property must be an integer from ${min} to ${max}, not ${GIVEN}`,
    },
  });
}

/** The value is a text as the domain allows it, of at most so many code points. */
export function IsText(maxLength: number): PropertyDecorator {
  const fault = (value: unknown) =>
    typeof value === 'string' ? textFault(value, maxLength) : `must be a string, not ${GIVEN}`;
  return ValidateBy({
    name: 'isText',
    validator: {
      validate: (value) => fault(value) === undefined,
      defaultMessage: (args) => `$property ${fault(args?.value)}`,
    },
  });
}
