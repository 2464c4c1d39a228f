import { CanActivate, ExecutionContext, Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors/api-error.js';

/** The media ranges that JSON is of, the most exact one last. */
const RANGES = ['*/*', 'application/*', 'application/json'];

/** Refuses a request whose client takes no JSON, before it has an effect (RFC 9110, section 12.5.1). */
@Injectable()
export class AcceptsJsonGuard implements CanActivate {
  canActivate(context: ExecutionContext): true {
    if (acceptsJson(context.getArgByIndex<IncomingMessage>(0).headers.accept)) return true;
    throw ApiError.of('not_acceptable');
  }
}

function acceptsJson(accept: string | undefined): boolean {
  // An empty list asks for nothing in particular, as one that is absent does.
  if (!accept || accept === '*/*' || accept === 'application/json') return true;
  let exactness = -1;
  let accepted = false;
  let empty = true;
  for (const range of accept.toLowerCase().split(',')) {
    // Parameters other than the weight, as in "application/json; charset=utf-8", ask for JSON all the same.
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    // An empty element of the list is none (RFC 9110, section 5.6.1.2).
    if (type === '' && parameters.length === 0) continue;
    empty = false;
    const exact = RANGES.indexOf(type);
    if (exact < exactness || exact < 0) continue;
    const taken = !parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter));
    accepted = taken || (exact === exactness && accepted);
    exactness = exact;
  }
  return accepted || empty;
}
