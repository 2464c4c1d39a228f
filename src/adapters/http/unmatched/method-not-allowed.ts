import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../errors/api-error.js';

/** Answers a method that a path has no operation for: OPTIONS with 204, any other with 405; both say what is allowed. */
export function answerOtherMethod(request: IncomingMessage, response: ServerResponse, allowed: string): void {
  if (request.method !== 'OPTIONS') {
    throw new ApiError('method_not_allowed', `This path takes ${allowed}.`, ['Allow', allowed]);
  }
  response.writeHead(204, ['Allow', allowed, 'Cache-Control', 'no-store']);
  response.end();
}
