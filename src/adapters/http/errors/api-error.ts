import type { ServerResponse } from 'node:http';
import { ClientError } from '../../../application/errors.js';
import { type HeaderList, sendJson } from '../json-response.js';
import { MAX_NAMED } from '../bounds.js';
import { type ErrorCode, ERRORS, type FixedCode } from './error-code.js';

/** When to retry while the service is not available, in seconds. */
export const RETRY_AFTER: HeaderList = ['Retry-After', '1'];

export class ApiError extends ClientError {
  /** `message` is for people. Only a response outside of `/v1` may have another status than that of its code. */
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly headers: HeaderList = [],
    readonly status: number = ERRORS[code][0],
  ) {
    super(message);
  }

  /** The error of a code that always has the same message. */
  static of(code: FixedCode, headers?: HeaderList): ApiError {
    return new ApiError(code, ERRORS[code][1], headers);
  }
}

export function sendError(response: ServerResponse, { code, message, headers, status }: ApiError): void {
  sendJson(response, { status, body: JSON.stringify({ code, message, status }), headers });
}

/**
 * Throws one error for all faults of a request, if it has any: it names the first ten, with the code of the first. The
 * others are only counted: to word all faults of a body of 64 KiB would hold up the event loop for 40 ms.
 */
export function throwFaults(faults: readonly (() => ApiError)[]): void {
  const [first, ...others] = faults.slice(0, MAX_NAMED).map((fault) => fault());
  if (!first) return;
  const messages = [first, ...others].map(({ message }) => message);
  if (faults.length > MAX_NAMED) messages.push(`… and ${faults.length - MAX_NAMED} more.`);
  throw new ApiError(first.code, messages.join(' '));
}
