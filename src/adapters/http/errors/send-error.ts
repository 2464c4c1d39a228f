import type { ServerResponse } from 'node:http';
import { sendJson } from '../send.js';
import { ApiError } from './api-error.js';
import { ERROR_STATUS, errorBody } from './error-code.js';

/** Sends an error as its Error body. */
export function sendError(response: ServerResponse, { code, message, headers }: ApiError): void {
  sendJson(response, ERROR_STATUS[code], errorBody(code, message), headers);
}
