import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../errors/api-error.js';

/** A request that came through Express's router, with what is asked of the router here. */
export interface RoutedRequest extends IncomingMessage {
  readonly path: string;
  readonly app: { readonly router: { readonly stack: readonly Layer[] } };
}

interface Layer {
  readonly route?: { readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): boolean;
}

/** Answers a method that a path has no operation for: OPTIONS with 204, any other with 405; both say what is allowed. */
export function answerOtherMethod(request: RoutedRequest, response: ServerResponse): void {
  const allowed = allowedMethods(request).join(', ');
  if (request.method !== 'OPTIONS') {
    throw new ApiError('method_not_allowed', `This path takes ${allowed}.`, ['Allow', allowed]);
  }
  response.writeHead(204, ['Allow', allowed, 'Cache-Control', 'no-store']);
  response.end();
}

/** The methods that the path of a request has an operation for, and OPTIONS. */
function allowedMethods({ app, path, method = '' }: RoutedRequest): string[] {
  const routes = app.router.stack.flatMap((layer) => (layer.route && layer.match(path) ? [layer.route.methods] : []));
  // A route that takes this method too takes all of them: it is there for those that have no operation.
  const operations = routes
    .filter((methods) => !methods[method.toLowerCase()])
    .flatMap((methods) => Object.keys(methods));
  return [
    ...new Set(operations.flatMap((each) => (each === 'get' ? ['GET', 'HEAD'] : [each.toUpperCase()]))),
    'OPTIONS',
  ];
}
