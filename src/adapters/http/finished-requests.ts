import type { NextFunction } from 'express';
import type { FinishedRequest } from '../observability/finished-request.js';
import type { Observers } from '../observability/observers.js';
import { pathText } from '../observability/path-text.js';
import type { PetStoreRequest } from './server/request.js';
import type { PetStoreResponse } from './server/response.js';
import { UNMATCHED } from './unmatched.js';

/** Middleware that reports every request that is handled, parsed or not, to the observers. */
export function observeRequests(observers: Observers) {
  return (request: PetStoreRequest, response: PetStoreResponse, next: NextFunction) => {
    response.once('close', () => observers.finish(finishedRequest(request, response)));
    observers.begin(request, (span) => {
      request.context.span = span;
      next();
    });
  };
}

function finishedRequest({ method, route, context }: PetStoreRequest, response: PetStoreResponse): FinishedRequest {
  const { path } = (route ?? {}) as { path?: string };
  const isMatched = path !== undefined && path !== UNMATCHED;
  return {
    id: context.id,
    method,
    route: isMatched ? path : undefined,
    path: isMatched ? undefined : pathText(context.target),
    address: context.address,
    code: context.error?.code,
    operation: context.operation?.id ?? 'other',
    deprecated: context.operation?.deprecated ?? false,
    status: response.headersSent ? response.statusCode : 0,
    duration: performance.now() - context.startedAt,
    key: context.key?.name,
    aborted: !response.writableFinished,
    span: context.span,
  };
}
