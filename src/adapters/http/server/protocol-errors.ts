import { randomUUID } from 'node:crypto';
import { Server, STATUS_CODES } from 'node:http';
import { Duplex } from 'node:stream';
import { ApiError } from '../errors/api-error.js';
import { ERROR_STATUS, errorBody, ErrorCode } from '../errors/error-code.js';
import { Request, Response } from './exchange.js';

/** The longest request target that is read, in bytes; RFC 9110, section 4.1, asks for 8,000 at least. */
const MAX_TARGET = 8_192;

/** Ends the connection with the answer: what follows on it cannot be told from the rest of the faulty request. */
const CLOSE = ['Connection', 'close'];

/** What is wrong with the frame of a request that Node let through, or undefined where it is fine. */
export function protocolFault(request: Request): ApiError | undefined {
  if ((request.url ?? '').length > MAX_TARGET) {
    return new ApiError('uri_too_long', `The request target must have at most ${MAX_TARGET} bytes.`, CLOSE);
  }
  const hosts = request.fieldLines('host');
  if (request.httpVersion === '1.1' && hosts !== 1) {
    const found = hosts === 0 ? 'none' : 'more than one';
    return new ApiError(
      'bad_request',
      `An HTTP/1.1 request must have one Host header (RFC 9112, section 3.2); this one has ${found}.`,
      CLOSE,
    );
  }
  return undefined;
}

/** Makes a server answer with an Error body where Node by itself would answer with none. */
export function answerProtocolErrors(server: Server<typeof Request, typeof Response>): void {
  server.on('checkExpectation', (_request, response) => {
    const message = 'The only expectation that can be met is "Expect: 100-continue".';
    response.sendJson(ERROR_STATUS.expectation_failed, errorBody('expectation_failed', message), CLOSE);
  });
  server.on('checkContinue', (request, response) => {
    // Whether to continue is said when the body is wanted: after the key was accepted.
    request.expectsContinue = true;
    server.emit('request', request, response);
  });
  server.on('connect', (_request, socket) => {
    end(socket, 'bad_request', 'The CONNECT method asks for a proxy; this is none.');
  });
  server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer; reason?: string }, socket) => {
    const answering = (socket as { _httpMessage?: Response })._httpMessage;
    if (!socket.writable || error.code === 'ECONNRESET' || answering?.headersSent) socket.destroy();
    else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
      end(socket, 'request_timeout', 'The request did not arrive in time.');
    else if (error.code === 'HPE_HEADER_OVERFLOW' && isWithinTarget(error.rawPacket)) {
      end(socket, 'uri_too_long', `The request target must have at most ${MAX_TARGET} bytes.`);
    } else if (error.code === 'HPE_HEADER_OVERFLOW') {
      end(socket, 'headers_too_large', 'The header section of the request must have at most 16,384 bytes.');
    } else if (error.code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
      end(socket, 'body_too_large', 'The chunk extensions of the body are too large.');
    } else {
      end(
        socket,
        'bad_request',
        `The request is not valid HTTP/1.1 (RFC 9112): ${error.reason ?? 'it cannot be read'}.`,
      );
    }
  });
}

/** Whether a packet begins a request and ends within its target. */
function isWithinTarget(packet: Buffer | undefined): boolean {
  return packet !== undefined && /^[A-Z]+ [^ \r\n]*$/.test(packet.toString('latin1', 0, 2 * MAX_TARGET));
}

/** Answers on the bare connection, where there is no response to answer with, and closes it. */
function end(socket: Duplex, code: ErrorCode, message: string): void {
  const status = ERROR_STATUS[code];
  const body = errorBody(code, message);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    `X-Request-Id: ${randomUUID()}`,
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
