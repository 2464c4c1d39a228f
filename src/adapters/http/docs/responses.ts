import { ApiResponse, ExamplesObject, HeaderObject, HeadersObject, ResponseObject } from '@nestjs/swagger';
import { type ErrorCode, ERRORS, type FixedCode } from '../errors/error-code.js';
import { namedSchema } from './schemas.js';

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

/** An example message for each error code of a response. */
type Messages = Partial<Record<ErrorCode, string>>;

const ERROR = namedSchema('Error', {
  type: 'object',
  description: 'The body of every error.',
  required: ['code', 'message', 'status'],
  additionalProperties: false,
  properties: {
    code: { type: 'string', description: 'What went wrong, for programs.', enum: Object.keys(ERRORS) },
    message: { type: 'string', description: 'What went wrong and how to fix it, for people. The wording may change.' },
    status: { type: 'integer', description: 'The HTTP status code of the response.', minimum: 400, maximum: 599 },
  },
});

/** Documents an error response; all codes of `messages` have the same status. */
export function ApiErrorResponse(description: string, messages: Messages): MethodDecorator {
  const [code] = Object.keys(messages) as [ErrorCode];
  return ApiResponse({ status: ERRORS[code][0], ...failure(description, messages) });
}

/** The fixed messages of these codes. */
export function messages(...codes: FixedCode[]): Messages {
  return Object.fromEntries(codes.map((code) => [code, ERRORS[code][1]]));
}

/** The error responses that every operation has, by status; its own of the same status replaces one. */
export const SHARED_ERRORS = {
  400: failure('A query parameter was given; this operation has none.', {
    unknown_parameter: '"verbose" is not a query parameter of this operation. It has none.',
  }),
  401: failure(
    'The API key is missing or invalid.',
    messages('api_key_missing', 'api_key_invalid', 'api_key_expired', 'api_key_revoked'),
  ),
  406: failure('The `Accept` header of the request excludes JSON. Nothing was done.', messages('not_acceptable')),
  429: failure('Too many requests with this API key, or failed authentications from this address, in a minute.', {
    rate_limited: 'This API key may make 600 requests in a minute; try again in 42 seconds.',
  }),
  500: failure('The service failed. Its log has the reason, under the `X-Request-Id`.', messages('internal_error')),
  503: failure('The database cannot respond now. The same request may succeed later.', messages('service_unavailable')),
};

/** The error responses that every operation with a body has besides. */
export const BODY_ERRORS = {
  413: failure('The body is larger than 64 KiB. Nothing was stored.', messages('body_too_large')),
  415: failure('The body is not declared as `application/json` in UTF-8, or is compressed. Nothing was stored.', {
    unsupported_media_type: 'Content-Type must be application/json, in UTF-8; not "text/plain".',
  }),
};

/** The response to a request that reaches no operation; the default response of all of them. */
export const UNREADABLE: ResponseObject = {
  ...failure('The head of the request is malformed or too large, or the request is too slow.', {
    bad_request: 'A request must have one Host header with a host and, optionally, a port (RFC 9112, section 3.2).',
    ...messages('uri_too_long', 'request_timeout', 'expectation_failed', 'headers_too_large'),
  }),
  headers: ALWAYS,
};

function failure(description: string, messages: Messages): ResponseObject {
  const examples: ExamplesObject = {};
  for (const [code, message] of Object.entries(messages))
    examples[code] = { value: { code, message, status: ERRORS[code as ErrorCode][0] } };
  return { description, content: { 'application/json': { schema: ERROR, examples } } };
}

function always(description: string, type = 'string'): HeaderObject {
  return { description, schema: { type }, required: true };
}

function sometimes(description: string): HeaderObject {
  return { description, schema: { type: 'string' } };
}
