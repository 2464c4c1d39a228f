import type { Socket } from 'node:net';
import { ApiError, sendError } from '../errors/api-error.js';
import { Request } from './request.js';
import { Response } from './response.js';

/** The most pending requests of a connection; what a client pipelines beyond them is not handled. */
const MAX_PENDING = 256;

/** How long a connection is still read after its last response, in milliseconds. */
const LINGER = 2_000;

const BODY_CUT_OFF = 'The connection ended before the body was complete (RFC 9112, section 8).';

/**
 * The `close` option of a Connection header (RFC 9110, 7.6.1), which the parser of Node 20 misses before a tab.
 */
const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

const ignore = () => undefined;

interface Pending {
  readonly response: Response;
  handle: () => void;
}

/**
 * The requests of one connection, handled one after another: each when the response before it has been sent, so that it
 * sees its effect, and none after a last response (RFC 9112, sections 9.3.2 and 9.6). Node itself emits all requests
 * of a packet at once.
 */
export class ConnectionQueue {
  private current: Response | undefined;
  private readonly pending: Pending[] = [];

  /** The response to the latest request, which may still be arriving; undefined once that is known to be complete. */
  private latest: Response | undefined;

  /** Whether no further request is accepted. */
  private isClosed = false;

  /** `finished` is called with each response that has ended, or whose connection has closed. */
  constructor(
    private readonly socket: Socket,
    private readonly isStopping: () => boolean,
    private readonly finished: (response: Response) => void,
  ) {
    // An error without a listener ends the process, and Node removes its own after CONNECT.
    socket.on('error', ignore);
    socket.once('close', () => (this.pending.length = 0));
    // Node calls this after a last response: destroying the socket could destroy that response on its way. Node also
    // calls it when a half-closed client has no further request; an error that is still pending here is sent first.
    socket.destroySoon = () => {
      if (this.pending.length === 0 || !this.current?.shouldKeepAlive) this.linger();
    };
  }

  /** Whether a request has arrived completely whose response is not complete. */
  get isResponding(): boolean {
    return this.current?.req.complete === true && !this.current.writableEnded;
  }

  /** Whether the response that is being written is the last of the connection. */
  isLast(): boolean {
    return this.pending.length === 0 && (this.isClosed || this.isStopping());
  }

  /**
   * Handles a request when it reaches the head of the queue; never, if it follows a last response or is one too many.
   */
  add(response: Response, handle: () => void): void {
    if (this.isClosed || this.pending.length === MAX_PENDING) {
      this.isClosed = true;
      return this.stopReading();
    }
    const { connection, upgrade } = response.req.headers;
    if (connection !== undefined && CLOSE.test(connection)) response.shouldKeepAlive = false;
    if (upgrade !== undefined) {
      // Node drops what follows it in its packet, and reports no body that is cut off.
      response.shouldKeepAlive = false;
      this.socket.once('end', () => {
        if (!response.req.complete) this.failBody(response, new ApiError('bad_request', BODY_CUT_OFF));
      });
    }
    this.isClosed = !response.shouldKeepAlive;
    this.push(response, handle);
  }

  /**
   * Sends an error as the last response: to the request whose body is malformed, else after the pending ones.
   * `request` is what is known of a request whose head could not be parsed; `handle` sends the error.
   */
  fail(error: ApiError, request: Request, handle: (response: Response) => void): void {
    this.stopReading();
    if (!this.socket.writable) return;
    const { latest } = this;
    if (latest && !latest.req.complete) this.failBody(latest, error);
    else if (!this.isClosed) {
      this.isClosed = true;
      // Node has created no response for it.
      const response = new Response(
        Object.assign(request, { complete: true, httpVersionMajor: 1, httpVersionMinor: 1 }),
      );
      this.push(response, () => {
        response.assignSocket(this.socket);
        response.once('finish', () => {
          this.linger();
          response.emit('close');
        });
        handle(response);
      });
    }
  }

  private failBody(response: Response, error: ApiError): void {
    this.isClosed = true;
    const pending = this.pending.find((pending) => pending.response === response);
    if (pending) pending.handle = () => sendLastError(response, error);
    else if (response.headersSent) this.linger();
    else sendLastError(response, error);
  }

  private push(response: Response, handle: () => void): void {
    response.req.startedAt = performance.now();
    response.queue = this;
    response.once('close', this.next);
    this.latest = response;
    if (this.current) this.pending.push({ response, handle });
    else {
      this.current = response;
      handle();
    }
  }

  private readonly next = (): void => {
    if (this.current) this.finished(this.current);
    if (this.latest?.req.complete) this.latest = undefined;
    const following = this.pending.shift();
    this.current = following?.response;
    if (!following) return;
    const { response } = following;
    const handle = () => this.socket.destroyed || response.headersSent || following.handle();
    // One response of a connection in each turn of the event loop, so that a client that pipelines delays nobody.
    if (response.socket) setImmediate(handle);
    // What could not be parsed has a response without a socket. Before the next turn Node would end a half-closed one.
    else handle();
  };

  /**
   * Half-closes, and discards what the client still sends for a moment: closing a socket with unread bytes resets the
   * connection, which can destroy the response on its way (RFC 9112, section 9.6).
   */
  private linger(): void {
    this.isClosed = true;
    this.pending.length = 0;
    this.socket.end();
    this.socket.resume();
    const timeout = setTimeout(() => this.socket.destroy(), LINGER);
    this.socket.once('close', () => clearTimeout(timeout));
  }

  /** Discards what arrives from here on instead of parsing it. */
  private stopReading(): void {
    this.socket.removeAllListeners('data').on('data', ignore);
  }
}

/** Sends an error, and closes the connection after it. */
export function sendLastError(response: Response, error: ApiError): void {
  response.shouldKeepAlive = false;
  sendError(response, error);
}
