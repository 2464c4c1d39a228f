import { CanActivate, ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Authenticator } from '../../../application/keys/authenticator.js';
import { KeyRejected } from '../../../application/errors.js';
import { OperationMetadata } from '../operation.js';
import type { PetStoreRequest } from '../server/request.js';
import { RateLimits } from './rate-limits.js';

/** Marks a controller whose routes need no API key. */
export const Public = Reflector.createDecorator<void, true>({ transform: () => true });

/** `Authorization: Bearer <token68>`, the scheme in any case (RFC 9110, section 11.4; RFC 6750, section 2.1). */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** The hints for a key that is sent in another way. */
const NOT_BEARER = 'Authorization must be "Bearer <API_KEY>": the word Bearer, a space, and the API key.';
const IN_X_API_KEY = 'Send the API key as "Authorization: Bearer <API_KEY>", not as X-API-Key.';

/** Rejects a request without a valid API key, or beyond a rate limit, unless its controller is `@Public()`. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly limits: RateLimits,
    private readonly reflector: Reflector,
  ) {}

  async canActivate(host: ExecutionContext): Promise<boolean> {
    if (this.reflector.get(Public, host.getClass())) return true;
    const request = host.getArgByIndex<PetStoreRequest>(0);
    const { context } = request;
    context.operation = this.reflector.get(OperationMetadata, host.getHandler());
    const token = bearerToken(request);
    const findKey = () => this.authenticator.authenticate(token, context.deadline);
    context.key = await this.limits.authenticate(context.address, token, findKey);
    await this.limits.countRequest(context.key, context);
    // Behind the limit: a rejected request is no call of its operation.
    this.authenticator.noteUse(context.key, context.operation?.deprecated);
    return true;
  }
}

/** The key that a request sends, which is empty if it has no valid form. */
function bearerToken({ headers }: PetStoreRequest): string {
  const { authorization = '' } = headers;
  const token = BEARER.exec(authorization)?.[1];
  if (token !== undefined) return token;
  if (/^bearer(?: |$)/i.test(authorization)) return '';
  if (authorization !== '') throw new KeyRejected('missing', NOT_BEARER);
  throw new KeyRejected('missing', headers['x-api-key'] === undefined ? undefined : IN_X_API_KEY);
}
