import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import express from 'express';
import type { RequestContext } from '../request-context.js';

// eslint-disable-next-line no-restricted-syntax -- the prototype is set below, which TypeScript cannot know
const ExpressRequest = IncomingMessage as unknown as Omit<typeof IncomingMessage, 'prototype'> &
  (new (socket: Socket) => express.Request);

export class PetStoreRequest extends ExpressRequest {
  /** The adapter sets it when it handles the request. */
  declare context: RequestContext;
}

// It inherits from Express's prototype, and that from Node's.
Object.setPrototypeOf(PetStoreRequest.prototype, express.request);

/**
 * Has a body buffered as text in which each character is a byte: until it is read, a chunk costs 40 bytes as a string,
 * and 380 as a Buffer.
 */
export function bufferAsText(request: PetStoreRequest): void {
  const { 'content-length': length, 'transfer-encoding': transfer } = request.headers;
  if (transfer ?? length) request.setEncoding('latin1');
}
