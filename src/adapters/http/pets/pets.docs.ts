import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiHeader,
  ApiOkResponse,
  ApiParam,
  ApiProperty,
  ApiSchema,
  getSchemaPath,
} from '@nestjs/swagger';
import type { Pet, PetStatus } from '../../../domain/pets/pet.js';
import { ApiErrorResponse, headerRefs, messages } from '../docs/responses.js';
import { INT64, namedSchema } from '../docs/schemas.js';
import { Operation } from '../operation.js';
import { NewPetDto, PET_STATUS } from './new-pet.dto.js';
import { MAX_LIMIT, PAGE_QUERY } from './parameters.js';

const EXAMPLE = { id: 1, name: 'Bella', categoryId: 42, status: 'available' } satisfies Record<keyof Pet, unknown>;

/** What `petJson` writes. */
@ApiSchema({ name: 'Pet', description: 'An animal of the catalogue: all fields of NewPet, and its identifier.' })
class PetDto extends NewPetDto {
  @ApiProperty({
    description: 'The availability of the animal.',
    allOf: [PET_STATUS],
    required: true,
    example: EXAMPLE.status,
  })
  declare status: PetStatus;

  @ApiProperty({
    ...INT64,
    description: 'Unique identifier, assigned by the service. A later one is larger.',
    minimum: 1,
    example: EXAMPLE.id,
  })
  id!: bigint;
}

const PETS = namedSchema('Pets', {
  type: 'array',
  description: 'A page of animals, newest first.',
  items: { $ref: getSchemaPath(PetDto) },
  maxItems: MAX_LIMIT,
});

const PARAMETERS = Object.keys(PAGE_QUERY).join(', ');

export const ListPetsOperation = applyDecorators(
  Operation({
    operationId: 'listPets',
    summary: 'List animals',
    description: `Returns a page of the animals, newest first, optionally only those with one status.

If more follow, the \`Link\` header with \`rel="next"\` has the address of the next page. Following these links yields \
every animal that existed at the beginning exactly once, whatever is added meanwhile.`,
    query: PAGE_QUERY,
  }),
  ApiOkResponse({
    description: 'A page of animals; an empty array if there are none.',
    schema: PETS,
    example: [EXAMPLE],
    headers: headerRefs({ Link: 'NextPage' }),
  }),
  ApiErrorResponse('A query parameter is unknown, repeated or invalid.', {
    invalid_parameter: 'limit must be an integer from 1 to 100, not "1000".',
    unknown_parameter: `"page" is not a query parameter of this operation. It has ${PARAMETERS}.`,
    repeated_parameter: `status must be given once. The parameters are ${PARAMETERS}.`,
    ...messages('invalid_cursor'),
  }),
);

export const CreatePetOperation = applyDecorators(
  Operation({
    operationId: 'createPet',
    summary: 'Add an animal',
    description: `Adds an animal, and returns it with its \`id\` once it is on disk. The body may have at most 64 KiB.

A client that retries, because a response can be lost, should send an \`Idempotency-Key\`.`,
  }),
  ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description: `A unique value for this request, such as a UUID: however often the request is sent within \
24 hours, the animal is added at most once, and every 201 is the same. Its scope is the API key.`,
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  }),
  ApiBody({ type: NewPetDto, description: 'The animal to add.' }),
  ApiCreatedResponse({
    description: 'The animal was added.',
    type: PetDto,
    example: EXAMPLE,
    headers: headerRefs({ Location: 'Location', 'Idempotent-Replayed': 'Replayed' }),
  }),
  ApiErrorResponse(
    'The body or a parameter is invalid. Nothing was stored. `message` names up to ten faults, `code` the first.',
    {
      invalid_json: 'The body is not valid JSON (RFC 8259).',
      invalid_body: 'The body must be a JSON object, not an array.',
      duplicate_field: 'name must be given once.',
      missing_field: 'name is required.',
      unknown_parameter: '"dryRun" is not a query parameter of this operation. It has none.',
      invalid_field: 'status must be one of available, pending, sold, not "lost".',
      unknown_field: '"Status" is not a field of this body. Did you mean "status"?',
      ...messages('invalid_idempotency_key'),
    },
  ),
  ApiErrorResponse(
    'The first request with this `Idempotency-Key` is still in flight. Retry to get its response.',
    messages('idempotency_in_progress'),
  ),
  ApiErrorResponse(
    'The `Idempotency-Key` was used before with another animal. Nothing was added.',
    messages('idempotency_key_reused'),
  ),
  ApiErrorResponse(
    'The database cannot respond now. The animal may have been added; with an `Idempotency-Key` the request can be ' +
      'retried.',
    messages('service_unavailable'),
  ),
);

export const GetPetOperation = applyDecorators(
  Operation({
    operationId: 'getPet',
    summary: 'Get an animal (to be removed on 5 December 2030)',
    deprecated: true,
    description: `**Deprecated, and to be removed on 5 December 2030.** \
Use \`GET /pets\` with the \`status\` filter instead.

Returns one animal by its identifier.`,
  }),
  ApiParam({
    name: 'petId',
    description: 'Identifier of the animal to retrieve.',
    schema: { ...INT64, example: 1 },
  }),
  ApiOkResponse({ description: 'The animal.', type: PetDto, example: EXAMPLE }),
  ApiErrorResponse('No animal has this identifier, or it is not an int64.', messages('pet_not_found')),
);
