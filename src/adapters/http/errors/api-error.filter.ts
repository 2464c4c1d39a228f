import type { IncomingMessage, ServerResponse } from 'node:http';
import { ArgumentsHost, Catch, ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import {
  CursorRefused,
  IdempotencyInProgress,
  IdempotencyKeyReused,
  KeyRefusal,
  KeyRefused,
  PetNotFound,
  StoreUnavailable,
} from '../../../application/errors.js';
import { ApiError } from './api-error.js';
import { sendError } from './send-error.js';

/** How long a client should wait before it asks a store again that could not answer, in seconds. */
const RETRY_AFTER = '1';

const KEY_MESSAGES: Record<KeyRefusal, string> = {
  missing: 'The request has no API key; send it as "Authorization: Bearer <API_KEY>".',
  invalid: 'The API key is not valid; send one that was issued for this service as "Authorization: Bearer <API_KEY>".',
  expired: 'The API key has expired; ask for a new one.',
  revoked: 'The API key was revoked; ask for a new one.',
};

/** Answers every error, the framework's own included, with the Error body. */
@Catch()
export class ApiErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('http');

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<IncomingMessage & { readonly id: string }>();
    const response = host.switchToHttp().getResponse<ServerResponse>();
    try {
      const answer = answerTo(error);
      if (answer.code === 'internal_error')
        this.logger.error(error instanceof Error ? error.stack : error, { request: request.id });
      if (answer.code === 'service_unavailable')
        this.logger.warn((error as StoreUnavailable).cause ?? error, { request: request.id });
      // A client that went away, or one that has part of an answer, can be told nothing more.
      if (response.headersSent || request.socket.destroyed) request.destroy();
      else sendError(response, answer);
    } catch (fault) {
      // What a filter throws ends the process.
      this.logger.error(fault instanceof Error ? fault.stack : fault);
      request.destroy();
    }
  }
}

function answerTo(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof PetNotFound)
    return new ApiError('pet_not_found', 'No pet has this id; GET /v1/pets lists those there are.');
  if (error instanceof KeyRefused) return keyError(error.reason);
  if (error instanceof CursorRefused) {
    return new ApiError(
      'invalid_cursor',
      'cursor must be one that this list gave in a Link header, sent with the same status; leave it out to begin with the first page.',
    );
  }
  if (error instanceof IdempotencyKeyReused) {
    return new ApiError(
      'idempotency_key_reused',
      'This Idempotency-Key came before with another payload; send a new key with a new animal.',
    );
  }
  if (error instanceof IdempotencyInProgress) {
    const message = 'The first request with this Idempotency-Key is still being worked on; try again.';
    return new ApiError('idempotency_in_progress', message, ['Retry-After', RETRY_AFTER]);
  }
  if (error instanceof StoreUnavailable) {
    return new ApiError('service_unavailable', 'The store cannot answer now; try again.', ['Retry-After', RETRY_AFTER]);
  }
  const status =
    error instanceof HttpException ? error.getStatus() : (error as { status?: unknown } | undefined)?.status;
  if (status === 404) return routeNotFound();
  if (typeof status === 'number' && status >= 400 && status < 500)
    return new ApiError('bad_request', 'The request cannot be read.');
  return internalError();
}

/** The answer if the service is at fault. */
export function internalError(): ApiError {
  return new ApiError('internal_error', 'The service failed; the request id finds the reason in its log.');
}

/** The answer for a path that has nothing. */
export function routeNotFound(): ApiError {
  return new ApiError('route_not_found', 'Nothing is here; /docs describes what there is.');
}

/** The answer to a request without a good key, with the challenge of RFC 6750, section 3. */
function keyError(reason: KeyRefusal): ApiError {
  const challenge = reason === 'missing' ? 'Bearer realm="petstore"' : 'Bearer realm="petstore", error="invalid_token"';
  return new ApiError(`api_key_${reason}`, KEY_MESSAGES[reason], ['WWW-Authenticate', challenge]);
}
