import { CanActivate, ExecutionContext, Injectable } from '@nestjs/common';
import { ApiKeyService } from '../../../application/api-key.service.js';
import { KeyRefused } from '../../../application/errors.js';
import { ApiKey } from '../../../domain/keys/api-key.js';
import { Request } from '../server/exchange.js';

/** `Authorization: Bearer <token68>`, the scheme in any case (RFC 9110, section 11.4; RFC 6750, section 2.1). */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** Lets a request through that carries a good API key, and notes whose it is; refuses any other before it is looked at further. */
@Injectable()
export class BearerAuthGuard implements CanActivate {
  constructor(private readonly keys: ApiKeyService) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.getArgByIndex<Request>(0);
    const found = this.keys.authenticate(bearerToken(request));
    return found instanceof Promise ? found.then((key) => this.admit(request, key)) : this.admit(request, found);
  }

  private admit(request: Request, key: ApiKey): true {
    request.apiKey = key;
    this.keys.noteUse(key);
    return true;
  }
}

function bearerToken(request: Request): string {
  const { authorization = '' } = request.headers;
  const token = BEARER.exec(authorization)?.[1];
  // Node hides a second header; which of the two would count is nobody's guess.
  if (token !== undefined && request.fieldLines('authorization') === 1) return token;
  throw new KeyRefused(/^bearer(?: |$)/i.test(authorization) ? 'invalid' : 'missing');
}
