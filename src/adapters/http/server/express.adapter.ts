import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { ExpressAdapter } from '@nestjs/platform-express';
import express from 'express';
import type { Settings } from '../../../settings/settings.js';
import { ApiError } from '../errors/api-error.js';
import { type JsonResponse, sendJson } from '../json-response.js';
import { HEAD_TIMEOUT, MAX_HEAD } from '../bounds.js';
import { RequestContext } from '../request-context.js';
import { clientAddress } from './client-address.js';
import { ConnectionQueue } from './connection-queue.js';
import {
  headError,
  parsablePart,
  type ParserError,
  parserError,
  routable,
  targetOf,
  withoutOrigin,
} from './request-head.js';
import { PetStoreRequest } from './request.js';
import { PetStoreResponse } from './response.js';
import { closeGracefully } from './shutdown.js';

/**
 * Nest on Express, with a queue for each connection, and with request and response classes that already have Express's
 * prototypes: Express would set the prototype of every request and response, which halves the throughput.
 */
export class PetStoreAdapter extends ExpressAdapter {
  private readonly queues = new Map<Socket, ConnectionQueue>();
  private readonly addressOf: (request: PetStoreRequest) => string;

  /** `databaseTimeout` is how long a request may wait for the database in all, in milliseconds. */
  constructor(
    private readonly settings: Settings,
    private readonly databaseTimeout: number,
  ) {
    const app = express();
    // Express reads these two when it creates its router, with the first middleware.
    app.enable('case sensitive routing');
    app.enable('strict routing');
    app.disable('x-powered-by');
    super(app);
    this.addressOf = clientAddress(settings.TRUSTED_PROXIES);
  }

  override initHttpServer(): void {
    const app = this.getInstance<express.Express>();
    // Express reads `app` from the prototypes, so each application has classes of its own. Express sets the prototype
    // of each request to `app.request`: nothing changes if that is its prototype already.
    class AppRequest extends PetStoreRequest {}
    class AppResponse extends PetStoreResponse {}
    const { REQUEST_TIMEOUT, KEEP_ALIVE_TIMEOUT, MAX_CONNECTIONS } = this.settings;
    app.request = Object.assign(AppRequest.prototype, { app });
    app.response = Object.assign(AppResponse.prototype, { app });
    const server = createServer({
      IncomingMessage: AppRequest,
      ServerResponse: AppResponse,
      headersTimeout: Math.min(HEAD_TIMEOUT, REQUEST_TIMEOUT),
      requestTimeout: REQUEST_TIMEOUT,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: MAX_HEAD,
      requireHostHeader: false,
      // By default only the first one of several Host or Authorization headers would be seen.
      joinDuplicateHeaders: true,
    });
    // Without a listener Node would send 100 Continue before the key is checked, and 417 without a body.
    for (const event of ['request', 'checkContinue', 'checkExpectation'])
      server.on(event, (request: PetStoreRequest, response: PetStoreResponse) =>
        this.queues.get(request.socket)?.add(response),
      );
    // Longer than any wait for a request or a response. A client that does not read has once to twice this time.
    server.timeout = Math.max(30_000, REQUEST_TIMEOUT + 2_000, this.databaseTimeout + 1_000);
    // The total size is limited instead: beyond a count Node would drop headers silently.
    server.maxHeadersCount = 0;
    // Not documented by Node: a client that half-closes after its request gets its response.
    Object.assign(server, { httpAllowHalfOpen: true });
    server.on('connection', (socket) => {
      // Not by `maxConnections`: a worker would hand it back to the primary, which would offer it again, for ever.
      if (this.queues.size >= MAX_CONNECTIONS) return void socket.destroy();
      this.queues.set(socket, new ConnectionQueue(socket, this.handle));
      socket.once('close', () => this.queues.delete(socket));
    });
    server.on('connect', (request: PetStoreRequest, socket: Socket) =>
      this.queues
        .get(socket)
        ?.fail(new ApiError('bad_request', 'CONNECT is not supported: this is no proxy.'), request),
    );
    server.on('clientError', (error: ParserError, socket: Socket) => {
      const request = Object.assign(new AppRequest(socket), { url: targetOf(error), method: undefined });
      this.queues.get(socket)?.fail(parserError(error), request);
    });
    this.httpServer = server as Server;
  }

  override close(): Promise<void> {
    return closeGracefully(this.httpServer, this.queues, this.settings);
  }

  override reply(response: PetStoreResponse, result: JsonResponse): void {
    sendJson(response, result);
  }

  private readonly handle = (response: PetStoreResponse, malformed: ApiError | undefined): void => {
    const { req: request } = response;
    const given = withoutOrigin(request.url);
    const error = malformed ?? headError(request, given);
    // `app.ts` passes it on.
    if (error) response.shouldKeepAlive = false;
    const target = error ? parsablePart(given) : routable(given);
    const address = this.addressOf(request);
    request.context = new RequestContext(request.headers, target, address, error, this.databaseTimeout);
    // Express reads the target nowhere else.
    request.url = target;
    this.getInstance<express.Express>()(request, response);
  };
}
