import { ServerResponse } from 'node:http';
import express from 'express';
import { MAX_BODY } from '../bounds.js';
import type { PetStoreRequest } from './request.js';

// eslint-disable-next-line no-restricted-syntax -- the prototype is set below, which TypeScript cannot know
const ExpressResponse = ServerResponse as unknown as Omit<typeof ServerResponse, 'prototype'> &
  (new (request: PetStoreRequest) => express.Response & { req: PetStoreRequest });

export class PetStoreResponse extends ExpressResponse {
  /** The response to a request for which Node has made none: what it could not parse, and CONNECT. It has no socket. */
  static toMalformed(request: PetStoreRequest): PetStoreResponse {
    const response = new PetStoreResponse(Object.assign(request, { complete: true }));
    // As those that Node has made do; else it would do so with the socket, up to two seconds later.
    response.once('finish', () => response.emit('close'));
    return response;
  }

  /**
   * Of a request with Upgrade: the bytes of the connection up to its end, NaN if unknown. Node drops the rest of the
   * packet.
   */
  requestEnd: number | undefined;

  /**
   * Sends the head. `headers` are names and values in turn; those of the request's context, and those that Express has
   * set one by one, are sent, too. The connection is closed after the response if a large body is still arriving, or
   * something behind the request may have been dropped.
   */
  override writeHead(status: number, ...rest: [reason?: unknown, headers?: unknown]): this {
    const { complete, httpVersion, context, socket } = this.req;
    if (!complete && hasLargeBody(this.req)) this.shouldKeepAlive = false;
    const isUpgrade = this.requestEnd !== undefined;
    if (isUpgrade && (!complete || socket.bytesRead !== this.requestEnd)) this.shouldKeepAlive = false;
    // Node sends `Connection: close` for HTTP/1.0 if there is no Content-Length.
    if (httpVersion === '1.0' && (status === 204 || status === 304)) this.shouldKeepAlive = false;
    const [reason, headers] = typeof rest[0] === 'string' ? rest : [undefined, rest[0]];
    return super.writeHead(status, reason as string, [...((headers ?? []) as string[]), ...context.responseHeaders]);
  }
}

// It inherits from Express's prototype, and that from Node's.
Object.setPrototypeOf(PetStoreResponse.prototype, express.response);

/** Whether a body is too large to be discarded for the next request, or of unknown length. */
function hasLargeBody({ headers }: PetStoreRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > MAX_BODY;
}
