import { createServer, Server } from 'node:http';
import type { Socket } from 'node:net';
import { ExpressAdapter } from '@nestjs/platform-express';
import express from 'express';
import { HttpSettings } from '../http-settings.js';
import { allowOrigins } from './cors.js';
import { DirectRoutes, Handler } from './direct-routes.js';
import { Request } from './request.js';
import { Response } from './response.js';
import { ExchangeObserver, observeExchanges } from './observe-exchanges.js';
import { answerProtocolErrors, protocolFault, refuse } from './protocol/protocol-errors.js';
import { Turns } from './turns.js';

/** How long a connection on which nothing has come is kept once the server is to close, in milliseconds. */
const SILENCE = 100;

// Below the service's own prototypes stand Express's, and below those Node's.
Object.setPrototypeOf(Request.prototype, express.request);
Object.setPrototypeOf(Response.prototype, express.response);

/** How often connections are looked at for one that is too slow, in milliseconds. */
const CHECK_INTERVAL = 1_000;

/**
 * Nest on Express, with two shortcuts. Requests and responses are born with Express's prototypes, because Express gives each of
 * them its prototype, which costs nothing where it is there already, and half of all the time where it is not. And a GET or POST
 * whose path is known goes straight to Nest's handler, past Express's router: a fifth of all the time. Whatever else comes takes
 * the way through Express.
 */
export class PetstoreAdapter extends ExpressAdapter {
  private readonly routes = new DirectRoutes();

  private readonly connections = new Set<Socket>();

  /** `observe` is told of every request; nobody is where it is absent, and nothing is spent on it. */
  constructor(
    private readonly settings: HttpSettings,
    private readonly observe?: ExchangeObserver,
  ) {
    const app = express();
    // The router takes these when it is first used, and never again.
    app.enable('case sensitive routing');
    app.enable('strict routing');
    app.disable('x-powered-by');
    app.disable('etag');
    app.set('query parser', false);
    super(app);
  }

  override get(path: unknown, handler?: unknown): unknown {
    this.routes.add('GET', path as string, handler as Handler);
    return this.getInstance<express.Express>().get(path as string, handler as express.RequestHandler);
  }

  override post(path: unknown, handler?: unknown): unknown {
    this.routes.add('POST', path as string, handler as Handler);
    return this.getInstance<express.Express>().post(path as string, handler as express.RequestHandler);
  }

  override close(): Promise<void> | undefined {
    const closed = super.close() as Promise<void> | undefined;
    // Node takes one on which nothing has come yet for one that is at work. What has been sent already is still read.
    setTimeout(() => {
      for (const socket of this.connections) if (socket.bytesRead === 0) socket.destroy();
    }, SILENCE);
    return closed;
  }

  override initHttpServer(): void {
    const app = this.getInstance<express.Express>();
    class AppRequest extends Request {}
    class AppResponse extends Response {}
    app.request = Object.assign(AppRequest.prototype, { app }) as unknown as express.Request;
    app.response = Object.assign(AppResponse.prototype, { app }) as unknown as express.Response;
    const { corsOrigins } = this.settings;
    const cors = corsOrigins.length > 0 ? allowOrigins(corsOrigins) : undefined;
    const handle = (request: Request, response: Response) => {
      // What came behind its head may have been no HTTP, and is answered then.
      if (response.headersSent) return;
      if (cors) cors(request, response, () => this.route(request, response));
      else this.route(request, response);
    };
    const turns = new Turns();
    const { headersTimeout, requestTimeout, keepAliveTimeout, idleTimeout } = this.settings;
    const server = createServer<typeof Request, typeof Response>(
      {
        IncomingMessage: AppRequest,
        ServerResponse: AppResponse,
        headersTimeout,
        requestTimeout,
        keepAliveTimeout,
        connectionsCheckingInterval: Math.min(CHECK_INTERVAL, headersTimeout, requestTimeout),
        requireHostHeader: false,
        joinDuplicateHeaders: false,
      },
      (request, response) => {
        const fault = protocolFault(request);
        if (fault) return refuse(response, fault);
        turns.request(() => handle(request, response));
        // Of a client that does not wait for its answers Node reads on until they pile up: so they are not put off.
        if (!response.socket) turns.handle();
      },
    );
    server.on('connection', (socket) => {
      turns.connection();
      this.connections.add(socket);
      socket.once('close', () => this.connections.delete(socket));
    });
    server.timeout = idleTimeout;
    // Node leaves out what is past a number of lines; their length is bounded as it is.
    server.maxHeadersCount = 0;
    answerProtocolErrors(server);
    if (this.observe) observeExchanges(server, this.observe);
    this.httpServer = server as unknown as Server;
  }

  /** Sends a request to its handler, past Express where that is possible. */
  private route(request: Request, response: Response): void {
    const throughExpress = () => {
      this.getInstance<express.Express>()(
        request as unknown as express.Request,
        response as unknown as express.Response,
      );
    };
    const handler = this.routes.find(request);
    if (handler) handler(request, response, throughExpress);
    else throughExpress();
  }
}
