import type { Server } from 'node:http';
import { Request } from './request.js';
import { Response } from './response.js';

/** What a request asked for: one of the three operations, or anything else. */
export type Operation = 'listPets' | 'createPet' | 'getPet' | 'other';

/** How a request ended. It holds nothing that a client chose freely: no key, no query, no body. */
export interface Exchange {
  /** The id that the answer carries. */
  readonly id: string;
  /** The request's method; undefined where the request could not be read. */
  readonly method: string | undefined;
  /** The template of the path that matched, such as `/v1/pets/:petId`; undefined where the request did not come so far. */
  readonly route: string | undefined;
  readonly operation: Operation;
  /** The status that was answered; 0 where the client went away before. */
  readonly status: number;
  /** How long it took until the answer was handed to the connection, in milliseconds. */
  readonly duration: number;
  /** The name of the key that was accepted. */
  readonly key: string | undefined;
  /** Whether the connection ended before the whole answer was out. */
  readonly aborted: boolean;
}

/** Is told of each request once, when it has ended. */
export type ExchangeObserver = (exchange: Exchange) => void;

/** The event by which a server tells of a request that it refused without a response to do so with: its id and the status. */
export const REFUSED = 'refused';

/** Tells the observer of every request to the server, those that cannot be read included. */
export function observeExchanges(server: Server<typeof Request, typeof Response>, observe: ExchangeObserver): void {
  function ended(this: Response): void {
    const { req: request } = this;
    observe({
      id: request.id,
      method: request.method,
      route: request.route?.path,
      operation: operationOf(request),
      status: this.headersSent ? this.statusCode : 0,
      duration: performance.now() - request.startedAt,
      key: request.apiKey?.name,
      aborted: !this.writableFinished,
    });
  }
  const begun = (request: Request, response: Response) => {
    request.startedAt = performance.now();
    response.on('close', ended);
  };
  server.prependListener('request', begun);
  server.prependListener('checkExpectation', begun);
  server.on(REFUSED, (id: string, status: number) => {
    const unread = { method: undefined, route: undefined, key: undefined };
    observe({ id, ...unread, operation: 'other', status, duration: 0, aborted: false });
  });
}

function operationOf({ method, route }: Request): Operation {
  const reads = method === 'GET' || method === 'HEAD';
  if (route?.path === '/v1/pets') return reads ? 'listPets' : method === 'POST' ? 'createPet' : 'other';
  return reads && route?.path === '/v1/pets/:petId' ? 'getPet' : 'other';
}
