import type { Socket } from 'node:net';
import { ApiError } from '../../errors/api-error.js';
import { sendError } from '../../errors/send-error.js';
import { type ExchangeObserver, exchangeOf } from '../exchange.js';
import { Request } from '../request.js';
import { Response } from '../response.js';
import { RequestLines } from './request-lines.js';

/** How long a connection that has had its last answer goes on being read, in milliseconds. */
const LINGER = 2_000;

/** The most requests that wait for their turn on all connections together: one takes some 2 KB, and one read of a socket brings up to 2,600. */
const MAX_WAITING_TURNS = 10_000;

/** The option by which a client says that it sends no more (RFC 9110, section 7.6.1), be there others or tabs beside it. */
const CLOSE = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

/** How many wait now. */
let waitingTurns = 0;

/** What has Node's parser read no further, as it does in front of a tunnel: there is no body, and no other request. */
const NOTHING_FOLLOWS = 2;

/** What connections are told of the stop of their server. Times are in milliseconds. */
export interface Stop {
  /** When it began, on the clock of `performance.now()`; undefined as long as it has not. */
  since: number | undefined;
  /** For how long a silent connection is kept. */
  readonly linger: number;
  /** For how long a client is waited for that sends without an end, or takes nothing of its answers. */
  readonly patience: number;
}

/** A request, and what is to be done with it when its turn comes. */
interface Turn {
  readonly response: Response;
  look: () => void;
  /** Whether Node knows nothing of it: it ends a half-closed connection that it owes nothing, so that this must not wait for a turn of the event loop. */
  readonly isBare?: boolean;
}

/**
 * One connection, and the order of what happens on it. Its requests are looked at one after another, each when the answer to the one
 * before is out, so that it sees that one's effect; behind the last answer nothing is (RFC 9112, sections 9.3.2 and 9.6). Node by itself
 * hands over all requests of a packet at once, those behind an answer with `Connection: close` included.
 */
export class Connection {
  readonly requestLines: RequestLines;
  private current: Turn | undefined;
  private waiting: Turn[] = [];

  /** The request that came last, for as long as more of it may come: a connection that rests holds none of it. */
  private latest: Turn | undefined;
  private canHold = false;

  /** Whether nothing is taken any more but what waits, since what came behind is no request, or is too much. */
  private failed = false;
  private ended = false;
  private moved = 0;
  private movedAt = 0;

  /** How many requests have come. */
  private requests = 0;

  /** What is to be done when reading goes on. */
  private whenRead: (() => unknown) | undefined;

  /**
   * `observe` is told of each request when it has ended, those that cannot be read included. `requestTimeout` is for how long one may take to come, in
   * milliseconds.
   */
  constructor(
    private readonly socket: Socket,
    private readonly observe: ExchangeObserver['request'],
    private readonly stop: Stop,
    private readonly requestTimeout: number,
  ) {
    this.requestLines = new RequestLines(socket);
    // Node leaves the socket of a CONNECT alone, and an error that nobody listens for ends the process.
    socket.on('error', () => undefined);
    // Node calls this behind the last answer, and behind the last request of a client that has sent its end, though a fault came behind it.
    socket.destroySoon = () => {
      if (!this.failed || !this.current?.response.shouldKeepAlive || this.waiting.length === 0) this.end();
    };
    socket.once('close', this.forgetWaiting);
    // Node does not see that a body is cut short if its request has asked for an upgrade.
    socket.on('end', () => {
      if (this.latest && !this.latest.response.req.complete) this.fail(cutShort());
    });
  }

  /** Whether a request that has come is not answered yet. */
  get owesAnswer(): boolean {
    return [this.current, ...this.waiting].some((turn) => turn?.response.req.complete && !turn.response.writableEnded);
  }

  /** Has a request looked at when those before it are answered; never, if one of their answers is the last. */
  request(response: Response, look: () => void): void {
    if (this.ended || this.failed) return this.stopParser();
    this.requests++;
    const { connection, upgrade } = response.req.headers;
    // Node takes no part in a protocol that a client would like to change to, and drops what comes behind; and does not see each form of close.
    if (upgrade !== undefined || (connection !== undefined && CLOSE.test(connection))) response.shouldKeepAlive = false;
    if (this.current && waitingTurns >= MAX_WAITING_TURNS) {
      this.failed = true;
      return this.stopParser();
    }
    this.add({ response, look });
  }

  /** Node finds that a request has not come in time: reading may have stopped here in its midst, and then it has its time once more when that goes on. */
  timeOut(): void {
    const error = ApiError.of('request_timeout');
    if (this.waiting.length === 0) return this.fail(error);
    const { latest, requests } = this;
    const isInBody = latest?.response.req.complete === false;
    const failIfSo = () => {
      if (isInBody ? !latest.response.req.complete : requests === this.requests) this.fail(error);
    };
    this.whenRead = () => setTimeout(failIfSo, this.requestTimeout).unref();
  }

  /** Answers what came behind the last request, and was none, when it is its turn, and ends the connection. */
  fail(error: ApiError, request?: Request): void {
    // A client that is gone can be told nothing.
    if (this.ended || this.failed || !this.socket.writable) return this.stopParser();
    this.failed = true;
    const { latest } = this;
    if (latest && !latest.response.req.complete) {
      // The fault lies in the body of that request.
      if (this.waiting.includes(latest)) latest.look = () => this.refuse(latest.response, error);
      else if (latest.response.headersSent) this.end();
      else this.refuse(latest.response, error);
      // Should the rest of that body come, it must not be taken.
      return this.stopParser();
    }
    const response = this.bareResponse(request);
    const look = () => {
      if (!this.socket.writable) return this.socket.destroy();
      response.assignSocket(this.socket);
      response.once('finish', () => {
        response.detachSocket(this.socket);
        this.end();
        response.emit('close');
      });
      this.refuse(response, error);
    };
    this.add({ response, look, isBare: true });
  }

