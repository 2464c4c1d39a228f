import { ApiResponse, type OpenAPIObject } from '@nestjs/swagger';
import { ErrorBodyDto } from '../errors/error-body.dto.js';
import { ERROR_STATUS, ErrorCode } from '../errors/error-code.js';
import { headerRefs } from './headers.js';
import { type Reference, schemaRef } from './schemas.js';

type ResponseObject = NonNullable<NonNullable<OpenAPIObject['components']>['responses']>[string];

/** Which headers an answer has, besides the one that all have: names on the wire, and in the document. */
export type Headers = Parameters<typeof headerRefs>[0];

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
export function failure(
  description: string,
  messages: Partial<Record<ErrorCode, string>>,
  headers: Headers = {},
): MethodDecorator {
  const codes = Object.entries(messages) as [ErrorCode, string][];
  const status = ERROR_STATUS[(codes[0] as [ErrorCode, string])[0]];
  return answer(status, description, headers, { schema: schemaRef(ErrorBodyDto), examples: examples(codes) });
}

/** The errors that any operation may answer with; `outcome` says what became of the request if the store cannot answer. */
export function commonFailures(outcome: string, headers: Headers = {}): MethodDecorator[] {
  return [
    failure(
      'The API key is missing or invalid.',
      {
        api_key_missing: 'The request has no API key; send it as "Authorization: Bearer <API_KEY>".',
        api_key_invalid:
          'The API key is not valid; send one that was issued for this service as "Authorization: Bearer <API_KEY>".',
        api_key_expired: 'The API key has expired; ask for a new one.',
        api_key_revoked: 'The API key was revoked; ask for a new one.',
      },
      { ...headers, 'WWW-Authenticate': 'Challenge' },
    ),
    failure(
      'The API key has made too many requests in this minute, or the address of the client has failed too often to authenticate. Nothing was done.',
      { rate_limited: 'This API key may make 600 requests in a minute; try again in 42 seconds.' },
      { ...headers, 'Retry-After': 'RetryAfter', RateLimit: 'RateLimit', 'RateLimit-Policy': 'RateLimitPolicy' },
    ),
    failure(
      'The `Accept` header of the request excludes JSON. Nothing was done.',
      { not_acceptable: 'The answers of this service are application/json, which Accept must allow.' },
      headers,
    ),
    failure(
      `The store cannot answer now. ${outcome}`,
      { service_unavailable: 'The store cannot answer now; try again.' },
      { ...headers, 'Retry-After': 'RetryAfter' },
    ),
    failure(
      'The service is at fault. Its log tells why, at the `X-Request-Id` of this answer.',
      { internal_error: 'The service failed; the request id finds the reason in its log.' },
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
        examples: examples([
          [
            'bad_request',
            'A request must have one Host header with a host and, optionally, a port (RFC 9112, section 3.2); this one has none.',
          ],
          ['request_timeout', 'The request did not arrive in time.'],
          ['uri_too_long', 'The request target must have at most 12288 bytes.'],
          ['expectation_failed', 'The only expectation that can be met is "Expect: 100-continue".'],
          ['headers_too_large', 'The target and the headers of a request must have at most 16,384 bytes.'],
        ]),
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

function examples(messages: readonly [ErrorCode, string][]): Record<string, { value: unknown }> {
  return Object.fromEntries(
    messages.map(([code, message]) => [code, { value: { code, message, status: ERROR_STATUS[code] } }]),
  );
}
