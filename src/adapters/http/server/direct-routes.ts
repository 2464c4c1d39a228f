import { Request } from './request.js';
import { Response } from './response.js';

/** A controller's method with its guards around it, as Nest hands it over. */
export type Handler = (request: Request, response: Response, next: () => void) => unknown;

interface Route {
  readonly path: string;
  readonly handler: Handler;
}

interface Routes {
  readonly byPath: Map<string, Route>;
  readonly byParent: Map<string, Route & { readonly parameter: string }>;
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
    if (parent !== undefined && parameter !== undefined) routes.byParent.set(parent, { path, parameter, handler });
    else if (!/[:*{]/.test(path)) routes.byPath.set(path, { path, handler });
    this.byMethod.set(method, routes);
  }

  /** The handler of a request, its route noted and its path parameter set; undefined where Express must find out, or has to decode the path. */
  find(request: Request): Handler | undefined {
    const routes = this.byMethod.get(request.method as string);
    const path = request.targetPath;
    const route = routes?.byPath.get(path) ?? this.byParameter(request, routes, path);
    request.route = route;
    return route?.handler;
  }

  private byParameter(request: Request, routes: Routes | undefined, path: string): Route | undefined {
    const end = path.lastIndexOf('/') + 1;
    const route = routes?.byParent.get(path.slice(0, end));
    if (!route || end === path.length || path.includes('%')) return undefined;
    request.params = { [route.parameter]: path.slice(end) };
    return route;
  }
}
