import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import express from 'express';
import { late } from '../../../application/errors.js';
import type { TraceContext } from '../../../application/finished-request.js';
import { within } from '../../../application/within.js';
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

  /** How long it may wait for the database in all, in milliseconds; the adapter sets it. */
  declare readonly databaseTimeout: number;

  private waited = 0;

  /** Where it stands in a trace, if it is traced. */
  trace?: TraceContext | undefined;

  /** Waits for the database; rejects with `DatabaseUnavailable` once the request has waited for too long in all. */
  async waitFor<T>(result: Promise<T>): Promise<T> {
    const startedAt = performance.now();
    // The first wait: `Database.admit` has the same limit.
    const value = await (this.waited === 0 ? result : within(this.databaseTimeout - this.waited, result, late));
    this.waited += performance.now() - startedAt;
    return value;
  }
}

// Request inherits from Express's prototype, and that from Node's.
Object.setPrototypeOf(Request.prototype, express.request);
