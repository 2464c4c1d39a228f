import type { NextFunction } from 'express';
import type { FinishedRequest } from '../../application/finished-request.js';
import type { Request } from './server/request.js';
import type { Response } from './server/response.js';

/** Middleware that reports every finished request, parsed or not, to the observers. */
export function observeRequests(observers: readonly { finish(request: FinishedRequest): void }[]) {
  return (request: Request, response: Response, next: NextFunction) => {
    response.once('close', () => {
      const finished = finishedRequest(request, response);
      for (const observer of observers) observer.finish(finished);
    });
    next();
  };
}

function finishedRequest(request: Request, response: Response): FinishedRequest {
  return {
    id: response.requestId,
    method: request.method,
    route: (request.route as { path: string } | undefined)?.path,
    operation: request.operation ?? 'other',
    status: response.headersSent ? response.statusCode : 0,
    duration: performance.now() - request.startedAt,
    key: request.apiKey?.name,
    aborted: !response.writableFinished,
    trace: request.trace,
  };
}
