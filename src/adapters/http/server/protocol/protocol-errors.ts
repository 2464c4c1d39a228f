import { randomUUID } from 'node:crypto';
import { Server, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { ApiError } from '../../errors/api-error.js';
import { ERROR_STATUS, errorBody } from '../../errors/error-code.js';
import { sendError } from '../../errors/send-error.js';
import { fieldLines } from '../../header-list.js';
import { Request } from '../request.js';
import { Response } from '../response.js';
import { REFUSED } from '../observe-exchanges.js';
import { originForm } from './request-target.js';

/** The longest request target that is read, in bytes; RFC 9110, section 4.1, asks for 8,000 at least. */
const MAX_TARGET = 12_288;

/** `uri-host [ ":" port ]`, as RFC 3986, section 3.2.2, has them; it may be empty. */
const HOST = /^(?:\[[0-9A-Fa-fv:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$/;

/** How long a connection that is to be closed goes on being read, in milliseconds. */
const LINGER = 2_000;

/** What is wrong with the frame of a request that Node let through; where nothing is, its `url` is in origin-form from here on. */
export function protocolFault(request: Request): ApiError | undefined {
  const { method = '', url = '', httpVersion, headers } = request;
  if (url.length > MAX_TARGET) return uriTooLong();
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return new ApiError('bad_request', 'The request must be of HTTP/1.1 or HTTP/1.0 (RFC 9112, section 2.3).');
  }
  const hosts = fieldLines(request, 'host');
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1') || !HOST.test(headers.host ?? '')) {
    const found = hosts === 0 ? 'none' : hosts > 1 ? 'more than one' : 'one that is no host';
    return new ApiError(
      'bad_request',
      `A request must have one Host header with a host and, optionally, a port (RFC 9112, section 3.2); this one has ${found}.`,
    );
  }
  if (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined) {
    return new ApiError('bad_request', 'HTTP/1.0 has no Transfer-Encoding (RFC 9112, section 6.1).');
  }
  const target = originForm(method, url);
  if (target === undefined) {
    return new ApiError(
      'bad_request',
      'The request target must be a path and, optionally, a query (RFC 9112, section 3.2).',
    );
  }
  request.url = target;
  return undefined;
}

/** Answers a request whose connection cannot be trusted further, and closes it. */
export function refuse(response: Response, error: ApiError): void {
  response.shouldKeepAlive = false;
  sendError(response, error);
}

/** Makes a server answer with an Error body where Node by itself would answer with none. */
export function answerProtocolErrors(server: Server<typeof Request, typeof Response>): void {
  /** The response to the request that came last on a connection. */
  const latest = new WeakMap<Duplex, Response>();
  const say = (socket: Duplex, error: ApiError, id: string = randomUUID()) => {
    if (!socket.writable) return;
    write(socket, error, id);
    server.emit(REFUSED, id, ERROR_STATUS[error.code]);
  };
  server.on('connection', (socket) => {
    socket.destroySoon = closeGently;
  });
  server.on('request', (request, response) => latest.set(request.socket, response));
  server.on('checkExpectation', (request, response) => {
    latest.set(request.socket, response);
    refuse(
      response,
      new ApiError('expectation_failed', 'The only expectation that can be met is "Expect: 100-continue".'),
    );
  });
  server.on('checkContinue', (request, response) => {
    // Node lets lists and words that contain it through.
    if (request.headers.expect?.toLowerCase() !== '100-continue') {
      return void server.emit('checkExpectation', request, response);
    }
    // Whether to continue is said when the body is wanted: after the key was accepted.
    server.emit('request', request, response);
  });
  server.on('connect', (request, socket) => {
    say(socket, new ApiError('bad_request', 'The CONNECT method asks for a proxy; this is none.'), request.id);
  });
  server.on('clientError', (error: ClientError, socket) => {
    // A client that is gone, or has had its last answer, can be told nothing more.
    if (!socket.writable) return;
    const response = latest.get(socket);
    // The fault lies behind the last request that could be read: what came before it is answered first.
    if (!response || (response.req.complete && response.writableFinished)) say(socket, answerTo(error));
    else if (response.req.complete) response.once('finish', () => say(socket, answerTo(error)));
    // It lies in the body of that request.
    else if (response.headersSent) (socket as Socket).destroySoon();
    else refuse(response, answerTo(error));
  });
}

type ClientError = NodeJS.ErrnoException & { rawPacket?: Buffer; reason?: string };

function answerTo({ code, rawPacket, reason }: ClientError): ApiError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ApiError('request_timeout', 'The request did not arrive in time.');
  if (code === 'HPE_HEADER_OVERFLOW') {
    return isWithinTarget(rawPacket)
      ? uriTooLong()
      : new ApiError('headers_too_large', 'The target and the headers of a request must have at most 16,384 bytes.');
  }
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    return new ApiError('body_too_large', 'The chunk extensions of the body are too large.');
  }
  return new ApiError('bad_request', `The request is not valid HTTP/1.1 (RFC 9112): ${reason ?? 'it cannot be read'}.`);
}

function uriTooLong(): ApiError {
  return new ApiError('uri_too_long', `The request target must have at most ${MAX_TARGET} bytes.`);
}

/** Whether a packet begins a request and ends within its target. */
function isWithinTarget(packet: Buffer | undefined): boolean {
  return packet !== undefined && /^[A-Z]+ [^ \r\n]*$/.test(packet.toString('latin1', 0, MAX_TARGET));
}

/** Answers on the bare connection, where there is no response to answer with, and closes it. */
function write(socket: Duplex, { code, message }: ApiError, id: string): void {
  const status = ERROR_STATUS[code];
  const body = errorBody(code, message);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    `X-Request-Id: ${id}`,
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  (socket as Socket).destroySoon();
}

/**
 * Ends a connection, and reads and throws away what the client still sends for a moment: to close it on unread bytes resets it,
 * which can destroy the answer on its way (RFC 9112, section 9.6).
 */
function closeGently(this: Socket): void {
  if (this.writableEnded) return;
  this.end();
  this.resume();
  const deadline = setTimeout(() => this.destroy(), LINGER);
  this.once('close', () => clearTimeout(deadline));
}
