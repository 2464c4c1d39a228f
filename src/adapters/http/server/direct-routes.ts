import { Request, Response } from './exchange.js';

/** A controller's method with its guards around it, as Nest hands it over. */
export type Handler = (request: Request, response: Response, next: () => void) => unknown;

interface Routes {
  readonly byPath: Map<string, Handler>;
  readonly byParent: Map<string, { readonly parameter: string; readonly handler: Handler }>;
}

/**
 * The routes that a request can be sent to by a look into a map: paths as `/a/b` and `/a/:b`. Express's router tries one route after
 * the other by regular expressions, and costs more than all that the service itself does for a request.
 */
export class DirectRoutes {
  private readonly byMethod = new Map<string, Routes>();

  /** Notes a route, if it is of one of the two forms. */
  add(method: string, path: string, handler: Handler): void {
    const routes = this.byMethod.get(method) ?? { byPath: new Map(), byParent: new Map() };
    const [, parent, parameter] = /^(.*\/):(\w+)$/.exec(path) ?? [];
    if (parent !== undefined && parameter !== undefined) routes.byParent.set(parent, { parameter, handler });
    else if (!/[:*{]/.test(path)) routes.byPath.set(path, handler);
    this.byMethod.set(method, routes);
  }

  /** The handler of a request, its path parameter set; undefined where Express must find out, or has to decode the path. */
  find(request: Request): Handler | undefined {
    const routes = this.byMethod.get(request.method as string);
    const path = request.targetPath;
    const handler = routes?.byPath.get(path);
    if (handler ?? !routes) return handler;
    const end = path.lastIndexOf('/') + 1;
    const route = routes.byParent.get(path.slice(0, end));
    if (!route || end === path.length || path.includes('%')) return undefined;
    request.params = { [route.parameter]: path.slice(end) };
    return route.handler;
  }
}
