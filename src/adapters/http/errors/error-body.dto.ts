import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { ERROR_STATUS, type ErrorCode } from './error-code.js';

/** What `@ApiSchema` hands on and has no type for. */
const CLOSED = { additionalProperties: false };

/** The schema Error: the body of every error; `sendError` writes it. */
@ApiSchema({ name: 'Error', description: 'The body of every error.', ...CLOSED })
export class ErrorBodyDto {
  @ApiProperty({
    type: 'string',
    description: 'What went wrong, for programs.',
    enum: Object.keys(ERROR_STATUS),
    example: 'missing_field',
  })
  code!: ErrorCode;

  @ApiProperty({
    type: 'string',
    description: 'What went wrong, and what would be right, for people. Its words may change.',
    example: 'name is required.',
  })
  message!: string;

  @ApiProperty({
    type: 'integer',
    description: 'The HTTP status code of the response.',
    minimum: 400,
    maximum: 599,
    example: 400,
  })
  status!: number;
}
