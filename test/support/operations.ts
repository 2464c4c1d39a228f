import type { ErrorCode } from '../../src/adapters/http/errors/error-code.js';
import { FIELDS, newPetJson } from './fields.js';

/** A request to an operation, its target under `/v1` as it stands in the request line. */
export interface OperationRequest {
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A request that an operation rejects, and the code of the error. */
export interface InvalidRequest extends OperationRequest {
  readonly code: ErrorCode;
}

export interface Operation {
  readonly name: string;
  readonly method: string;
  /** As in the OpenAPI document, below `/v1`. */
  readonly path: string;
  readonly deprecated?: boolean;
  /** Whether it has a body, which must then be JSON. */
  readonly hasBody?: boolean;
  readonly takesIdempotencyKey?: boolean;
  /** A request that succeeds once the pet with id 1 exists. */
  readonly valid: OperationRequest;
  readonly success: number;
  readonly invalid: readonly InvalidRequest[];
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

const PET_IDS_OF_NO_PET = [
  ...['0', '-1', '+1', '01', '1.5', '1e0', 'abc', '%ff', '1.0', '-0', '%2B1', '1%20', '1%0A', '0x1', '1;a=b', '1%2F'],
  ...['..%2F1', '%D9%A3', '%zz', "1'%20OR%20'1'='1", '9'.repeat(10_000)],
  ...['9223372036854775807', '9223372036854775808', '-9223372036854775809'],
];

const INVALID_QUERIES = [
  ...['abc', '0', '101', '1.5', '', '+5', '%205', '05', '1e1', '-1', '1000'].map((limit) => `limit=${limit}`),
  ...['%35%00', '5%0A', '%zz', '%ff', '%D9%A3'].map((limit) => `limit=${limit}`),
  ...['', 'Sold', 'lost', 'sold,pending'].map((status) => `status=${status}`),
  'limit',
];

/** Every operation of the interface. A new one needs a row here and `npm run openapi`; the suites derive from this table. */
export const OPERATIONS: readonly Operation[] = [
  {
    name: 'listPets',
    method: 'GET',
    path: '/pets',
    valid: { target: '/v1/pets?limit=2' },
    success: 200,
    invalid: [
      ...INVALID_QUERIES.map((query): InvalidRequest => ({
        target: `/v1/pets?${query}`,
        code: 'invalid_parameter',
      })),
      { target: '/v1/pets?status=sold&status=sold', code: 'repeated_parameter' },
      { target: '/v1/pets?cursor=1', code: 'invalid_cursor' },
    ],
  },
  {
    name: 'createPet',
    method: 'POST',
    path: '/pets',
    hasBody: true,
    takesIdempotencyKey: true,
    valid: { target: '/v1/pets', headers: JSON_TYPE, body: newPetJson() },
    success: 201,
    invalid: [
      ...FIELDS.filter(({ required }) => required).map(({ name }): InvalidRequest => {
        const others = Object.entries(JSON.parse(newPetJson()) as object).filter(([key]) => key !== name);
        return create(JSON.stringify(Object.fromEntries(others)), 'missing_field');
      }),
      ...FIELDS.flatMap(({ name, invalid }) =>
        invalid.map((value) => create(newPetJson({ [name]: value }), 'invalid_field')),
      ),
      create(newPetJson({ id: '1' }), 'unknown_field'),
      create(newPetJson({ Status: '"sold"' }), 'unknown_field'),
    ],
  },
  {
    name: 'getPet',
    method: 'GET',
    path: '/pets/{petId}',
    deprecated: true,
    valid: { target: '/v1/pets/1' },
    success: 200,
    invalid: PET_IDS_OF_NO_PET.map((id): InvalidRequest => ({ target: `/v1/pets/${id}`, code: 'pet_not_found' })),
  },
];

function create(body: string, code: ErrorCode): InvalidRequest {
  return { target: '/v1/pets', headers: JSON_TYPE, body, code };
}
