import type { NextFunction } from 'express';
import type { FinishedRequest, Observer } from '../observer.js';
import type { Request } from './request.js';
import type { Response } from './server/response.js';
import { UNMATCHED } from './unmatched.js';

/** Middleware that reports every request that is handled, parsed or not, to the observers. */
export function observeRequests(observers: readonly Observer[]) {
  const tracing = observers.find((observer) => 'begin' in observer);
  return (request: Request, response: Response, next: NextFunction) => {
    response.once('close', () => {
      const finished = finishedRequest(request, response);
      for (const observer of observers) observer.finish?.(finished);
    });
    if (!tracing?.begin) return next();
    tracing.begin(request, (span) => {
      request.context.span = span;
      next();
    });
  };
}

function finishedRequest({ method, route, context }: Request, response: Response): FinishedRequest {
  const { path } = (route ?? {}) as { path?: string };
  return {
    id: context.id,
    method,
    route: path === UNMATCHED ? undefined : path,
    operation: context.operation ?? 'other',
    status: response.headersSent ? response.statusCode : 0,
    duration: performance.now() - context.startedAt,
    key: context.key?.name,
    aborted: !response.writableFinished,
    span: context.span,
  };
}
