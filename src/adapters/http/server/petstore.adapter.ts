import { createServer, Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express from 'express';
import { noteConnection } from '../end-of-turn.js';
import { ApiError } from '../errors/api-error.js';
import { HttpSettings } from '../http-settings.js';
import { allowOrigins } from './cors.js';
import type { ExchangeObserver } from './exchange.js';
import { answerTo, type ClientError } from './protocol/client-error.js';
import { Connection, type Stop } from './protocol/connection.js';
import { headFault } from './protocol/request-head.js';
import { Request } from './request.js';
import { Response } from './response.js';

export { keptTick } from './kept-tick.js';

// Below the service's own prototypes stand Express's, and below those Node's.
Object.setPrototypeOf(Request.prototype, express.request);
Object.setPrototypeOf(Response.prototype, express.response);

const logger = new Logger('http');

/** How often connections are looked at for one that is too slow, in milliseconds. */
const CHECK_INTERVAL = 1_000;

/**
 * Nest on Express, whose requests and responses are born with Express's prototypes: Express gives each of them its prototype, which costs
 * nothing if it is there already, and half of all the time if it is not.
 */
export class PetstoreAdapter extends ExpressAdapter {
  private readonly connections = new Map<Socket, Connection>();
  private readonly stop: Stop;
  private allEnded: (() => void) | undefined;

  /** `observer` is told of every request. */
  constructor(
    private readonly settings: HttpSettings,
    private readonly observer: ExchangeObserver,
  ) {
    const app = express();
    // The router takes these when it is first used, and never again.
    app.enable('case sensitive routing');
    app.enable('strict routing');
    app.disable('x-powered-by');
    app.disable('etag');
    app.set('query parser', false);
    if (settings.corsOrigins.length > 0)
      app.use(allowOrigins(settings.corsOrigins) as unknown as express.RequestHandler);
    const { stack } = app.router;
    const layers = stack.length;
    super(app);
    // Nest's first one, which every request would go through, calls hooks that nobody has set.
    stack.length = layers;
    const { stopLinger: linger, closeTimeout } = settings;
    this.stop = { since: undefined, linger, patience: closeTimeout / 2 };
  }

  /**
   * Resolves when all connections have ended: each behind its last answer, or once it has been silent for a moment. What has not ended in time
   * is cut off; the exit code tells if an answer was owed there.
   */
  override async close(): Promise<void> {
    const server = this.httpServer as unknown as Server;
    this.stop.since = performance.now();
    const deadline = setTimeout(() => this.cutOff(), this.settings.closeTimeout);
    await this.endStill(server);
    const still = setInterval(() => void this.endStill(server), Math.ceil(this.stop.linger / 4));
    if (this.connections.size > 0) await new Promise<void>((resolve) => (this.allEnded = resolve));
    clearInterval(still);
    clearTimeout(deadline);
    process.off('exit', this.failIfOwing);
    // Not before, since it cuts idle connections off, with what is on its way on them, and stops the clock of slow requests.
    server.close();
  }

  override initHttpServer(): void {
    const app = this.getInstance<express.Express>();
    class AppRequest extends Request {}
    class AppResponse extends Response {}
    app.request = Object.assign(AppRequest.prototype, { app }) as unknown as express.Request;
    app.response = Object.assign(AppResponse.prototype, { app }) as unknown as express.Response;
    const { headersTimeout, requestTimeout, keepAliveTimeout, idleTimeout } = this.settings;
    const server = createServer<typeof Request, typeof Response>({
      IncomingMessage: AppRequest,
      ServerResponse: AppResponse,
      headersTimeout,
      requestTimeout,
      keepAliveTimeout,
      connectionsCheckingInterval: Math.min(CHECK_INTERVAL, headersTimeout, requestTimeout),
      requireHostHeader: false,
      joinDuplicateHeaders: false,
    });
    server.timeout = idleTimeout;
    // Node leaves out what is past a number of lines; their length is bounded as it is.
    server.maxHeadersCount = 0;
    // Not in Node's manual: a client that has sent its end is answered all the same.
    Object.assign(server, { httpAllowHalfOpen: true });
    this.listenTo(server, app);
    // It does not listen by itself, and its clock of slow requests begins with this.
    server.emit('listening');
    // Should the process end before it cuts them off.
    process.on('exit', this.failIfOwing);
    this.httpServer = server as unknown as Server;
  }

  /** Ends the connections that stand still, once all is read that has come by now. */
  private async endStill(server: Server): Promise<void> {
    for (let turn = 0; turn < 2; turn++) await immediate();
    const idle = new Set<Socket>();
    // Node alone knows if no request has begun, and tells by destroying the connections.
    for (const socket of this.connections.keys()) socket.destroy = () => idle.add(socket) && socket;
    server.closeIdleConnections();
    for (const socket of this.connections.keys()) Reflect.deleteProperty(socket, 'destroy');
    for (const [socket, connection] of this.connections) connection.endIfStill(idle.has(socket));
  }

  private cutOff(): void {
    const owed = this.failIfOwing();
    if (owed > 0) logger.error(`The stop took too long: ${owed} connections were cut off with an answer owed to them.`);
    for (const socket of this.connections.keys()) socket.destroy();
  }

  /** Has the process exit with 1 if answers are owed now; tells to how many connections. */
  private readonly failIfOwing = (): number => {
    const owed = [...this.connections.values()].filter(({ owesAnswer }) => owesAnswer).length;
    if (owed > 0) process.exitCode = 1;
    return owed;
  };

  private listenTo(server: Server<typeof Request, typeof Response>, app: express.Express): void {
    const { begin } = this.observer;
    const connectionOf = (socket: unknown) => this.connections.get(socket as Socket);
    server.on('connection', (socket) => {
      noteConnection();
      const { maxConnections, requestTimeout } = this.settings;
      if (this.connections.size >= maxConnections) return void socket.destroy();
      this.connections.set(socket, new Connection(socket, this.observer.request, this.stop, requestTimeout));
      socket.once('close', () => {
        this.connections.delete(socket);
        if (this.connections.size === 0) this.allEnded?.();
      });
    });
    const requested = (request: Request, response: Response) => {
      const connection = connectionOf(request.socket);
      const isHttp = connection?.requestLines.nameHttp(request) ?? true;
      const look = () => {
        const fault = headFault(request, isHttp);
        if (fault) return connection?.refuse(response, fault);
        // Nest has a route for every path, and catches what its handlers throw: whatever ends here is a fault of the router.
        app(request as unknown as express.Request, response as unknown as express.Response, (error: unknown) => {
          logger.error(error);
          connection?.refuse(response, ApiError.of('internal_error'));
        });
      };
      connection?.request(response, begin ? () => begin(request, look) : look);
    };
    // Whether to continue is said when the body is wanted, after the key was accepted.
    for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) server.on(event, requested);
    server.on('connect', (request, socket) => {
      const error = new ApiError('bad_request', 'The CONNECT method asks for a proxy; this is none.');
      connectionOf(socket)?.fail(error, request);
    });
    server.on('clientError', (error: ClientError, socket) => {
      if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') connectionOf(socket)?.timeOut();
      else connectionOf(socket)?.fail(answerTo(error));
    });
  }
}
