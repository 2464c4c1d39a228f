import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse } from 'content-type';
import { ApiError } from '../errors/api-error.js';
import { quoted } from '../errors/wording.js';

/** The most bytes that a request body may have. */
const MAX_BODY = 65_536;

/**
 * Reads the JSON text of a request's body, if its headers declare `application/json` in UTF-8, without
 * Content-Encoding, of at most 64 KiB. Rejects with `unsupported_media_type`, `body_too_large`, `invalid_body`,
 * `invalid_json` or, if the body is cut off, `bad_request`.
 */
export async function readJsonText(request: IncomingMessage, response: ServerResponse): Promise<string> {
  const { 'content-length': length, 'transfer-encoding': transfer } = request.headers;
  if (transfer === undefined && (length === undefined || Number(length) === 0)) throw noBody();
  checkMediaType(request);
  if (Number(length) > MAX_BODY) throw bodyTooLarge();
  // The server has rejected all other expectations (RFC 9110, section 10.1.1).
  if (request.headers.expect && request.httpVersion === '1.1') response.writeContinue();
  const bytes = await readBytes(request);
  if (bytes.length === 0) throw noBody();
  if (!isUtf8(bytes))
    throw new ApiError('invalid_json', 'The body is not valid UTF-8, which JSON must be in (RFC 8259, section 8.1).');
  return bytes.toString();
}

function checkMediaType(request: IncomingMessage): void {
  const [type = '', second] = request.headersDistinct['content-type'] ?? [];
  if (second !== undefined || !isJsonInUtf8(type)) {
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

/** Whether a Content-Type is `application/json`, in UTF-8 if it has a charset. */
function isJsonInUtf8(contentType: string): boolean {
  const { type, parameters } = parse(contentType);
  return type === 'application/json' && /^utf-8$/i.test(parameters.charset ?? 'utf-8');
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // One buffer that grows: each chunk has an overhead of 380 bytes, and a client can send chunks of one byte.
    let bytes = Buffer.allocUnsafe(1_024);
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      const end = size + chunk.length;
      if (end > MAX_BODY) return reject(bodyTooLarge());
      if (end > bytes.length) bytes = Buffer.concat([bytes], Math.max(end, 2 * bytes.length));
      chunk.copy(bytes, size);
      size = end;
    });
    request.on('end', () => resolve(bytes.subarray(0, size)));
    request.on('error', () => reject(new ApiError('bad_request', 'The body is incomplete.')));
  });
}

function bodyTooLarge(): ApiError {
  return new ApiError('body_too_large', `The body must have at most ${MAX_BODY} bytes.`);
}

function noBody(): ApiError {
  return new ApiError('invalid_body', 'The request has no body; it must be a JSON object.');
}
