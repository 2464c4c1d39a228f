import type { Request } from './request.js';
import type { Response } from './response.js';
import { type TraceContext, traceParent } from './trace-context.js';

/** How a request ended. It holds nothing that a client chose freely: no key, no query, no body. */
export interface Exchange {
  /** The id that the answer carries. */
  readonly id: string;
  /** The request's method; undefined if the request could not be read. */
  readonly method: string | undefined;
  /** The template of the path that matched, such as `/v1/pets/:petId`; undefined if the request did not come so far. */
  readonly route: string | undefined;
  /** The operation of the interface that was asked for; `other` for anything else. */
  readonly operation: string;
  /** The status that was answered; 0 if the client went away before. */
  readonly status: number;
  /** How long it took until the answer was handed to the connection, in milliseconds. */
  readonly duration: number;
  /** The name of the key that was accepted. */
  readonly key: string | undefined;
  /** Whether the connection ended before the whole answer was out. */
  readonly aborted: boolean;
  /** The service's own span; that of the client's trace alone if the service makes none; undefined if neither has one. */
  readonly trace: TraceContext | undefined;
}

/** Watches the requests. */
export interface ExchangeObserver {
  /** The turn of a request that could be read has come: `look` begins to answer it, and is called at once. Absent if nobody cares. */
  readonly begin?: ((request: Request, look: () => void) => void) | undefined;
  /** Is told of each request once, when it has ended. */
  readonly request: (exchange: Exchange) => void;
}

/** How the request of this response ended, once it has. */
export function exchangeOf(response: Response): Exchange {
  const { req: request } = response;
  return {
    id: request.id,
    method: request.method ?? undefined,
    route: request.route?.path,
    operation: request.operation ?? 'other',
    status: response.headersSent ? response.statusCode : 0,
    duration: performance.now() - request.startedAt,
    key: request.apiKey?.name,
    aborted: !response.writableFinished,
    trace: request.trace ?? clientTrace(request),
  };
}

function clientTrace({ headers }: Request): TraceContext | undefined {
  const parent = traceParent(headers.traceparent);
  return parent && { traceId: parent.traceId, spanId: undefined };
}
