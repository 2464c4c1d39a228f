import type { Socket } from 'node:net';
import { endOfTurn } from '../../event-loop.js';
import { BUFFER_ENCODING } from '../body/read-body.js';
import { ApiError, sendError } from '../errors/api-error.js';
import type { Request } from '../request.js';
import { Response } from './response.js';

/** The most requests without a response, 64 of them pending. What a client pipelines beyond these is not handled. */
const MAX_QUEUED = 65;

const ignore = () => undefined;

/**
 * The requests of one connection, handled one after another: each after the response before it, to see the effect of
 * that request (RFC 9112, section 9.3.2). A response whose `shouldKeepAlive` is false is the last: no request behind it
 * is handled (section 9.6). Node itself emits all requests of a packet at once.
 */
export class ConnectionQueue {
  private current: Response | undefined;
  private readonly pending: Response[] = [];

  /** The response to the latest request; undefined once both are complete, to free their memory. */
  private latest: Response | undefined;
  /** The response to a malformed request, which is the last. */
  private failed: { readonly response: Response; readonly error: ApiError } | undefined;
  private isStopping = false;

  /** The bytes that had been read when the latest response was sent. */
  private bytesBefore = 0;

  /** `handle` is called with each response whose request is at the head of the queue, and what is malformed in it. */
  constructor(
    private readonly socket: Socket,
    private readonly handle: (response: Response, error: ApiError | undefined) => void,
  ) {
    // Node removes its listeners at CONNECT: an error without one ends the process.
    socket.on('error', ignore);
    socket.on('timeout', () => socket.destroy());
    // Node calls this after a last response: destroying the socket could destroy that response on its way.
    socket.destroySoon = ignore;
    socket.on('end', () => this.failCutOff());
  }

  /** Whether a request is complete and its response has not been sent. */
  get isResponding(): boolean {
    const response = this.current ?? this.pending[0];
    return response?.req.complete === true && !response.writableFinished;
  }

  /** Handles a request when it reaches the head of the queue; never, if it follows a last response. */
  add(response: Response): void {
    const queued = this.pending.length + (this.current ? 1 : 0);
    if (this.latest && queued === MAX_QUEUED) this.latest.shouldKeepAlive = false;
    if (!this.socket.writable || this.latest?.shouldKeepAlive === false) return this.stopReading();
    const { req: request } = response;
    if (this.isStopping) response.shouldKeepAlive = false;
    // Behind a request that was not answered yet, nobody can tell where this one begins.
    if (request.headers.upgrade !== undefined)
      response.requestEnd = this.latest ? NaN : this.bytesBefore + lengthOf(request);
    if (request.headers['transfer-encoding'] ?? request.headers['content-length']) request.setEncoding(BUFFER_ENCODING);
    this.latest = response;
    response.on('close', this.next);
    this.pending.push(response);
    if (!this.current && this.pending.length === 1) this.startNext();
  }

  /** Fails a request with Upgrade whose body is cut off, which Node does not report. */
  private failCutOff(): void {
    const request = this.latest?.req;
    if (request?.headers.upgrade === undefined || request.complete) return;
    this.fail(new ApiError('bad_request', 'The connection ended before the end of the body (RFC 9112, 8).'), request);
  }

  /**
   * Sends an error as the last response of the connection: to the request whose body is malformed or, if there is none,
   * to `request`, after the pending ones.
   */
  fail(error: ApiError, request: Request): void {
    this.stopReading();
    if (!this.socket.writable) return;
    const { latest, current } = this;
    const isOfLatest = latest?.req.complete === false;
    const response = isOfLatest ? latest : new Response(Object.assign(request, { complete: true }));
    // Of one request the parser may report another error, when the connection ends.
    this.failed ??= { response, error };
    if (!isOfLatest) return this.add(response);
    latest.shouldKeepAlive = false;
    // If the response was sent before the whole body had arrived:
    if (!current && this.pending.length === 0) this.linger();
    else if (latest === current && !latest.headersSent) {
      latest.req.context.error = error;
      sendError(latest, error);
    }
  }

  /** Makes the latest response the last one or, if its head has been sent, the response after it. */
  stop(): void {
    this.isStopping = true;
    if (this.latest?.headersSent === false) this.latest.shouldKeepAlive = false;
  }

  /** Starts the next request at the end of the turn (see `endOfTurn`), so that pipelining delays nobody else. */
  private startNext(): void {
    const { socket } = this;
    const response = this.pending[0]!;
    // One that `fail` has created: Node gives it no socket, and emits its 'close' only with that of the socket.
    if (!response.socket) {
      response.assignSocket(socket);
      response.once('finish', () => response.emit('close'));
    }
    void endOfTurn().then(() => {
      if (socket.destroyed) return;
      this.current = this.pending.shift();
      this.handle(response, this.failed?.response === response ? this.failed.error : undefined);
    });
  }

  private readonly next = (): void => {
    const { current, socket } = this;
    if (!current || socket.destroyed) return;
    this.current = undefined;
    const [following] = this.pending;
    if (!following && this.latest?.req.complete) {
      this.latest = undefined;
      this.bytesBefore = socket.bytesRead;
    }
    if (!current.shouldKeepAlive || (!following && socket.readableEnded)) this.linger();
    else if (following) this.startNext();
  };

  /**
   * Half-closes, and discards what the client still sends for two seconds: closing a socket with unread bytes resets
   * the connection, which can destroy the response on its way (RFC 9112, section 9.6).
   */
  private linger(): void {
    // An unread body would stop the reading of the connection.
    for (const { req: request } of this.pending.splice(0)) request.resume();
    this.socket.end();
    this.socket.resume();
    const timeout = setTimeout(() => this.socket.destroy(), 2_000);
    this.socket.once('close', () => clearTimeout(timeout));
  }

  /** Discards what arrives from here on instead of parsing it. */
  private stopReading(): void {
    this.socket.removeAllListeners('data').on('data', ignore);
  }
}

/** The bytes of a request as clients write it, with one space behind each colon; NaN if its body is chunked. */
function lengthOf({ method, url, rawHeaders, headers }: Request): number {
  if (headers['transfer-encoding'] !== undefined) return NaN;
  const line = `${method} ${url} HTTP/1.1\r\n`.length;
  // A name and a value are followed by two characters each.
  const fields = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
  return line + fields + 2 + Number(headers['content-length'] ?? 0);
}
