import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse } from 'content-type';
import { quoted } from '../../../messages/texts.js';
import { ApiError } from '../errors/api-error.js';
import { MAX_BODY } from '../bounds.js';

/**
 * Reads the JSON text of a request's body, empty if it has none. Rejects a body unless its headers declare
 * `application/json` in UTF-8, without Content-Encoding, and it has at most 64 KiB.
 */
export async function readJsonText(request: IncomingMessage, response: ServerResponse): Promise<string> {
  const { 'content-length': declared, 'transfer-encoding': transfer, expect } = request.headers;
  const length = Number(declared ?? (transfer === undefined ? 0 : MAX_BODY));
  if (length === 0) return '';
  checkMediaType(request);
  if (length > MAX_BODY) throw ApiError.of('body_too_large');
  // The server has rejected all other expectations (RFC 9110, section 10.1.1).
  if (expect && request.httpVersion === '1.1') response.writeContinue();
  const bytes = await readBytes(request, length);
  if (!isUtf8(bytes))
    throw new ApiError('invalid_json', 'The body is not valid UTF-8, which JSON must be in (RFC 8259, section 8.1).');
  return bytes.toString();
}

function checkMediaType({ headers }: IncomingMessage): void {
  const { 'content-type': contentType = '' } = headers;
  const { type, parameters } = parse(contentType);
  const isJsonInUtf8 = type === 'application/json' && /^utf-?8$/i.test(parameters.charset ?? 'utf-8');
  if (!isJsonInUtf8) {
    const given = contentType === '' ? 'it is missing' : `not ${quoted(contentType)}`;
    const message = `Content-Type must be application/json, in UTF-8; ${given}.`;
    throw new ApiError('unsupported_media_type', message, ['Accept', 'application/json']);
  }
  const { 'content-encoding': encoding = 'identity', 'transfer-encoding': transfer = 'chunked' } = headers;
  if (encoding.toLowerCase() !== 'identity' || transfer.toLowerCase() !== 'chunked') {
    const message = 'The body must have no Content-Encoding, and no Transfer-Encoding but chunked.';
    throw new ApiError('unsupported_media_type', message, ['Accept-Encoding', 'identity']);
  }
}

/** Each character of a chunk is a byte: see `bufferAsText`. */
function readBytes(request: IncomingMessage, most: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Not a list of chunks, which may have one byte each.
    const bytes = Buffer.allocUnsafe(most);
    const encoding = request.readableEncoding as BufferEncoding;
    let size = 0;
    request.on('data', (chunk: string) => {
      if (size + chunk.length > most) return reject(ApiError.of('body_too_large'));
      size += bytes.write(chunk, size, encoding);
    });
    request.on('end', () => resolve(bytes.subarray(0, size)));
    request.on('error', () => reject(new ApiError('bad_request', 'The body is incomplete.')));
  });
}
