import { ApiBody, ApiExtension, ApiOperation, ApiParam, ApiQuery, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { ApiResponseOptions } from '@nestjs/swagger';
import { ERROR_STATUS, ErrorCode } from '../errors/error-code.js';
import { GetPetController, SUNSET } from '../pets/get-pet.controller.js';
import { DEFAULT_LIMIT, MAX_LIMIT } from '../pets/parameters.js';
import { PetsController } from '../pets/pets.controller.js';

// The words of the document stand apart from the controllers, so that @nestjs/swagger, a quarter of the start-up time and a fifth
// of the idle memory, is loaded by whoever reads the document first, and by nobody else.

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const header = (description: string, example: string, required = true) => ({
  description,
  required,
  schema: { type: 'string' as const },
  example,
});

/** What every answer carries. */
const REQUEST_ID = {
  'X-Request-Id': header(
    "The request's own `X-Request-Id` where it is 1 to 64 of `A-Za-z0-9._-`, else a new one; it finds the request in the log.",
    '0e8c1c6f-5a51-4d55-a6c6-3f1b4f4e9f0a',
  ),
};

const DEPRECATION = {
  Deprecation: header('Since when the operation is deprecated (RFC 9745): 20 November 2026.', '@1795132800'),
  Sunset: header('When the operation is to be removed (RFC 8594).', SUNSET),
  Link: header(
    'The documentation and the operation to use instead (RFC 8288).',
    '</docs>; rel="deprecation"; type="text/html", </v1/pets>; rel="successor-version"',
  ),
};

type Headers = NonNullable<ApiResponseOptions['headers']>;

const PETS = [
  { id: 2, name: 'Zoë', categoryId: 42, status: 'pending' },
  { id: 1, name: 'Bella', categoryId: 42, status: 'available' },
];

function success(
  status: number,
  description: string,
  schema: string,
  example: unknown,
  headers: Headers = {},
): MethodDecorator {
  return ApiResponse({
    status,
    description,
    headers: { ...REQUEST_ID, ...headers },
    content: { 'application/json': { schema: ref(schema), example } },
  });
}

/** An error of one status: each code it may have, with a message as an example. */
function failure(
  description: string,
  messages: Partial<Record<ErrorCode, string>>,
  headers: Headers = {},
): MethodDecorator {
  const codes = Object.entries(messages) as [ErrorCode, string][];
  const status = ERROR_STATUS[(codes[0] as [ErrorCode, string])[0]];
  const examples = Object.fromEntries(
    codes.map(([code, message]) => [code, { summary: code, value: { code, message, status } }]),
  );
  return ApiResponse({
    status,
    description,
    headers: { ...REQUEST_ID, ...headers },
    content: { 'application/json': { schema: ref('Error'), examples } },
  });
}

const unauthorized = (more: Headers = {}) =>
  failure(
    'The API key is missing or invalid.',
    {
      api_key_missing: 'The request has no API key; send it as "Authorization: Bearer <API_KEY>".',
      api_key_invalid:
        'The API key is not valid; send one that was issued for this service as "Authorization: Bearer <API_KEY>".',
      api_key_expired: 'The API key has expired; ask for a new one.',
      api_key_revoked: 'The API key was revoked; ask for a new one.',
    },
    { ...more, 'WWW-Authenticate': header('The challenge of RFC 6750, section 3.', 'Bearer realm="petstore"') },
  );

const notAcceptable = (more: Headers = {}) =>
  failure(
    'The client does not accept JSON.',
    { not_acceptable: 'The answers of this service are application/json, which Accept must allow.' },
    more,
  );

const unavailable = (more: Headers = {}) =>
  failure(
    'The store cannot answer now.',
    { service_unavailable: 'The store cannot answer now; try again.' },
    { ...more, 'Retry-After': header('After how many seconds to try again.', '1') },
  );

const unexpected = (more: Headers = {}) =>
  ApiResponse({
    status: 'default',
    description: 'Any other error, such as a request that is not valid HTTP, or a fault of the service.',
    headers: { ...REQUEST_ID, ...more },
    content: {
      'application/json': {
        schema: ref('Error'),
        example: {
          code: 'internal_error',
          message: 'The service failed; the request id finds the reason in its log.',
          status: 500,
        },
      },
    },
  });

describe(
  PetsController,
  'listPets',
  ApiTags('pets'),
  ApiOperation({
    operationId: 'listPets',
    summary: 'List animals',
    description:
      'Returns a page of the animals, newest first. Where more follow, the `Link` header with `rel="next"` leads to them; on the last page it is absent. ' +
      'A walk along these links meets every animal that was there when it began exactly once, whatever is added meanwhile.',
  }),
  ApiQuery({
    name: 'limit',
    required: false,
    description: 'The most animals to return.',
    schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
  }),
  ApiQuery({
    name: 'status',
    required: false,
    description: 'Return only animals of this status.',
    schema: ref('PetStatus'),
  }),
  ApiQuery({
    name: 'cursor',
    required: false,
    description:
      'Return the page at this place: the `cursor` of a `Link` that a page with the same `status` gave. It is opaque and does not expire.',
    schema: { type: 'string' },
  }),
  success(200, 'A page of animals.', 'Pets', PETS, {
    Link: header(
      'The page that follows, with `rel="next"` (RFC 8288); absent on the last page.',
      '</v1/pets?limit=2&cursor=1tYqVQ7hcVYQhIvn9cvcdQg>; rel="next"',
      false,
    ),
  }),
  failure('A query parameter is wrong.', {
    invalid_parameter: 'limit must be an integer from 1 to 100, not "1000".',
    unknown_parameter: '"Limit" is not a query parameter of this operation. Did you mean "limit"?',
    repeated_parameter: 'status must be given once.',
    invalid_cursor:
      'cursor must be one that this list gave in a Link header, sent with the same status; leave it out to begin with the first page.',
  }),
  unauthorized(),
  notAcceptable(),
  unavailable(),
  unexpected(),
);

describe(
  PetsController,
  'createPet',
  ApiTags('pets'),
  ApiOperation({
    operationId: 'createPet',
    summary: 'Add an animal',
    description: 'Adds an animal and answers once it is safely stored.',
  }),
  ApiBody({
    required: true,
    description: 'The animal to add.',
    schema: ref('NewPet'),
    examples: {
      full: { summary: 'All fields', value: { name: 'Bella', categoryId: 42, status: 'available' } },
      short: { summary: 'Required fields only', value: { name: 'Zoë', categoryId: 42 } },
    },
  }),
  success(201, 'The animal was added.', 'Pet', PETS[1], { Location: header('Where the animal is.', '/v1/pets/1') }),
  failure('The body lacks required fields or has invalid values, or is no JSON.', {
    missing_field: 'name is required.',
    invalid_field: 'status must be one of available, pending, sold, not "lost".',
    unknown_field: '"Status" is not a field of a new pet. Did you mean "status"?',
    duplicate_field: '"name" must be given once.',
    invalid_body: 'The body must be a JSON object, not an array.',
    invalid_json: 'The body is not valid JSON (RFC 8259): Unexpected end of JSON input.',
    unknown_parameter: '"dryRun" is not a query parameter of this operation.',
  }),
  unauthorized(),
  notAcceptable(),
  failure('The body is larger than 64 KiB.', { body_too_large: 'The body must have at most 65536 bytes.' }),
  failure(
    'The body is not said to be plain JSON in UTF-8.',
    { unsupported_media_type: 'Content-Type must be application/json, in UTF-8; not "text/plain".' },
    {
      Accept: header('What the body may be.', 'application/json', false),
      'Accept-Encoding': header('How the body may be encoded.', 'identity', false),
    },
  ),
  unavailable(),
  unexpected(),
);

describe(
  GetPetController,
  'getPet',
  ApiTags('pets'),
  ApiOperation({
    operationId: 'getPet',
    summary: 'Get an animal',
    deprecated: true,
    description: '**Deprecated; to be removed on 5 December 2030.** Use `GET /pets` with the `status` filter instead.',
  }),
  ApiExtension('x-sunset', '2030-12-05'),
  ApiParam({
    name: 'petId',
    description: 'Identifier of the animal.',
    schema: { type: 'integer', format: 'int64' },
    example: 1,
  }),
  success(200, 'The animal.', 'Pet', PETS[1], DEPRECATION),
  failure(
    'A query parameter was given; there is none.',
    { unknown_parameter: '"verbose" is not a query parameter of this operation.' },
    DEPRECATION,
  ),
  unauthorized(DEPRECATION),
  failure(
    'There is no such animal.',
    { pet_not_found: 'No pet has this id; GET /v1/pets lists those there are.' },
    DEPRECATION,
  ),
  notAcceptable(DEPRECATION),
  unavailable(DEPRECATION),
  unexpected(DEPRECATION),
);

function describe(controller: { prototype: object }, method: string, ...decorators: MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(controller.prototype, method);
  if (!descriptor) throw new Error(`There is no operation ${method} to describe.`);
  for (const decorate of decorators) decorate(controller.prototype, method, descriptor);
}
