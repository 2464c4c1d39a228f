import { All, Controller, UseGuards } from '@nestjs/common';
import { ApiError } from '../errors/api-error.js';
import { BearerAuthGuard } from '../keys/bearer-auth.guard.js';

/** Every path that nothing else answers: without a key it cannot be told from one that has an operation. */
@Controller()
@UseGuards(BearerAuthGuard)
export class UnmatchedController {
  @All('{*path}')
  unmatched(): never {
    throw ApiError.of('route_not_found');
  }
}
