import cors from 'cors';
import { methodsBelow, RoutedRequest } from '../unmatched/method-not-allowed.js';
import { Request } from './request.js';
import { Response } from './response.js';

/** What a page's script may read of an answer, besides what it always may. */
const EXPOSED = [
  'Link',
  'Location',
  'Deprecation',
  'Sunset',
  'X-Request-Id',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Idempotent-Replayed',
  'WWW-Authenticate',
  'Allow',
];

/**
 * Lets pages of these origins call the service (the CORS protocol of the Fetch standard). Only their preflights are answered here, without a
 * key, as a browser sends none; a preflight of any other origin is a request like any other.
 */
export function allowOrigins(
  origins: readonly string[],
): (request: Request, response: Response, next: () => void) => void {
  let handler: ReturnType<typeof cors> | undefined;
  return (request, response, next) => {
    // The routes are known with the first request.
    handler ??= cors({
      origin: [...origins],
      methods: methodsBelow('/v1/', request as unknown as RoutedRequest),
      allowedHeaders: ['Authorization', 'Content-Type', 'Idempotency-Key', 'X-Request-Id'],
      exposedHeaders: EXPOSED,
      maxAge: 600,
      // Its own end of a preflight has a Content-Length, which 204 must not have (RFC 9110, section 8.6).
      preflightContinue: true,
    });
    const { origin, 'access-control-request-method': method } = request.headers;
    const isPreflight = method !== undefined && origin !== undefined && origins.includes(origin);
    if (request.method !== 'OPTIONS') handler(request, response, next);
    else if (isPreflight) handler(request, response, () => response.writeHead(204).end());
    else next();
  };
}
