import { randomUUID } from 'node:crypto';
import { ServerResponse } from 'node:http';
import express from 'express';
import type { Request } from './request.js';

// eslint-disable-next-line no-restricted-syntax -- the prototype is set below, which TypeScript cannot know
const ExpressResponse = ServerResponse as unknown as Omit<typeof ServerResponse, 'prototype'> &
  (new (request: Request) => express.Response & { req: Request });

const ACCEPTED_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

export class Response extends ExpressResponse {
  /** Headers that are sent with any status, errors included, whoever writes the head: names and values in turn. */
  readonly standing: string[] = [];

  private id: string | undefined;

  /** The client's own `X-Request-Id` if it is 1 to 64 of `A-Za-z0-9._-`, else a new one. */
  get requestId(): string {
    return (this.id ??= ACCEPTED_REQUEST_ID.exec(String(this.req.headers['x-request-id'] ?? ''))?.[0] ?? randomUUID());
  }

  /**
   * Sends the head. `headers` are names and values in turn; those that Express has set one by one are sent, too. The
   * connection is closed after the response if a large body is still arriving.
   */
  override writeHead(status: number, headers: unknown = []): this {
    if (!this.req.complete && hasLargeBody(this.req)) this.shouldKeepAlive = false;
    // Node sends `Connection: close` for HTTP/1.0 if there is no Content-Length.
    if (this.req.httpVersion === '1.0' && (status === 204 || status === 304)) this.shouldKeepAlive = false;
    const own = ['X-Request-Id', this.requestId, 'X-Content-Type-Options', 'nosniff'];
    return super.writeHead(status, [...(headers as string[]), ...own, ...this.standing]);
  }
}

// Response inherits from Express's prototype, and that from Node's.
Object.setPrototypeOf(Response.prototype, express.response);

/** Whether a body is too large to be discarded for the next request: over 64 KiB, or of unknown length. */
function hasLargeBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 65_536;
}
