import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { quoted } from '../errors/wording.js';
import { fieldLines } from '../header-list.js';
import { isJsonInUtf8 } from './media-type.js';

/** The most bytes that a request body may have. */
export const MAX_BODY = 65_536;

/**
 * Reads the JSON text of a request's body, once it is sure that it is one: `application/json`, in UTF-8, not encoded any further
 * and of at most 64 KiB. Rejects with `unsupported_media_type`, `body_too_large`, `invalid_body` or `invalid_json`.
 */
export async function readJsonText(request: IncomingMessage, response: ServerResponse): Promise<string> {
  const { 'content-length': length, 'transfer-encoding': transfer } = request.headers;
  if (transfer === undefined && (length === undefined || Number(length) === 0)) throw noBody();
  checkMediaType(request);
  if (Number(length) > MAX_BODY) throw bodyTooLarge();
  // The server let no other expectation through (RFC 9110, section 10.1.1).
  if (request.headers.expect && request.httpVersion === '1.1') response.writeContinue();
  // What has come whole is there to be read; to be told of it by events costs a twentieth of a create.
  const bytes = request.complete ? allOf(request) : await readBytes(request);
  if (bytes.length === 0) throw noBody();
  if (!isUtf8(bytes))
    throw new ApiError('invalid_json', 'The body is not valid UTF-8, which JSON must be in (RFC 8259, section 8.1).');
  return bytes.toString();
}

function checkMediaType(request: IncomingMessage): void {
  const type = request.headers['content-type'] ?? '';
  if (fieldLines(request, 'content-type') > 1 || !isJsonInUtf8(type)) {
    const given = type === '' ? 'it is missing' : `not ${quoted(type)}`;
    throw new ApiError('unsupported_media_type', `Content-Type must be application/json, in UTF-8; ${given}.`, [
      'Accept',
      'application/json',
    ]);
  }
  const encoding = request.headers['content-encoding'] ?? 'identity';
  const transfer = request.headers['transfer-encoding'] ?? 'chunked';
  if (encoding.toLowerCase() !== 'identity' || transfer.toLowerCase() !== 'chunked') {
    throw new ApiError('unsupported_media_type', 'The body must not be compressed; send it without Content-Encoding.', [
      'Accept-Encoding',
      'identity',
    ]);
  }
}

function allOf(request: IncomingMessage): Buffer {
  const bytes = (request.read() as Buffer | null) ?? Buffer.alloc(0);
  if (bytes.length > MAX_BODY) throw bodyTooLarge();
  return bytes;
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      // What is too much is read all the same, and thrown away, until the connection is closed.
      if (size <= MAX_BODY) chunks.push(chunk);
      else reject(bodyTooLarge());
    });
    request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    // The client went away; nobody will read this.
    request.on('error', () => reject(new ApiError('bad_request', 'The body ended before its end.')));
  });
}

function bodyTooLarge(): ApiError {
  return new ApiError('body_too_large', `The body must have at most ${MAX_BODY} bytes.`);
}

function noBody(): ApiError {
  return new ApiError(
    'invalid_body',
    'The request has no body; it must be a JSON object with name, categoryId and, optionally, status.',
  );
}
