import { All, Controller, UseGuards } from '@nestjs/common';
import { routeNotFound } from '../errors/api-error.filter.js';
import { BearerAuthGuard } from '../keys/bearer-auth.guard.js';

/** Every path under `/v1` that has no operation: without a key it cannot be told from one that has. */
@Controller()
@UseGuards(BearerAuthGuard)
export class UnmatchedController {
  @All(['v1', 'v1/{*path}'])
  unmatched(): never {
    throw routeNotFound();
  }
}
