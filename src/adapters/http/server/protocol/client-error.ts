import { ApiError } from '../../errors/api-error.js';
import { MAX_TARGET, uriTooLong } from './request-head.js';

/** What Node's `clientError` event tells. */
export type ClientError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer; readonly reason?: string };

/** The answer to bytes of which Node could make no request. */
export function answerTo({ code, rawPacket, reason }: ClientError): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return endsWithinTarget(rawPacket) ? uriTooLong() : ApiError.of('headers_too_large');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError('body_too_large', 'The chunk extensions of the body are too large.');
    default:
      return new ApiError(
        'bad_request',
        `The request is not valid HTTP/1.1 (RFC 9112): ${reason ?? 'it cannot be read'}.`,
      );
  }
}

/** Whether a packet begins a request and ends within its target. */
function endsWithinTarget(packet: Buffer | undefined): boolean {
  return packet !== undefined && /^[A-Z]+ [^ \r\n]*$/.test(packet.toString('latin1', 0, MAX_TARGET));
}
