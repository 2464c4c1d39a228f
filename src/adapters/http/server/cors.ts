import cors from 'cors';
import type { RequestHandler } from 'express';
import type { PetStoreRequest } from './request.js';

/** The response headers that a page's script may read, besides those it always may. */
const EXPOSED =
  'Link,Location,Deprecation,Sunset,X-Request-Id,Retry-After,RateLimit,RateLimit-Policy,Idempotent-Replayed,' +
  'WWW-Authenticate,Allow,Accept,Accept-Encoding';

/**
 * Lets pages of these origins call the service (the CORS protocol of the Fetch standard). Their preflights need no key,
 * since browsers send none; a preflight of any other origin is a request like any other. Whatever headers a preflight
 * asks for are allowed, such as those of tracing: every request needs a key, and no cookie is read.
 */
export function allowOrigins(origins: readonly string[]): RequestHandler {
  const handler = cors({
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED,
    maxAge: 600,
    // Its own response to a preflight has a Content-Length, which 204 must not have (RFC 9110, section 8.6).
    preflightContinue: true,
  });
  return (request, response, next) => {
    const { origin, 'access-control-request-method': method } = request.headers;
    const isValid = (request as PetStoreRequest).context.protocolError === undefined;
    const isPreflight = isValid && method !== undefined && origin !== undefined && origins.includes(origin);
    if (request.method !== 'OPTIONS') handler(request, response, next);
    else if (isPreflight) handler(request, response, () => response.writeHead(204).end());
    else next();
  };
}
