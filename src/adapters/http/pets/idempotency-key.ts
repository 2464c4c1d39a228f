import type { SentIdempotencyKey } from '../../../application/pets/pet.service.js';
import { ApiError } from '../errors/api-error.js';
import type { Request } from '../server/request.js';

/** Parses `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header), if it was sent. Its scope is the API key. */
export function idempotencyKey({ headers, apiKey }: Request): SentIdempotencyKey | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  // Several are joined with a comma and a space.
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) throw ApiError.of('invalid_idempotency_key');
  return { scope: apiKey!.digest, key };
}
