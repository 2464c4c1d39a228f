import { SentIdempotencyKey } from '../../../application/pets/pet.service.js';
import { ApiError } from '../errors/api-error.js';
import { fieldLines } from '../header-list.js';
import { Request } from '../server/request.js';

/** Reads `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header); undefined if it is absent. Its scope is the API key. */
export function idempotencyKey(request: Request): SentIdempotencyKey | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined || !request.apiKey) return undefined;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key) || fieldLines(request, 'idempotency-key') !== 1) {
    throw ApiError.of('invalid_idempotency_key');
  }
  return { scope: request.apiKey.digest, key };
}
