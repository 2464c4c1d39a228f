import type { HeaderObject, HeadersObject } from '@nestjs/swagger';

/** The response headers of the document, `components.headers`. */
export const headers = {
  RequestId: always('Identifies the request in the log: its own `X-Request-Id` if that was valid, else a new one.'),
  NextPage: sometimes('The address of the next page, `rel="next"` (RFC 8288); absent on the last page.'),
  Location: always('The address of what was added.'),
  Replayed: sometimes('`true` if an earlier request with the same `Idempotency-Key` added the animal, else absent.'),
  Challenge: always('How to authenticate (RFC 6750, section 3); `error="invalid_token"` if a key was sent.'),
  RetryAfter: always('The number of seconds to wait before a retry.', 'integer'),
  RateLimit: always(
    'Requests left (r), seconds until the window ends (t): `"key";r=0;t=42` (draft-ietf-httpapi-ratelimit-headers-10).',
  ),
  RateLimitPolicy: always('The limit: requests (q) per seconds (w), for each key or address: `"key";q=600;w=60`.'),
  AcceptedType: sometimes('The media type that a body must have, `application/json`; present if it had another one.'),
  AcceptedEncoding: sometimes('The content encoding that a body must have, `identity`; present if it had another one.'),
  Deprecation: always('When the operation was deprecated: `@` and the seconds since 1970 (RFC 9745).'),
  Sunset: always('When the operation is to be removed, as an HTTP date (RFC 8594).'),
  Successor: always('The documentation, and the operation to use instead (RFC 8288).'),
};

/** The headers of every response. */
export const ALWAYS = headerRefs({ 'X-Request-Id': 'RequestId' });

/** The headers of every response on the path of a deprecated operation. */
export const DEPRECATED = headerRefs({ Deprecation: 'Deprecation', Sunset: 'Sunset', Link: 'Successor' });

/** The headers of responses of all operations, by status. */
export const BY_STATUS: Readonly<Record<string, HeadersObject>> = {
  201: headerRefs({ Location: 'Location' }),
  401: headerRefs({ 'WWW-Authenticate': 'Challenge' }),
  409: headerRefs({ 'Retry-After': 'RetryAfter' }),
  415: headerRefs({ Accept: 'AcceptedType', 'Accept-Encoding': 'AcceptedEncoding' }),
  429: headerRefs({ 'Retry-After': 'RetryAfter', RateLimit: 'RateLimit', 'RateLimit-Policy': 'RateLimitPolicy' }),
  503: headerRefs({ 'Retry-After': 'RetryAfter' }),
};

/** References to headers by their names on the wire. */
export function headerRefs(names: Readonly<Record<string, keyof typeof headers>>): HeadersObject {
  const entries = Object.entries(names);
  return Object.fromEntries(entries.map(([name, header]) => [name, { $ref: `#/components/headers/${header}` }]));
}

function always(description: string, type = 'string'): HeaderObject {
  return { description, schema: { type }, required: true };
}

function sometimes(description: string): HeaderObject {
  return { description, schema: { type: 'string' } };
}
