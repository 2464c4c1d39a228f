import { MAX_BODY, MAX_HEAD, MAX_TARGET } from '../bounds.js';

/**
 * The closed list of error codes: the HTTP status of each (RFC 9110, section 15; RFC 6585), and its message if that is
 * always the same.
 */
export const ERRORS = {
  bad_request: [400],
  invalid_json: [400],
  invalid_body: [400],
  missing_field: [400],
  invalid_field: [400],
  unknown_field: [400],
  duplicate_field: [400],
  invalid_parameter: [400],
  unknown_parameter: [400],
  repeated_parameter: [400],
  invalid_cursor: [
    400,
    'cursor must be from the Link header of a page with the same status. Leave it out for the first page.',
  ],
  invalid_idempotency_key: [400, 'Idempotency-Key must be given once, as 1 to 255 visible ASCII characters.'],
  api_key_missing: [401, 'The request has no API key. Send it as "Authorization: Bearer <API_KEY>".'],
  api_key_invalid: [
    401,
    'The API key is not valid. Send one that was issued for this service as "Authorization: Bearer <API_KEY>".',
  ],
  api_key_expired: [401, 'The API key has expired. Ask for a new one.'],
  api_key_revoked: [401, 'The API key was revoked. Ask for a new one.'],
  pet_not_found: [404, 'No pet has this id. GET /v1/pets lists those that exist.'],
  route_not_found: [404, 'No such route. See /docs.'],
  method_not_allowed: [405],
  not_acceptable: [406, 'Responses of this service are application/json, which the Accept header must allow.'],
  request_timeout: [408, 'The request did not arrive in time.'],
  idempotency_in_progress: [409, 'A request with this Idempotency-Key is in progress. Try again.'],
  body_too_large: [413, `The body must have at most ${MAX_BODY} bytes.`],
  uri_too_long: [414, `The request target must have at most ${MAX_TARGET} bytes.`],
  unsupported_media_type: [415],
  expectation_failed: [417, 'The only supported expectation is "Expect: 100-continue".'],
  idempotency_key_reused: [422, 'This Idempotency-Key was already used with a different request body.'],
  rate_limited: [429],
  headers_too_large: [
    431,
    `The target and the headers of a request must have at most ${MAX_HEAD.toLocaleString('en')} bytes.`,
  ],
  internal_error: [500, 'Internal error. Quote the X-Request-Id when you report it.'],
  service_unavailable: [503, 'The database is not available. Try again.'],
} as const satisfies Readonly<Record<string, readonly [status: number, message?: string]>>;

export type ErrorCode = keyof typeof ERRORS;

/** One of the codes that always have the same message. */
export type FixedCode = {
  [C in ErrorCode]: (typeof ERRORS)[C] extends readonly [number, string] ? C : never;
}[ErrorCode];
