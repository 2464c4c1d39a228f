import { ApiError } from '../errors/api-error.js';
import type { Request } from './request.js';

/** The longest request target, in bytes; RFC 9110, section 4.1, asks for 8,000 at least. */
const MAX_TARGET = 12_288;

/** The value of a Host header: a host, which may be empty, and a port (RFC 3986, section 3.2.2). */
const HOST = /^(?:\[[0-9A-Fa-fv:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$/;

/** What Node's `clientError` event passes on. */
export type ParserError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer; readonly reason?: string };

/** The request line in the first bytes of a packet; it may be incomplete. */
const REQUEST_LINE = /^[A-Z]+ ([^ \r\n]*)([ \r\n]?)/;

/** The scheme and authority of a target in absolute-form; the authority is ignored (RFC 9112, section 3.2.2). */
const ABSOLUTE = /^https?:\/\/[^/?#]+/i;

/** Validates the head of a request that Node's parser accepted; if it is valid, `url` is in origin-form afterwards. */
export function headError(request: Request): ApiError | undefined {
  const { url, httpVersion, headers, headersDistinct } = request;
  if (url.length > MAX_TARGET) return uriTooLong();
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return bad('The request must be of HTTP/1.1 or HTTP/1.0 (RFC 9112, section 2.3).');
  }
  const hosts = headersDistinct.host ?? [];
  if (hosts.length > 1 || (hosts.length === 0 && httpVersion === '1.1') || !HOST.test(headers.host ?? '')) {
    const found = hosts.length === 0 ? 'none' : hosts.length > 1 ? 'more than one' : 'one that is no host';
    const rule = 'A request must have one Host header with a host and, optionally, a port (RFC 9112, section 3.2)';
    return bad(`${rule}; this one has ${found}.`);
  }
  const codings = headersDistinct['transfer-encoding'];
  if (codings) {
    if (httpVersion === '1.0') return bad('HTTP/1.0 has no Transfer-Encoding (RFC 9112, section 6.1).');
    if (codings.length > 1 || !/(?:^|,)[ \t]*chunked$/i.test(codings[0] ?? '')) {
      return bad('Transfer-Encoding must be given once and end in chunked (RFC 9112, section 6.3).');
    }
  }
  const { expect } = headers;
  // HTTP/1.0 has no expectations (RFC 9110, section 10.1.1).
  if (expect !== undefined && httpVersion === '1.1' && !/^(?:100-continue)?$/i.test(expect)) {
    return ApiError.of('expectation_failed');
  }
  const path = url.startsWith('/') ? url : url.replace(ABSOLUTE, '');
  if ((path === url && !url.startsWith('/')) || path.includes('#')) {
    return bad('The request target must be a path and, optionally, a query (RFC 9112, section 3.2).');
  }
  request.url = withDecodablePath(path.startsWith('/') ? path : `/${path}`);
  return undefined;
}

/**
 * The target, encoded once more if its path has a malformed escape, which Express could not decode: that is no protocol
 * error, but usually a 404.
 */
function withDecodablePath(target: string): string {
  try {
    decodeURIComponent(target.split('?', 1)[0] as string);
    return target;
  } catch {
    return encodeURI(target);
  }
}

/** The error for bytes that Node's HTTP parser rejected. */
export function parserError(error: ParserError): ApiError {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return ApiError.of('request_timeout');
    case 'HPE_HEADER_OVERFLOW':
      // Within the longest target that is valid, nothing ends it.
      return requestLine(error)?.[2] === '' ? uriTooLong() : ApiError.of('headers_too_large');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError('body_too_large', 'The chunk extensions of the body are too large.');
    default:
      return bad(`The request is not valid HTTP/1.1 (RFC 9112): ${error.reason ?? 'it could not be parsed'}.`);
  }
}

/** The request target at the beginning of the packet that could not be parsed; empty if there is none. */
export function targetOf(error: ParserError): string {
  return requestLine(error)?.[1] ?? '';
}

function requestLine({ rawPacket }: ParserError): RegExpExecArray | null {
  return REQUEST_LINE.exec(rawPacket?.toString('latin1', 0, MAX_TARGET) ?? '');
}

function uriTooLong(): ApiError {
  return new ApiError('uri_too_long', `The request target must have at most ${MAX_TARGET} bytes.`);
}

function bad(message: string): ApiError {
  return new ApiError('bad_request', message);
}
