import { Request, Response } from './exchange.js';

/** A controller's method with its guards around it, as Nest hands it over. */
export type Handler = (request: Request, response: Response, next: () => void) => unknown;

/**
 * The routes that a request can be sent to by a look into a map: paths as `/a/b` and `/a/:b`. Express's router tries one route after
 * the other by regular expressions, and costs more than all that the service itself does for a request.
 */
export class DirectRoutes {
  private readonly byPath = new Map<string, Handler>();
  private readonly byParent = new Map<string, { readonly parameter: string; readonly handler: Handler }>();

  /** Notes a route, if it is of one of the two forms. */
  add(method: string, path: string, handler: Handler): void {
    const [, parent, parameter] = /^(.*\/):(\w+)$/.exec(path) ?? [];
    if (parent !== undefined && parameter !== undefined)
      this.byParent.set(`${method} ${parent}`, { parameter, handler });
    else if (!/[:*{]/.test(path)) this.byPath.set(`${method} ${path}`, handler);
  }

  /** The handler of a request, its path parameter set; undefined where Express must find out, or has to decode the path. */
  find(request: Request): Handler | undefined {
    const { method, targetPath: path } = request;
    const handler = this.byPath.get(`${method} ${path}`);
    if (handler) return handler;
    const end = path.lastIndexOf('/') + 1;
    const route = this.byParent.get(`${method} ${path.slice(0, end)}`);
    if (!route || end === path.length || path.includes('%')) return undefined;
    request.params = { [route.parameter]: path.slice(end) };
    return route.handler;
  }
}
