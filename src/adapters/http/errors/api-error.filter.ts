import { ArgumentsHost, Catch, ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import {
  CursorRejected,
  IdempotencyInProgress,
  IdempotencyKeyReused,
  KeyRejected,
  PetNotFound,
  DatabaseUnavailable,
} from '../../../application/errors.js';
import type { PetStoreRequest } from '../server/request.js';
import type { PetStoreResponse } from '../server/response.js';
import { ApiError, RETRY_AFTER, sendError } from './api-error.js';
import { ERRORS } from './error-code.js';

/** Sends every error, the framework's own included, as an Error body. */
@Catch()
export class ApiErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('http');

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<PetStoreRequest>();
    const response = http.getResponse<PetStoreResponse>();
    // `ConnectionQueue.fail` has sent an error meanwhile, as the body was malformed: nothing can be sent after it.
    if (response.writableEnded && !request.complete) return;
    const { context } = request;
    context.error = apiErrorOf(error);
    if (context.error.code === 'internal_error') this.logger.error(error, { request: context.id });
    if (!response.headersSent) sendError(response, context.error);
    // The client has received a part of another response.
    else if (!response.writableEnded) request.destroy();
  }
}

function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof PetNotFound) return ApiError.of('pet_not_found');
  if (error instanceof KeyRejected) return keyError(error);
  if (error instanceof CursorRejected) return ApiError.of('invalid_cursor');
  if (error instanceof IdempotencyKeyReused) return ApiError.of('idempotency_key_reused');
  if (error instanceof IdempotencyInProgress) return ApiError.of('idempotency_in_progress', RETRY_AFTER);
  if (error instanceof DatabaseUnavailable) return ApiError.of('service_unavailable', RETRY_AFTER);
  // By Express, of a file of the docs page; Nest turns its errors into HttpExceptions.
  if (error instanceof HttpException && error.getStatus() === 412)
    return new ApiError('bad_request', 'The file has changed (RFC 9110, section 13.1).', [], 412);
  return ApiError.of('internal_error');
}

/** The error for a missing or invalid key, with the challenge of RFC 6750, section 3. */
function keyError({ reason, hint }: KeyRejected): ApiError {
  const challenge = reason === 'missing' ? 'Bearer realm="petstore"' : 'Bearer realm="petstore", error="invalid_token"';
  const code = `api_key_${reason}` as const;
  return new ApiError(code, hint ?? ERRORS[code][1], ['WWW-Authenticate', challenge]);
}
