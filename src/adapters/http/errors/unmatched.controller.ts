import type { IncomingMessage, ServerResponse } from 'node:http';
import { All, Controller } from '@nestjs/common';
import { ApiError } from './api-error.js';

/** Matches every path without a route, so that the guard rejects a request without a key before the 404. */
@Controller()
export class UnmatchedController {
  @All('{*path}')
  unmatched(): never {
    throw ApiError.of('route_not_found');
  }
}

/** Answers OPTIONS with 204 and any other method with 405 (RFC 9110, 15.5.6); `allow` lists those of the path. */
export function answerOtherMethod({ method }: IncomingMessage, response: ServerResponse, allow: string): void {
  if (method !== 'OPTIONS') {
    throw new ApiError('method_not_allowed', `This path supports ${allow}.`, ['Allow', allow]);
  }
  response.writeHead(204, ['Allow', allow, 'Cache-Control', 'no-store']).end();
}
