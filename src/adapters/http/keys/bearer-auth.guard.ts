import { CanActivate, ExecutionContext, Injectable } from '@nestjs/common';
import { ApiKeyService } from '../../../application/keys/api-key.service.js';
import { KeyRefused } from '../../../application/errors.js';
import { ApiKey } from '../../../domain/keys/api-key.js';
import { fieldLines } from '../header-list.js';
import { RequestLimits } from '../limits/request-limits.js';
import { Request } from '../server/request.js';
import { Response } from '../server/response.js';

/** `Authorization: Bearer <token68>`, the scheme in any case (RFC 9110, section 11.4; RFC 6750, section 2.1). */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** Lets a request through that carries a good API key, and notes whose it is; refuses any other, and what is too many, before it is looked at further. */
@Injectable()
export class BearerAuthGuard implements CanActivate {
  constructor(
    private readonly keys: ApiKeyService,
    private readonly limits: RequestLimits,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.getArgByIndex<Request>(0);
    const response = context.getArgByIndex<Response>(1);
    const found = this.limits.countsFailures
      ? this.authenticateCounting(request)
      : this.keys.authenticate(bearerToken(request));
    return found instanceof Promise
      ? found.then((key) => this.admit(request, response, key))
      : this.admit(request, response, found);
  }

  /**
   * As `authenticate`, for an address that may fail only so often. Where it has, no key is looked at any more that was not
   * accepted before: guessing goes nowhere, and who is at work behind the same address goes on.
   */
  private async authenticateCounting(request: Request): Promise<ApiKey> {
    try {
      const token = bearerToken(request);
      if (!this.keys.hasAccepted(token)) this.limits.checkFailures(request);
      return await this.keys.authenticate(token);
    } catch (error) {
      if (error instanceof KeyRefused) this.limits.countFailure(request);
      throw error;
    }
  }

  private admit(request: Request, response: Response, key: ApiKey): true {
    request.apiKey = key;
    this.keys.noteUse(key);
    this.limits.countRequest(key, response);
    return true;
  }
}

function bearerToken(request: Request): string {
  const { authorization = '' } = request.headers;
  const token = BEARER.exec(authorization)?.[1];
  // Node hides a second header; which of the two would count is nobody's guess.
  if (token !== undefined && fieldLines(request, 'authorization') === 1) return token;
  throw new KeyRefused(/^bearer(?: |$)/i.test(authorization) ? 'invalid' : 'missing');
}
