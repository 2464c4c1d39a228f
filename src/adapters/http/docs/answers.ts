import { ApiResponse, type OpenAPIObject } from '@nestjs/swagger';
import { ErrorBodyDto } from '../errors/error-body.dto.js';
import { ERROR_STATUS, ErrorCode, MESSAGES } from '../errors/error-code.js';
import { headerRefs } from './headers.js';
import { type Reference, schemaRef } from './schemas.js';

type ResponseObject = NonNullable<NonNullable<OpenAPIObject['components']>['responses']>[string];

/** Which headers an answer has, besides the one that all have: names on the wire, and in the document. */
export type Headers = Parameters<typeof headerRefs>[0];

/** A message of each code. */
type Messages = Partial<Record<ErrorCode, string>>;

const ALWAYS: Headers = { 'X-Request-Id': 'RequestId' };

/** An answer of success, with an example of its body; without a schema it has none. */
export function success(
  status: number,
  description: string,
  schema?: Reference,
  example?: unknown,
  headers: Headers = {},
): MethodDecorator {
  return answer(status, description, headers, schema && { schema, example });
}

/** An error of one status: each code that it may have, with a message as an example. */
export function failure(description: string, messages: Messages, headers: Headers = {}): MethodDecorator {
  const [code] = Object.keys(messages) as [ErrorCode];
  const json = { schema: schemaRef(ErrorBodyDto), examples: examples(messages) };
  return answer(ERROR_STATUS[code], description, headers, json);
}

/** The messages of these codes, which are always the same. */
export function messages(...codes: (keyof typeof MESSAGES)[]): Messages {
  return Object.fromEntries(codes.map((code) => [code, MESSAGES[code]]));
}

/** The errors that any operation may answer with; `outcome` says what became of the request if the store cannot answer. */
export function commonFailures(outcome: string, headers: Headers = {}): MethodDecorator[] {
  return [
    failure(
      'The API key is missing or invalid.',
      messages('api_key_missing', 'api_key_invalid', 'api_key_expired', 'api_key_revoked'),
      { ...headers, 'WWW-Authenticate': 'Challenge' },
    ),
    failure(
      'The API key has made too many requests in this minute, or the address of the client has failed too often to authenticate. Nothing was done.',
      { rate_limited: 'This API key may make 600 requests in a minute; try again in 42 seconds.' },
      { ...headers, 'Retry-After': 'RetryAfter', RateLimit: 'RateLimit', 'RateLimit-Policy': 'RateLimitPolicy' },
    ),
    failure('The `Accept` header of the request excludes JSON. Nothing was done.', messages('not_acceptable'), headers),
    failure(`The store cannot answer now. ${outcome}`, messages('service_unavailable'), {
      ...headers,
      'Retry-After': 'RetryAfter',
    }),
    failure(
      'The service is at fault. Its log tells why, at the `X-Request-Id` of this answer.',
      messages('internal_error'),
      headers,
    ),
  ];
}

/** What is answered before it is known which operation is meant; every operation refers to it. */
export function unreadable(): ResponseObject {
  return {
    description: 'The request is not valid HTTP, too large or too slow, and reached no operation.',
    headers: headerRefs(ALWAYS),
    content: {
      'application/json': {
        schema: schemaRef(ErrorBodyDto),
        examples: examples({
          bad_request:
            'A request must have one Host header with a host and, optionally, a port (RFC 9112, section 3.2); this one has none.',
          ...messages('request_timeout'),
          uri_too_long: 'The request target must have at most 12288 bytes.',
          ...messages('expectation_failed', 'headers_too_large'),
        }),
      },
    },
  };
}

function answer(
  status: number,
  description: string,
  headers: Headers,
  json?: { schema: Reference; example?: unknown; examples?: Record<string, { value: unknown }> },
): MethodDecorator {
  return ApiResponse({
    status,
    description,
    headers: headerRefs({ ...ALWAYS, ...headers }),
    ...(json && { content: { 'application/json': json } }),
  });
}

function examples(messages: Messages): Record<string, { value: unknown }> {
  const all = Object.entries(messages) as [ErrorCode, string][];
  return Object.fromEntries(
    all.map(([code, message]) => [code, { value: { code, message, status: ERROR_STATUS[code] } }]),
  );
}
