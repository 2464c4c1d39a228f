import type { PipeTransform } from '@nestjs/common';
import { PetNotFound } from '../../../application/errors.js';
import type { PageQuery, SentIdempotencyKey } from '../../../application/pets/pet.service.js';
import type { ApiKey } from '../../../domain/keys/api-key.js';
import { isPetStatus, PET_STATUSES } from '../../../domain/pets/pet.js';
import { ApiError } from '../errors/api-error.js';
import { parseQuery, type Query, type QueryParameters } from '../query.js';
import { PET_STATUS } from './new-pet.dto.js';

/** How many pets a page has if the client does not say, and how many it may have at most. */
const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;

/** The query parameters of listPets. */
export const PAGE_QUERY: QueryParameters = {
  limit: {
    description: 'The maximum number of animals to return.',
    schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
    expected: (text) =>
      /^[1-9][0-9]{0,2}$/.test(text) && Number(text) <= MAX_LIMIT ? undefined : `an integer from 1 to ${MAX_LIMIT}`,
  },
  status: {
    description: 'Return only animals with this status.',
    schema: PET_STATUS,
    expected: (text) => (isPetStatus(text) ? undefined : `one of ${PET_STATUSES.join(', ')}`),
  },
  // `PetService` checks the value.
  cursor: {
    description: `Where the page begins; absent for the first page. It comes from the \`Link\` header of the \
previous page, is opaque, valid for the same \`status\` only, and does not expire.`,
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{16,64}$' },
  },
};

/** Parses the query of listPets; throws one `ApiError` for all faults, in the order of the text. */
export class PageQueryPipe implements PipeTransform<Query, PageQuery> {
  transform(query: Query): PageQuery {
    const { limit = DEFAULT_LIMIT, status, cursor } = parseQuery(query, PAGE_QUERY);
    return { limit: Number(limit), status: status as PageQuery['status'], cursor };
  }
}

/** Parses a petId. A malformed one is 404, like that of a pet that does not exist. */
export class PetIdPipe implements PipeTransform<string, bigint> {
  transform(text: string): bigint {
    // An int64 has at most 19 digits. An id that was inserted by hand may be negative.
    if (!/^(?:0|-?[1-9][0-9]{0,18})$/.test(text)) throw new PetNotFound();
    return BigInt(text);
  }
}

/**
 * Parses `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header), if it was sent. No pipe, as a fault of it comes
 * behind those of the body.
 */
export function parseIdempotencyKey(key: string | undefined, { owner }: ApiKey): SentIdempotencyKey | undefined {
  if (key === undefined) return undefined;
  // Several are joined with a comma and a space.
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw ApiError.of('invalid_idempotency_key');
  return { scope: owner, key };
}
