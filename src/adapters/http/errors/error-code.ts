/** The closed list of error codes, each with its HTTP status (RFC 9110, section 15; RFC 6585). */
export const ERROR_STATUS = {
  bad_request: 400,
  invalid_json: 400,
  invalid_body: 400,
  missing_field: 400,
  invalid_field: 400,
  unknown_field: 400,
  duplicate_field: 400,
  invalid_parameter: 400,
  unknown_parameter: 400,
  repeated_parameter: 400,
  invalid_cursor: 400,
  invalid_idempotency_key: 400,
  api_key_missing: 401,
  api_key_invalid: 401,
  api_key_expired: 401,
  api_key_revoked: 401,
  pet_not_found: 404,
  route_not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  request_timeout: 408,
  idempotency_in_progress: 409,
  body_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  expectation_failed: 417,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal_error: 500,
  service_unavailable: 503,
} as const;

/** One of the closed list of error codes. */
export type ErrorCode = keyof typeof ERROR_STATUS;

/** The messages of those codes that always have the same one. */
export const MESSAGES = {
  invalid_cursor:
    'cursor must be from the Link header of a page with the same status. Leave it out for the first page.',
  invalid_idempotency_key: 'Idempotency-Key must be given once, as 1 to 255 visible ASCII characters.',
  api_key_missing: 'The request has no API key. Send it as "Authorization: Bearer <API_KEY>".',
  api_key_invalid:
    'The API key is not valid. Send one that was issued for this service as "Authorization: Bearer <API_KEY>".',
  api_key_expired: 'The API key has expired. Ask for a new one.',
  api_key_revoked: 'The API key was revoked. Ask for a new one.',
  pet_not_found: 'No pet has this id. GET /v1/pets lists those that exist.',
  route_not_found: 'No such route. See /docs.',
  not_acceptable: 'Responses of this service are application/json, which the Accept header must allow.',
  request_timeout: 'The request did not arrive in time.',
  idempotency_in_progress: 'A request with this Idempotency-Key is in progress. Try again.',
  uri_too_long: 'The request target must have at most 12288 bytes.',
  expectation_failed: 'The only supported expectation is "Expect: 100-continue".',
  idempotency_key_reused: 'This Idempotency-Key was already used with a different request body.',
  headers_too_large: 'The target and the headers of a request must have at most 16,384 bytes.',
  internal_error: 'Internal error. Quote the X-Request-Id when you report it.',
  service_unavailable: 'The database is not available. Try again.',
} as const satisfies Partial<Record<ErrorCode, string>>;
