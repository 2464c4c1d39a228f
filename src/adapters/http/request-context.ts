import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { ApiKey } from '../../domain/keys/api-key.js';
import type { TraceContext } from '../observer.js';
import type { ApiError } from './errors/api-error.js';

const ACCEPTED_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** What is known of a request from the moment it is handled. Nothing else is set on a request for others to read. */
export class RequestContext {
  /** When it was handled, on the clock of `performance.now()`. */
  readonly startedAt = performance.now();

  /** The client's own `X-Request-Id` if it is 1 to 64 of `A-Za-z0-9._-`, else a new one. */
  readonly id: string;

  /** Headers of its response with any status, errors included: names and values in turn. Middleware adds to them. */
  readonly responseHeaders: string[];

  /** The operation of the interface that the guard has found. */
  operation: string | undefined;

  /** The key that the guard has accepted. */
  key: ApiKey | undefined;

  /** Where it stands in a trace, if it is traced. */
  trace: TraceContext | undefined;

  private waitEnd: number;

  constructor(
    headers: IncomingHttpHeaders,
    /** The request target in origin-form, which identifies a cached response. */
    readonly target: string,
    /** The protocol error in the request, if there is one. */
    readonly error: ApiError | undefined,
    databaseTimeout: number,
  ) {
    const id = headers['x-request-id'];
    this.id = typeof id === 'string' && ACCEPTED_REQUEST_ID.test(id) ? id : randomUUID();
    this.responseHeaders = ['X-Request-Id', this.id, 'X-Content-Type-Options', 'nosniff'];
    this.waitEnd = this.startedAt + databaseTimeout;
  }

  /** Until when the database may be waited for, on the clock of `performance.now()`. */
  get deadline(): number {
    return this.waitEnd;
  }

  /** Waits for the client, by which the deadline moves: a body may take longer to arrive than the database may. */
  async waitForClient<T>(promise: Promise<T>): Promise<T> {
    const begun = performance.now();
    const result = await promise;
    this.waitEnd += performance.now() - begun;
    return result;
  }
}

/** The context of a request that the guard has let pass. */
export type AuthenticatedContext = RequestContext & { readonly key: ApiKey };

/** The context of the request, as a parameter of a handler: `@Context() context: AuthenticatedContext`. */
export const Context = createParamDecorator(
  (_data, host: ExecutionContext) => host.switchToHttp().getRequest<{ context: RequestContext }>().context,
);
