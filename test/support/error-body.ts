import { expect } from '@jest/globals';
import { type ErrorCode, ERRORS } from '../../src/adapters/http/errors/error-code.js';
import type { Answer } from './connection.js';

/** An Error body. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status: number;
}

/** Expects an answer to be an error in every part that the decisions name, and returns its body. */
export function expectErrorBody(answer: Answer): ErrorBody {
  const error = JSON.parse(answer.body) as ErrorBody;
  expect(Object.keys(error)).toEqual(['code', 'message', 'status']);
  expect(ERRORS[error.code][0]).toBe(answer.status);
  expect(error.status).toBe(answer.status);
  expect(error.message).toMatch(/^.*\S.*[.?]$/su);
  expect(error.message).not.toMatch(/SELECT|INSERT|SQLITE|node:|\/src\/|\.[jt]s:\d|\n\s+at /);
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(answer.body)),
    'x-request-id': expect.stringMatching(/^[A-Za-z0-9._-]{1,64}$/) as unknown,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  return error;
}

/** Expects an answer to be the error of this code. */
export function expectError(answer: Answer, code: ErrorCode): ErrorBody {
  const error = expectErrorBody(answer);
  expect(error).toMatchObject({ code, status: ERRORS[code][0] });
  return error;
}
