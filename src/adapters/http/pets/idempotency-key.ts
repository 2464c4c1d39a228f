import { SentIdempotencyKey } from '../../../application/pets/pet.service.js';
import { ApiError } from '../errors/api-error.js';
import { Request } from '../server/request.js';

/** Parses `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header), if it was sent. Its scope is the API key. */
export function idempotencyKey(request: Request): SentIdempotencyKey | undefined {
  const [key, second] = request.headersDistinct['idempotency-key'] ?? [];
  if (key === undefined || !request.apiKey) return undefined;
  if (second !== undefined || !/^[\x21-\x7e]{1,255}$/.test(key)) throw ApiError.of('invalid_idempotency_key');
  return { scope: request.apiKey.digest, key };
}
