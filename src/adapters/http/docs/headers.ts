import type { OpenAPIObject } from '@nestjs/swagger';
import type { Reference } from './schemas.js';

type Headers = NonNullable<NonNullable<OpenAPIObject['components']>['headers']>;

/** The headers of answers, described once; `headerRefs` refers to them. */
export const headers = {
  RequestId: {
    description:
      'Finds the request in the log of the service: its own `X-Request-Id`, if it had a good one, else a new one.',
    required: true,
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
    example: '0e8c1c6f-5a51-4d55-a6c6-3f1b4f4e9f0a',
  },
  NextPage: {
    description: 'The address of the page that follows, with `rel="next"` (RFC 8288). It is absent on the last page.',
    schema: { type: 'string', pattern: '^<[^<>]+>; rel="next"$' },
    example: '</v1/pets?limit=2&cursor=1tYqVQ7hcVYQhIvn9cvcdQg>; rel="next"',
  },
  Location: {
    description: 'The address of the new animal.',
    required: true,
    schema: { type: 'string', pattern: '/v1/pets/[1-9][0-9]*$' },
    example: '/v1/pets/1',
  },
  Replayed: {
    description:
      'The animal was added by an earlier request with the same `Idempotency-Key`; absent if this one added it.',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  Challenge: {
    description: 'How to authenticate (RFC 6750, section 3); `error="invalid_token"` if a key was sent.',
    required: true,
    schema: { type: 'string', pattern: '^Bearer realm="petstore"(, error="invalid_token")?$' },
    example: 'Bearer realm="petstore"',
  },
  RetryAfter: {
    description: 'After how many seconds to try again.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 1,
  },
  RateLimit: {
    description:
      'How many more may come in this minute, and in how many seconds it ends (draft-ietf-httpapi-ratelimit-headers-10). If requests are limited, every answer to a key has it.',
    required: true,
    schema: { type: 'string', pattern: '^"(key|address)";r=[0-9]+;t=[0-9]+$' },
    example: '"key";r=0;t=42',
  },
  RateLimitPolicy: {
    description: 'What the limit is: so many in so many seconds, of a key or of an address.',
    required: true,
    schema: { type: 'string', pattern: '^"(key|address)";q=[0-9]+;w=60$' },
    example: '"key";q=600;w=60',
  },
  AcceptedType: {
    description: 'The type that a body must have; sent if another was given.',
    schema: { type: 'string', enum: ['application/json'] },
    example: 'application/json',
  },
  AcceptedEncoding: {
    description: 'The encoding that a body must have, which is none; sent if another was given.',
    schema: { type: 'string', enum: ['identity'] },
    example: 'identity',
  },
  Deprecation: {
    description: 'Since when the operation is deprecated, in seconds since 1970 (RFC 9745): 20 November 2026.',
    required: true,
    schema: { type: 'string', pattern: '^@[0-9]+$' },
    example: '@1795132800',
  },
  Sunset: {
    description: 'When the operation is to be removed (RFC 8594).',
    required: true,
    schema: { type: 'string', pattern: '^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$' },
    example: 'Thu, 05 Dec 2030 00:00:00 GMT',
  },
  Successor: {
    description: 'The documentation, and the operation to use instead (RFC 8288).',
    required: true,
    schema: {
      type: 'string',
      pattern: '^<[^<>]*/docs>; rel="deprecation"; type="text/html", <[^<>]*/v1/pets>; rel="successor-version"$',
    },
    example: '</docs>; rel="deprecation"; type="text/html", </v1/pets>; rel="successor-version"',
  },
} satisfies Headers;

/** References to headers, by the names that they go by on the wire. */
export function headerRefs(names: Record<string, keyof typeof headers>): Record<string, Reference> {
  return Object.fromEntries(
    Object.entries(names).map(([name, described]) => [name, { $ref: `#/components/headers/${described}` }]),
  );
}
