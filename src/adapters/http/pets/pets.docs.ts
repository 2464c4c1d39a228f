import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiExtension, ApiHeader, ApiParam, ApiQuery } from '@nestjs/swagger';
import { CURSOR_PATTERN } from '../../../application/pets/cursors.js';
import { failure, type Headers, messages, success } from '../docs/answers.js';
import { closedSchemaRef, schemaRef } from '../docs/schemas.js';
import { Operation } from '../operation.js';
import { SUNSET } from './deprecation.js';
import { NewPetDto, PET_STATUS } from './new-pet.dto.js';
import { DEFAULT_LIMIT, MAX_LIMIT } from './parameters.js';
import { PetDto, PETS } from './pet.dto.js';

const BELLA = { id: 1, name: 'Bella', categoryId: 42, status: 'available' };

const PAGE = [
  { id: 3, name: 'Zoë', categoryId: 7, status: 'pending' },
  { id: 2, name: 'Max', categoryId: 42, status: 'available' },
];

const DEPRECATED: Headers = { Deprecation: 'Deprecation', Sunset: 'Sunset', Link: 'Successor' };

/** What listPets is and answers. */
export function ListPetsOperation(): MethodDecorator {
  return applyDecorators(
    Operation({
      operationId: 'listPets',
      tags: ['pets'],
      summary: 'List animals',
      description: `Returns a page of the animals, newest first, optionally those of one status only.

If more follow, the \`Link\` header with \`rel="next"\` has the address of the next page; the last page has none. \
Whoever follows these links meets every animal that was there at the beginning exactly once, whatever is added meanwhile.`,
      unavailable: 'The same request may succeed later.',
    }),
    ApiQuery({
      name: 'limit',
      required: false,
      description: 'The maximum number of animals to return.',
      schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
    }),
    ApiQuery({
      name: 'status',
      required: false,
      description: 'Return only animals of this status.',
      schema: PET_STATUS,
    }),
    ApiQuery({
      name: 'cursor',
      required: false,
      description:
        'Where the page begins; the first page if it is absent. It comes from the `Link` header of the page before, is opaque, holds for the same `status` only, and does not expire.',
      schema: { type: 'string', pattern: CURSOR_PATTERN },
    }),
    success(200, 'A page of animals; an empty array if there are none.', PETS, PAGE, { Link: 'NextPage' }),
    failure('A query parameter is unknown, given twice, or has a value that it cannot have.', {
      invalid_parameter: 'limit must be an integer from 1 to 100, not "1000".',
      unknown_parameter: '"Limit" is not a query parameter of this operation. Did you mean "limit"?',
      repeated_parameter: 'status must be given once.',
      ...messages('invalid_cursor'),
    }),
  );
}

/** What createPet is and answers. */
export function CreatePetOperation(): MethodDecorator {
  return applyDecorators(
    Operation({
      operationId: 'createPet',
      tags: ['pets'],
      summary: 'Add an animal',
      description:
        'Adds an animal and answers with it and its `id`, once it is safely on disk. The body may have at most 64 KiB.\n\n' +
        'A request that may have to be sent again, because its answer can be lost, should have an `Idempotency-Key`.',
      unavailable: 'The pet may have been added: with an `Idempotency-Key` the same request can be sent again.',
    }),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description:
        'A name for this request, of its own: with it the animal is added once, however often the request is sent within 24 hours, and every answer is the same. A UUID does well. It is known to the API key that it came with only.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
    }),
    ApiBody({
      required: true,
      description: 'The animal to add.',
      schema: closedSchemaRef(NewPetDto),
      examples: {
        full: { summary: 'Every field', value: { name: 'Bella', categoryId: 42, status: 'available' } },
        short: { summary: 'The required fields', value: { name: 'Zoë', categoryId: 7 } },
      },
    }),
    success(201, 'The animal was added.', schemaRef(PetDto), BELLA, {
      Location: 'Location',
      'Idempotent-Replayed': 'Replayed',
    }),
    failure(
      'The body lacks a required field, has an invalid value or an unknown field, or is not a JSON object. Nothing was added. `message` names every fault, and `code` is that of the first.',
      {
        missing_field: 'name is required.',
        invalid_field: 'status must be one of available, pending, sold, not "lost".',
        unknown_field: '"Status" is not a field of a new pet. Did you mean "status"?',
        duplicate_field: '"name" must be given once.',
        invalid_body: 'The body must be a JSON object, not an array.',
        invalid_json: 'The body is not valid JSON (RFC 8259): Unexpected end of JSON input.',
        unknown_parameter: '"dryRun" is not a query parameter of this operation.',
        ...messages('invalid_idempotency_key'),
      },
    ),
    failure('The body is larger than 64 KiB. Nothing was added.', {
      body_too_large: 'The body must have at most 65536 bytes.',
    }),
    failure(
      'The body is not declared as `application/json` in UTF-8, or is compressed. Nothing was added.',
      { unsupported_media_type: 'Content-Type must be application/json, in UTF-8; not "text/plain".' },
      { Accept: 'AcceptedType', 'Accept-Encoding': 'AcceptedEncoding' },
    ),
    failure(
      'The first request with this `Idempotency-Key` is still being worked on. Its outcome can be had later.',
      messages('idempotency_in_progress'),
      { 'Retry-After': 'RetryAfter' },
    ),
    failure(
      'The `Idempotency-Key` came before, with another animal. Nothing was added.',
      messages('idempotency_key_reused'),
    ),
  );
}

/** What getPet is and answers. */
export function GetPetOperation(): MethodDecorator {
  return applyDecorators(
    Operation({
      operationId: 'getPet',
      tags: ['pets'],
      summary: 'Get an animal (to be removed on 5 December 2030)',
      deprecated: true,
      description:
        '**Deprecated, and to be removed on 5 December 2030.** Use `GET /pets` with the `status` filter instead.\n\nReturns one animal by its identifier.',
      unavailable: 'The same request may succeed later.',
      headers: DEPRECATED,
    }),
    ApiExtension('x-sunset', new Date(SUNSET).toISOString().slice(0, '2030-12-05'.length)),
    ApiParam({
      name: 'petId',
      description: 'Identifier of the animal to retrieve.',
      schema: { type: 'integer', format: 'int64', example: 1 },
    }),
    success(200, 'The animal.', schemaRef(PetDto), BELLA, DEPRECATED),
    failure(
      'A query parameter was given; this operation has none.',
      { unknown_parameter: '"verbose" is not a query parameter of this operation.' },
      DEPRECATED,
    ),
    failure('No animal has this identifier, or it is no int64.', messages('pet_not_found'), DEPRECATED),
  );
}
