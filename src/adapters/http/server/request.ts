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
