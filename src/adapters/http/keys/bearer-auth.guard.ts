import { CanActivate, ExecutionContext, Injectable } from '@nestjs/common';
import { ApiKeyService } from '../../../application/keys/api-key.service.js';
import { KeyRefused } from '../../../application/errors.js';
import { ApiKey } from '../../../domain/keys/api-key.js';
import { fieldLines } from '../header-list.js';
import { endOfTurn } from '../end-of-turn.js';
import { RequestLimits } from '../limits/request-limits.js';
import { operationOf } from '../operation.js';
import { Request } from '../server/request.js';
import { Response } from '../server/response.js';
import { StorePatience } from '../store-patience.js';

/** `Authorization: Bearer <token68>`, the scheme in any case (RFC 9110, section 11.4; RFC 6750, section 2.1). */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** Lets a request through that carries a good API key, and notes whose it is; refuses any other, and what is too many, before it is looked at further. */
@Injectable()
export class BearerAuthGuard implements CanActivate {
  constructor(
    private readonly keys: ApiKeyService,
    private readonly limits: RequestLimits,
    private readonly patience: StorePatience,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.getArgByIndex<Request>(0);
    request.operation = operationOf(context.getHandler());
    await endOfTurn();
    const found = this.limits.countsFailures ? this.guess(request) : this.keys.authenticate(bearerToken(request));
    const key = found instanceof Promise ? await this.patience.wait(request, found) : found;
    request.apiKey = key;
    this.keys.noteUse(key);
    const counted = this.limits.countRequest(key, context.getArgByIndex<Response>(1));
    if (counted) await counted;
    return true;
  }

  /** As `authenticate`, for an address that may fail only so often; a key that was accepted before is not a guess. */
  private guess(request: Request): Promise<ApiKey> {
    const { authorization = '' } = request.headers;
    const known = this.keys.hasAccepted(BEARER.exec(authorization)?.[1] ?? '');
    return this.limits.guess(request, known, () => this.keys.authenticate(bearerToken(request)));
  }
}

function bearerToken(request: Request): string {
  const { authorization = '' } = request.headers;
  const token = BEARER.exec(authorization)?.[1];
  // Node hides a second header, and nobody can say which of the two should count.
  if (token !== undefined && fieldLines(request, 'authorization') === 1) return token;
  throw new KeyRefused(/^bearer(?: |$)/i.test(authorization) ? 'invalid' : 'missing');
}
