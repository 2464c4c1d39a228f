import { Injectable } from '@nestjs/common';
import { DatabaseUnavailable } from '../../application/errors.js';
import { POOL_TIMEOUT, within } from '../../application/within.js';
import { HttpSettings } from './http-settings.js';
import type { Request } from './server/request.js';

/** Bounds how long a request waits for the database in all: for the check of its key, and for its own query. */
@Injectable()
export class DatabaseDeadline {
  constructor(private readonly settings: HttpSettings) {}

  /** Resolves as `result` does; rejects with `DatabaseUnavailable` once the request has waited for too long. */
  async wait<T>(request: Request, result: Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const left = POOL_TIMEOUT + this.settings.STATEMENT_TIMEOUT - request.waited;
    const late = () => new DatabaseUnavailable('The database did not answer in time.');
    // The database itself bounds a single wait.
    const value = await (request.waited === 0 ? result : within(left, result, late));
    request.waited += performance.now() - startedAt;
    return value;
  }
}
