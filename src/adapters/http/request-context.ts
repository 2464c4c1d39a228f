import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Span } from '@opentelemetry/api';
import { type ApiKey, maskKeys } from '../../domain/keys/api-key.js';
import type { ApiError } from './errors/api-error.js';

const ACCEPTED_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** An operation of the interface, as `@Operation()` declares it. */
export interface OperationOfInterface {
  /** Its operationId. */
  readonly id: string;
  readonly deprecated: boolean;
}

/** What is known of a request from the moment it is handled. Nothing else is set on a request for others to read. */
export class RequestContext {
  /** On the clock of `performance.now()`. */
  readonly startedAt = performance.now();

  /** The client's own `X-Request-Id` if it is 1 to 64 of `A-Za-z0-9._-`, and no API key; else a new one. */
  readonly id: string;

  /** Headers of its response with any status, errors included: names and values in turn. Middleware adds to them. */
  readonly responseHeaders: string[];

  /**
   * Until when it may wait for the database, on the clock of `performance.now()`; the time that a body takes to arrive
   * is added.
   */
  deadline: number;

  /** The operation of the interface that the guard has found. */
  operation: OperationOfInterface | undefined;

  /** The key that the guard has accepted. */
  key: ApiKey | undefined;

  /** The error that is its response. */
  error: ApiError | undefined;

  /** Its span, if it is traced. */
  span: Span | undefined;

  constructor(
    headers: IncomingHttpHeaders,
    /** The request target in origin-form, which identifies a cached response. */
    readonly target: string,
    /** The client, behind trusted proxies, as `clientAddress` writes it; empty if the connection is already lost. */
    readonly address: string,
    /** What is malformed in the request, which reaches no route then. */
    readonly protocolError: ApiError | undefined,
    databaseTimeout: number,
  ) {
    const sent = ACCEPTED_REQUEST_ID.exec(String(headers['x-request-id'] ?? ''))?.[0];
    this.id = sent !== undefined && maskKeys(sent) === sent ? sent : randomUUID();
    this.responseHeaders = ['X-Request-Id', this.id, 'X-Content-Type-Options', 'nosniff'];
    this.deadline = this.startedAt + databaseTimeout;
  }
}

/** The context of a request that the guard has let pass. */
export type AuthenticatedContext = RequestContext & { readonly key: ApiKey };

/** The context of the request, as a parameter of a handler: `@Context() context: AuthenticatedContext`. */
export const Context = createParamDecorator(
  (_data, host: ExecutionContext) => host.getArgByIndex<{ context: RequestContext }>(0).context,
);
