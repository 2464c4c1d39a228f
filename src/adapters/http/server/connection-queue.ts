import type { Socket } from 'node:net';
import { endOfTurn } from '../../runtime/event-loop.js';
import { ApiError, sendError } from '../errors/api-error.js';
import { LINGER_TIMEOUT, MAX_QUEUED } from '../bounds.js';
import { bufferAsText, type PetStoreRequest } from './request.js';
import { PetStoreResponse } from './response.js';

const ignore = () => undefined;

/**
 * The requests of one connection, handled one after another: each after the response before it, to see the effect of
 * that request (RFC 9112, section 9.3.2). Node itself emits all requests of a packet at once.
 *
 * | State       | What is true                             | What happens                           | What follows |
 * | ----------- | ---------------------------------------- | -------------------------------------- | ------------ |
 * | `idle`      | Every response has been sent. The body   | a request arrives                      | `scheduled`  |
 * |             | of the latest request may be incomplete. | that body turns out to be malformed    | `closing`    |
 * | `scheduled` | The first request without a response     | the turn ends                          | `handling`   |
 * |             | waits for the end of the turn.           |                                        |              |
 * | `handling`  | That request is being handled.           | the last response is sent              | `closing`    |
 * |             |                                          | another is sent; a request is queued   | `scheduled`  |
 * |             |                                          | … none is, and the client half-closed  | `closing`    |
 * |             |                                          | … none is                              | `idle`       |
 * | `closing`   | Half-closed; what arrives is discarded.  | the client closes, or a timeout passes | (closed)     |
 *
 * In `scheduled` and `handling` a request that arrives is queued. A response whose `shouldKeepAlive` is false is the
 * last: no request behind it is queued (section 9.6). A malformed request is queued like any other, and its response is
 * the last; if only its body is malformed, it has been queued already. `connections.spec.ts` and
 * `protocol.spec.ts` of `test/http` fail if a row above `closing` does not hold.
 */
export class ConnectionQueue {
  private state: 'idle' | 'scheduled' | 'handling' | 'closing' = 'idle';

  /** The responses that have not been sent, in the order of their requests. */
  private readonly unsent: PetStoreResponse[] = [];

  /** The response to the latest request; undefined once both are complete, to free their memory. */
  private latest: PetStoreResponse | undefined;

  /** The response to the malformed request, and what it is to be. */
  private malformed: { readonly response: PetStoreResponse; readonly error: ApiError } | undefined;

  private isStopping = false;

  /** The bytes that had been read when the latest response was sent. */
  private bytesBefore = 0;

  /** `handle` is called with each response whose request is at the head of the queue, and what is malformed in it. */
  constructor(
    private readonly socket: Socket,
    private readonly handle: (response: PetStoreResponse, error: ApiError | undefined) => void,
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
    const [response] = this.unsent;
    return response?.req.complete === true && !response.writableFinished;
  }

  /** Handles a request when it reaches the head of the queue; never, if it follows a last response. */
  add(response: PetStoreResponse): void {
    const { socket, latest, unsent } = this;
    if (latest && unsent.length === MAX_QUEUED) latest.shouldKeepAlive = false;
    if (!socket.writable || latest?.shouldKeepAlive === false) return this.stopReading();
    const { req: request } = response;
    if (this.isStopping) response.shouldKeepAlive = false;
    // Behind a request that was not answered yet, nobody can tell where this one begins.
    if (request.headers.upgrade !== undefined)
      response.requestEnd = latest ? NaN : this.bytesBefore + lengthOf(request);
    bufferAsText(request);
    this.latest = response;
    response.on('close', this.next);
    unsent.push(response);
    if (this.state === 'idle') this.schedule(response);
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
  fail(error: ApiError, request: PetStoreRequest): void {
    this.stopReading();
    // Of one request the parser may report another error, when the connection ends.
    if (this.malformed || !this.socket.writable) return;
    const { state, unsent, latest } = this;
    const isInBody = latest?.req.complete === false;
    const response = isInBody ? latest : PetStoreResponse.toMalformed(request);
    this.malformed = { response, error };
    if (!isInBody) return this.add(response);
    response.shouldKeepAlive = false;
    if (state === 'idle') this.halfClose();
    else if (state === 'handling' && response === unsent[0] && !response.headersSent) {
      response.req.context.error = error;
      sendError(response, error);
    }
  }

  /** Makes the latest response the last one or, if its head has been sent, the response after it. */
  stop(): void {
    this.isStopping = true;
    if (this.latest?.headersSent === false) this.latest.shouldKeepAlive = false;
  }

  /** Has the first request handled at the end of the turn (see `endOfTurn`), so that pipelining delays nobody else. */
  private schedule(first: PetStoreResponse): void {
    const { socket } = this;
    this.state = 'scheduled';
    // Node gives it to its own responses, in their turn.
    if (!first.socket) first.assignSocket(socket);
    void endOfTurn().then(() => {
      if (socket.destroyed) return;
      this.state = 'handling';
      this.handle(first, this.malformed?.response === first ? this.malformed.error : undefined);
    });
  }

  /** Follows each response that was sent. */
  private readonly next = (): void => {
    const { socket, unsent } = this;
    if (this.state !== 'handling' || socket.destroyed) return;
    this.state = 'idle';
    const sent = unsent.shift();
    const [first] = unsent;
    if (!first && this.latest?.req.complete) {
      this.latest = undefined;
      this.bytesBefore = socket.bytesRead;
    }
    if (!sent?.shouldKeepAlive || (!first && socket.readableEnded)) this.halfClose();
    else if (first) this.schedule(first);
  };

  /**
   * Half-closes, and discards for a while what the client still sends: closing a socket with unread bytes resets
   * the connection, which can destroy the response on its way (RFC 9112, section 9.6).
   */
  private halfClose(): void {
    this.state = 'closing';
    // An unread body would stop the reading of the connection.
    for (const { req: request } of this.unsent.splice(0)) request.resume();
    this.socket.end();
    this.socket.resume();
    const timeout = setTimeout(() => this.socket.destroy(), LINGER_TIMEOUT);
    this.socket.once('close', () => clearTimeout(timeout));
  }

  /** Discards what arrives from here on instead of parsing it. */
  private stopReading(): void {
    this.socket.removeAllListeners('data').on('data', ignore);
  }
}

/** The bytes of a request as clients write it, with one space behind each colon; NaN if its body is chunked. */
function lengthOf({ method, url, rawHeaders, headers }: PetStoreRequest): number {
  if (headers['transfer-encoding'] !== undefined) return NaN;
  const line = `${method} ${url} HTTP/1.1\r\n`.length;
  // A name and a value are followed by two characters each.
  const fields = rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
  return line + fields + 2 + Number(headers['content-length'] ?? 0);
}
