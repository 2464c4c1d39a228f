import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import express from 'express';
import type { TraceContext } from '../../../application/finished-request.js';
import type { DatabaseWait } from '../../../application/within.js';
import type { ApiKey } from '../../../domain/keys/api-key.js';
import type { ApiError } from '../errors/api-error.js';

// eslint-disable-next-line no-restricted-syntax -- the prototype is set below, which TypeScript cannot know
const ExpressRequest = IncomingMessage as unknown as Omit<typeof IncomingMessage, 'prototype'> &
  (new (socket: Socket) => express.Request);

/** A request, with what is learned of it on the way to its handler. */
export class Request extends ExpressRequest {
  /** What is invalid in it, if anything is. */
  error?: ApiError | undefined;

  /** The key that the guard accepted. */
  apiKey?: ApiKey;

  /** The operation of the interface that was requested. */
  operation?: string;

  /** When it arrived, on the clock of `performance.now()`. */
  readonly startedAt = performance.now();

  /** Its waits for the database; the adapter sets it. */
  declare databaseWait: DatabaseWait;

  /** Where it stands in a trace, if it is traced. */
  trace?: TraceContext | undefined;
}

// Request inherits from Express's prototype, and that from Node's.
Object.setPrototypeOf(Request.prototype, express.request);
