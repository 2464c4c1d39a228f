import type { HeaderObject, HeadersObject, SchemaObject } from '@nestjs/swagger';

/** The response headers of the document, `components.headers`. */
export const headers = {
  RequestId: always('Identifies the request in the log: its own `X-Request-Id` if that was valid, else a new one.', {
    pattern: '^[A-Za-z0-9._-]{1,64}$',
  }),
  NextPage: sometimes('The address of the next page, `rel="next"` (RFC 8288); absent on the last page.', {
    pattern: '^<[^<>]+>; rel="next"$',
  }),
  Location: always('The address of the new animal.', { pattern: '/v1/pets/[1-9][0-9]*$' }),
  Replayed: sometimes('Present if an earlier request with the same `Idempotency-Key` added the animal.', {
    enum: ['true'],
  }),
  Challenge: always('How to authenticate (RFC 6750, section 3); `error="invalid_token"` if a key was sent.', {
    pattern: '^Bearer realm="petstore"(, error="invalid_token")?$',
  }),
  RetryAfter: always('The number of seconds to wait before a retry.', { type: 'integer', minimum: 1 }),
  RateLimit: always(
    'Remaining requests (r), and seconds until the window ends (t) (draft-ietf-httpapi-ratelimit-headers-10).',
    { pattern: '^"(key|address)";r=[0-9]+;t=[0-9]+$' },
  ),
  RateLimitPolicy: always('The limit: requests (q) per seconds (w), for each key or address.', {
    pattern: '^"(key|address)";q=[0-9]+;w=60$',
  }),
  AcceptedType: sometimes('The media type that a body must have; present if it had another one.', {
    enum: ['application/json'],
  }),
  AcceptedEncoding: sometimes('The content encoding that a body must have; present if it had another one.', {
    enum: ['identity'],
  }),
  Deprecation: always('When the operation was deprecated, in seconds since 1970 (RFC 9745).', {
    pattern: '^@[0-9]+$',
  }),
  Sunset: always('When the operation is to be removed (RFC 8594).', {
    pattern: '^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$',
  }),
  Successor: always('The documentation, and the operation to use instead (RFC 8288).', {
    pattern: '^<[^<>]*/docs>; rel="deprecation"; type="text/html", <[^<>]*/v1/pets>; rel="successor-version"$',
  }),
};

/** The headers of every response. */
export const ALWAYS = headerRefs({ 'X-Request-Id': 'RequestId' });

/** The headers of every response on the path of a deprecated operation. */
export const DEPRECATED = headerRefs({ Deprecation: 'Deprecation', Sunset: 'Sunset', Link: 'Successor' });

/** The headers of responses of all operations, by status. */
export const BY_STATUS: Readonly<Record<string, HeadersObject>> = {
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

function always(description: string, schema: SchemaObject): HeaderObject {
  return { ...sometimes(description, schema), required: true };
}

function sometimes(description: string, schema: SchemaObject): HeaderObject {
  return { description, schema: { type: 'string', ...schema } };
}
