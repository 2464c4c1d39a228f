import { All, Controller, UseGuards } from '@nestjs/common';
import { routeNotFound } from '../errors/api-error.filter.js';
import { BearerAuthGuard } from '../keys/bearer-auth.guard.js';

/** Every path that nothing else answers: without a key it cannot be told from one that has an operation. */
@Controller()
@UseGuards(BearerAuthGuard)
export class UnmatchedController {
  @All('{*path}')
  unmatched(): never {
    throw routeNotFound();
  }
}
