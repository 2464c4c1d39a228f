import { CanActivate, ExecutionContext, Injectable } from '@nestjs/common';
import type { Request as ExpressRequest } from 'express';
import { ApiError } from '../errors/api-error.js';

/** Refuses a request whose client takes no JSON, before it has an effect (RFC 9110, section 12.5.1). */
@Injectable()
export class AcceptsJsonGuard implements CanActivate {
  canActivate(context: ExecutionContext): true {
    const request = context.getArgByIndex<ExpressRequest>(0);
    const { accept } = request.headers;
    if (accept === undefined || accept === '*/*' || accept === 'application/json') return true;
    // Parameters other than the weight, as in "application/json; charset=utf-8", ask for JSON all the same.
    request.headers.accept = accept.replace(/;\s*(?!q\s*=)[^;,]*/gi, '');
    if (request.accepts('application/json')) return true;
    throw new ApiError('not_acceptable', 'The answers of this service are application/json, which Accept must allow.');
  }
}