  /** Sends an error as the last answer. */
  refuse(response: Response, error: ApiError): void {
    response.shouldKeepAlive = false;
    sendError(response, error);
  }

  /** Ends the connection if it is idle and has been silent for long enough, or if nothing was taken of an answer for too long. */
  endIfStill(isIdle: boolean): void {
    const { bytesRead, bytesWritten, writableLength } = this.socket;
    const moved = bytesRead + bytesWritten - writableLength;
    if (moved !== this.moved) this.movedAt = performance.now();
    this.moved = moved;
    const still = performance.now() - Math.max(this.movedAt, this.stop.since ?? Infinity);
    const isAnswered = this.current?.response.writableEnded ?? this.waiting.length === 0;
    if (writableLength > 0 && isAnswered && still >= this.stop.patience) this.socket.destroy();
    if (writableLength === 0 && (isIdle || bytesRead === 0) && still >= this.stop.linger) this.end();
  }

  private add(turn: Turn): void {
    turn.response.req.startedAt = performance.now();
    this.latest = turn;
    if (!this.current) return this.begin(turn);
    this.waiting.push(turn);
    waitingTurns++;
    this.hold();
  }

  /** Reads no more while requests wait: what one read brings may wait, and no more. */
  private hold(): void {
    if (!this.canHold) {
      this.canHold = true;
      // With a listener for data, Node's parser is fed by the stream, which can be paused, and not by the handle, which Node resumes at
      // will, and may have stopped, of which the stream does not know.
      this.socket.on('data', (packet) => this.requestLines.packetRead(packet));
      this.socket._read(0);
      this.socket.on('resume', () => {
        if (this.waiting.length > 0) this.socket.pause();
      });
    }
    this.socket.pause();
  }

  private begin(turn: Turn, isBehindOther = false): void {
    this.current = turn;
    turn.response.isLast = this.isLast;
    turn.response.on('close', this.next);
    const isLastKnown = this.stop.since !== undefined && this.waiting.length === 0;
    if (!isLastKnown && (!isBehindOther || turn.isBare)) return turn.look();
    const look = () => {
      if (this.current === turn && !turn.response.headersSent) turn.look();
    };
    // Whoever sends many requests at once gets one answer in each turn of the event loop, as others do.
    if (!isLastKnown) return void setImmediate(look);
    // What has come behind it, and is not read yet, is answered too.
    if (this.socket.isPaused()) this.socket.resume();
    setImmediate(() => setImmediate(look));
  }

  private readonly isLast = (): boolean => {
    const { since, patience } = this.stop;
    if (this.waiting.length === 0) return this.failed || since !== undefined;
    // What has come is answered all the same; of a client that sends without an end nothing more is taken.
    if (since !== undefined && !this.failed && performance.now() - since > patience) this.takeNoMore();
    return false;
  };

  private takeNoMore(): void {
    const { latest } = this;
    this.failed = true;
    if (latest?.response.req.complete === false)
      latest.look = () => this.refuse(latest.response, ApiError.of('request_timeout'));
    this.stopParser();
  }

  private readonly next = (): void => {
    if (this.current) this.observe(exchangeOf(this.current.response));
    this.current = undefined;
    if (this.latest?.response.req.complete) this.latest = undefined;
    if (this.ended || this.socket.destroyed) this.forgetWaiting();
    const turn = this.waiting.shift();
    if (turn) {
      waitingTurns--;
      this.begin(turn, true);
    } else if (this.failed) this.end();
    if (this.waiting.length > 0 || this.failed || !this.socket.isPaused()) return;
    this.socket.resume();
    this.whenRead?.();
    this.whenRead = undefined;
  };

  private readonly forgetWaiting = (): void => {
    waitingTurns -= this.waiting.splice(0).length;
  };

  /**
   * Sends the end, and throws away what the client still sends for a moment: to close a connection on unread bytes resets it, which can
   * destroy the answer on its way (RFC 9112, section 9.6).
   */
  private end(): void {
    if (this.ended) return;
    this.ended = true;
    const { socket } = this;
    socket.end();
    socket.resume();
    const deadline = setTimeout(() => socket.destroy(), LINGER);
    socket.once('close', () => clearTimeout(deadline));
  }

  /**
   * Has Node make no more requests of what comes: a listener of our own gets it instead. What the parser is in the middle of has no such way; its
   * listener for requests is not in Node's manual, and if it is not there, the rest of one read is made into requests, and dropped.
   */
  private stopParser(): void {
    const { parser } = this.socket as { parser?: { onIncoming?: unknown } | null };
    if (parser?.onIncoming) {
      parser.onIncoming = (request: Request) => {
        Object.assign(request, { upgrade: false });
        return NOTHING_FOLLOWS;
      };
    }
    this.socket.removeAllListeners('data').on('data', () => undefined);
  }

  /** A response to what is no request. */
  private bareResponse(request = Object.assign(new Request(this.socket), { complete: true })): Response {
    request.httpVersionMajor = request.httpVersionMinor = 1;
    return new Response(request);
  }
}

function cutShort(): ApiError {
  return new ApiError('bad_request', 'The body ended before its end.');
}
