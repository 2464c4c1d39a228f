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

/** The text of an Error body. */
export function errorBody(code: ErrorCode, message: string): string {
  return JSON.stringify({ code, message, status: ERROR_STATUS[code] });
}
