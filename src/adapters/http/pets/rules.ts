import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ValidateBy, ValidateIf } from 'class-validator';
import { INT64_MAX, INT64_MIN } from '../../../domain/int64.js';
import { textFault } from '../../../domain/text.js';

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

const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f';

/** What of the rule of a text every reader of JSON Schema can tell: no control character, and one that is not white space. */
const TEXT_PATTERN = `^[^${CONTROLS}]*[^\\s${CONTROLS}][^${CONTROLS}]*$`;

/** The value is a text as the domain allows it, of at most so many code points; the document says so too. */
export function IsText(maxLength: number): PropertyDecorator {
  return applyDecorators(
    ApiProperty({ type: 'string', minLength: 1, maxLength, pattern: TEXT_PATTERN }),
    ValidateBy({
      name: 'isText',
      validator: {
        validate: (value) => textRule(value, maxLength) === undefined,
        defaultMessage: (args) => `$property ${textRule(args?.value, maxLength)}`,
      },
    }),
  );
}

function textRule(value: unknown, maxLength: number): string | undefined {
  return typeof value === 'string' ? textFault(value, maxLength) : `must be a string, not ${GIVEN}`;
}
