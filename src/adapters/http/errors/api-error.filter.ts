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
import type { HeaderList } from '../header-list.js';
import { ApiError } from './api-error.js';
import { sendError } from './send-error.js';

/** When to ask a store again that could not answer, in seconds. */
const RETRY_AFTER: HeaderList = ['Retry-After', '1'];

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
        // Without a cause it says what there is to say: too much waits, say, of which there may be thousands.
        this.logger.warn((error as Error).cause ?? (error as Error).message, { request: request.id });
      // It was answered meanwhile, for what it sent behind the head, and is still read from.
      if (response.writableEnded) return;
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
  if (error instanceof PetNotFound) return ApiError.of('pet_not_found');
  if (error instanceof KeyRefused) return keyError(error.reason);
  if (error instanceof CursorRefused) return ApiError.of('invalid_cursor');
  if (error instanceof IdempotencyKeyReused) return ApiError.of('idempotency_key_reused');
  if (error instanceof IdempotencyInProgress) return ApiError.of('idempotency_in_progress', RETRY_AFTER);
  if (error instanceof StoreUnavailable) return ApiError.of('service_unavailable', RETRY_AFTER);
  const status =
    error instanceof HttpException ? error.getStatus() : (error as { status?: unknown } | undefined)?.status;
  if (status === 404) return ApiError.of('route_not_found');
  if (typeof status === 'number' && status >= 400 && status < 500)
    return new ApiError('bad_request', 'The request cannot be read.');
  return ApiError.of('internal_error');
}

/** The answer to a request without a good key, with the challenge of RFC 6750, section 3. */
function keyError(reason: KeyRefusal): ApiError {
  const challenge = reason === 'missing' ? 'Bearer realm="petstore"' : 'Bearer realm="petstore", error="invalid_token"';
  return ApiError.of(`api_key_${reason}`, ['WWW-Authenticate', challenge]);
}
