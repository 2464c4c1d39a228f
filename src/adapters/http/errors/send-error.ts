import type { ServerResponse } from 'node:http';
import { sendJson } from '../send.js';
import { ApiError } from './api-error.js';
import { ERROR_STATUS } from './error-code.js';

/** Sends an error as its Error body. */
export function sendError(response: ServerResponse, { code, message, headers }: ApiError): void {
  const status = ERROR_STATUS[code];
  sendJson(response, status, JSON.stringify({ code, message, status }), headers);
}
