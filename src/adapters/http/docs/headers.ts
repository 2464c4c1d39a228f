import type { OpenAPIObject } from '@nestjs/swagger';
import type { Reference } from './schemas.js';

type Header = Exclude<NonNullable<NonNullable<OpenAPIObject['components']>['headers']>[string], Reference>;

/** The response headers of the document, `components.headers`. */
export const headers = {
  RequestId: always('Identifies the request in the log: its own `X-Request-Id` if that was valid, else a new one.', {
    type: 'string',
    pattern: '^[A-Za-z0-9._-]{1,64}$',
  }),
  NextPage: sometimes('The address of the next page, `rel="next"` (RFC 8288); absent on the last page.', {
    type: 'string',
    pattern: '^<[^<>]+>; rel="next"$',
  }),
  Location: always('The address of the new animal.', { type: 'string', pattern: '/v1/pets/[1-9][0-9]*$' }),
  Replayed: sometimes('Present if an earlier request with the same `Idempotency-Key` added the animal.', {
    type: 'string',
    enum: ['true'],
  }),
  Challenge: always('How to authenticate (RFC 6750, section 3); `error="invalid_token"` if a key was sent.', {
    type: 'string',
    pattern: '^Bearer realm="petstore"(, error="invalid_token")?$',
  }),
  RetryAfter: always('The number of seconds to wait before a retry.', { type: 'integer', minimum: 1 }),
  RateLimit: always(
    'Remaining requests (r), and seconds until the window ends (t) (draft-ietf-httpapi-ratelimit-headers-10).',
    {
      type: 'string',
      pattern: '^"(key|address)";r=[0-9]+;t=[0-9]+$',
    },
  ),
  RateLimitPolicy: always('The limit: requests (q) per seconds (w), for each key or address.', {
    type: 'string',
    pattern: '^"(key|address)";q=[0-9]+;w=60$',
  }),
  AcceptedType: sometimes('The media type that a body must have; present if it had another one.', {
    type: 'string',
    enum: ['application/json'],
  }),
  AcceptedEncoding: sometimes('The content encoding that a body must have; present if it had another one.', {
    type: 'string',
    enum: ['identity'],
  }),
  Deprecation: always('When the operation was deprecated, in seconds since 1970 (RFC 9745).', {
    type: 'string',
    pattern: '^@[0-9]+$',
  }),
  Sunset: always('When the operation is to be removed (RFC 8594).', {
    type: 'string',
    pattern: '^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$',
  }),
  Successor: always('The documentation, and the operation to use instead (RFC 8288).', {
    type: 'string',
    pattern: '^<[^<>]*/docs>; rel="deprecation"; type="text/html", <[^<>]*/v1/pets>; rel="successor-version"$',
  }),
};

/** The headers of a response: their names on the wire, and in the document. */
export type Headers = Readonly<Record<string, keyof typeof headers>>;

/** The headers of every response. */
export const ALWAYS: Headers = { 'X-Request-Id': 'RequestId' };

/** The headers of every response on the path of a deprecated operation. */
export const DEPRECATED: Headers = { Deprecation: 'Deprecation', Sunset: 'Sunset', Link: 'Successor' };

export function headerRefs(names: Headers): Record<string, Reference> {
  return Object.fromEntries(
    Object.entries(names).map(([name, header]) => [name, { $ref: `#/components/headers/${header}` }]),
  );
}

function always(description: string, schema: Header['schema']): Header {
  return { description, required: true, schema };
}

function sometimes(description: string, schema: Header['schema']): Header {
  return { description, schema };
}
