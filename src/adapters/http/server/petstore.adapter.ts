import { createServer, Server } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import express from 'express';
import { HttpSettings } from '../http-settings.js';
import { Request, Response } from './exchange.js';
import { answerProtocolErrors, protocolFault } from './protocol-errors.js';

// Below the service's own prototypes stand Express's, and below those Node's.
Object.setPrototypeOf(Request.prototype, express.request);
Object.setPrototypeOf(Response.prototype, express.response);

/** How often connections are looked at for one that is too slow, in milliseconds. */
const CHECK_INTERVAL = 1_000;

/**
 * Nest on Express, on a server whose requests and responses are born with Express's prototypes. Express gives each of them its
 * prototype, which costs nothing where it is there already, and half of all the time where it is not.
 */
export class PetstoreAdapter extends ExpressAdapter {
  constructor(private readonly settings: HttpSettings) {
    const app = express();
    // The router takes these when it is first used, and never again.
    app.enable('case sensitive routing');
    app.enable('strict routing');
    app.disable('x-powered-by');
    app.disable('etag');
    app.set('query parser', false);
    super(app);
  }

  override initHttpServer(): void {
    const app = this.getInstance<express.Express>();
    class AppRequest extends Request {}
    class AppResponse extends Response {}
    app.request = Object.assign(AppRequest.prototype, { app }) as unknown as express.Request;
    app.response = Object.assign(AppResponse.prototype, { app }) as unknown as express.Response;
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
        if (fault) return response.sendError(fault);
        // An escape that is none matches no path: its sign is taken for itself, so that it meets the guard and then a 404.
        request.url = request.url?.replace(/%(?![0-9A-Fa-f]{2})/g, '%25');
        app(request as unknown as express.Request, response as unknown as express.Response);
      },
    );
    server.timeout = idleTimeout;
    answerProtocolErrors(server);
    this.httpServer = server as unknown as Server;
  }
}
