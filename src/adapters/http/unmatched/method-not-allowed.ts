import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { sendNoContent } from '../send.js';

/** A request that came through Express's router, with what is asked of the router here. */
export interface RoutedRequest extends IncomingMessage {
  readonly path: string;
  readonly app: { readonly router: { readonly stack: readonly Layer[] } };
}

interface Route {
  readonly path: string;
  readonly methods: Readonly<Record<string, boolean>>;
}

interface Layer {
  readonly route?: Route;
  match(path: string): boolean;
}

/** Answers a method that a path has no operation for: OPTIONS with 204, any other with 405; both say what is allowed. */
export function answerOtherMethod(request: RoutedRequest, response: ServerResponse): void {
  const allowed = allowedMethods(request).join(', ');
  if (request.method !== 'OPTIONS') {
    throw new ApiError('method_not_allowed', `This path takes ${allowed}.`, ['Allow', allowed]);
  }
  sendNoContent(response, ['Allow', allowed]);
}

/** The methods of the operations below a path, as CORS allows them to other origins. */
export function methodsBelow(start: string, { app }: RoutedRequest): string[] {
  return methodsOf(app.router.stack.flatMap(({ route }) => (route?.path.startsWith(start) ? [route] : [])));
}

/** The methods that the path of a request has an operation for, and OPTIONS. */
function allowedMethods({ app, path }: RoutedRequest): string[] {
  const routes = app.router.stack.flatMap((layer) => (layer.route && layer.match(path) ? [layer.route] : []));
  return [...methodsOf(routes), 'OPTIONS'];
}

function methodsOf(routes: readonly Route[]): string[] {
  // A route that takes PROPFIND takes every method: it is there for those that have no operation.
  const names = routes.filter(({ methods }) => !methods.propfind).flatMap(({ methods }) => Object.keys(methods));
  return [...new Set(names.flatMap((each) => (each === 'get' ? ['GET', 'HEAD'] : [each.toUpperCase()])))];
}
