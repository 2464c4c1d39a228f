import { ServerResponse } from 'node:http';
import express from 'express';
import type { FinishedRequest } from '../../../application/finished-request.js';
import type { Request } from './request.js';

/** The most bytes of an unread body that are read and discarded, so that the connection can be reused. */
const MAX_DISCARDED = 65_536;

// eslint-disable-next-line no-restricted-syntax -- the prototype is set below, which TypeScript cannot know
const ExpressResponse = ServerResponse as unknown as Omit<typeof ServerResponse, 'prototype'> &
  (new (request: Request) => express.Response & { req: Request });

/** A response. Every one has the request id and `nosniff`, whoever writes it. */
export class Response extends ExpressResponse {
  /** Headers that are sent with any status, errors included: names and values in turn. */
  readonly standing: string[] = [];

  /** The queue of its connection. */
  queue?: { isLast(): boolean };

  /**
   * Sends the head. Headers given as an array are names and values in turn, and the array is modified. The connection
   * is closed after the response if a large body is still arriving, or if it is the last one of its connection.
   */
  override writeHead(status: number, ...rest: unknown[]): this {
    if (this.queue?.isLast() || (!this.req.complete && hasLargeBody(this.req))) this.shouldKeepAlive = false;
    const headers = rest.at(-1);
    if (Array.isArray(headers)) {
      headers.push('X-Request-Id', this.req.id, 'X-Content-Type-Options', 'nosniff', ...this.standing);
      return super.writeHead(status, headers as string[]);
    }
    // Express and its middleware set headers one by one.
    this.setHeader('X-Request-Id', this.req.id).setHeader('X-Content-Type-Options', 'nosniff');
    for (let i = 0; i < this.standing.length; i += 2)
      this.appendHeader(this.standing[i] as string, this.standing[i + 1] as string);
    return (super.writeHead as (status: number, ...rest: unknown[]) => this).call(this, status, ...rest);
  }

  /** How its request ended, once it has. */
  outcome(): FinishedRequest {
    const { req: request } = this;
    return {
      id: request.id,
      method: request.method,
      route: (request.route as { path: string } | undefined)?.path,
      operation: request.operation ?? 'other',
      status: this.headersSent ? this.statusCode : 0,
      duration: performance.now() - request.startedAt,
      key: request.apiKey?.name,
      aborted: !this.writableFinished,
      trace: request.trace,
    };
  }
}

// Express's prototype below ours, and Node's below Express's.
Object.setPrototypeOf(Response.prototype, express.response);

/** Whether the request has a body of more than 64 KiB, or of a length that is not known beforehand. */
function hasLargeBody({ headers }: Request): boolean {
  const { 'content-length': length, 'transfer-encoding': transfer } = headers;
  return transfer !== undefined || Number(length) > MAX_DISCARDED;
}
