import { ApiError } from '../errors/api-error.js';
import { MAX_TARGET } from '../bounds.js';
import type { PetStoreRequest } from './request.js';

/** The value of a Host header: a host, which may be empty, and a port (RFC 3986, section 3.2.2). */
const HOST = /^(?:\[[0-9A-Fa-fv:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$/;

/** The target without the scheme and authority of one in absolute-form: the service has no virtual hosts. */
export function withoutOrigin(url: string): string {
  return url.replace(/^https?:\/\/[^/?#]+\/?/i, '/');
}

/** What Node's `clientError` event passes on. */
export type ParserError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer; readonly reason?: string };

/** Validates the head of a request that Node's parser accepted, and its target without the origin. */
export function headError(request: PetStoreRequest, target: string): ApiError | undefined {
  const { url, httpVersion, headers, rawHeaders } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0')
    return bad('The request must be of HTTP/1.1 or HTTP/1.0 (RFC 9112, section 2.3).');
  if (url.length > MAX_TARGET) return ApiError.of('uri_too_long');
  // Several are joined with a comma and a space, which no host has.
  const host = headers.host ?? (httpVersion === '1.0' ? '' : undefined);
  if (host === undefined || !HOST.test(host))
    return bad('A request must have one Host header with a host and, optionally, a port (RFC 9112, section 3.2).');
  const coding = headers['transfer-encoding'];
  // Not by `headersDistinct`, which throws if a header is named __proto__ (CVE-2026-21710, in Node before April 2026).
  const isCoding = (text: string, i: number) => i % 2 === 0 && text.toLowerCase() === 'transfer-encoding';
  const isRepeated = coding !== undefined && rawHeaders.filter(isCoding).length > 1;
  if (coding !== undefined && (httpVersion === '1.0' || isRepeated || !/(?:^|,)[ \t]*chunked$/i.test(coding))) {
    return bad('Transfer-Encoding must be given once and end in chunked, and needs HTTP/1.1 (RFC 9112, section 6).');
  }
  if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect)) return ApiError.of('expectation_failed');
  if (!target.startsWith('/') || target.includes('#')) {
    return bad('The request target must be a path and, optionally, a query (RFC 9112, section 3.2).');
  }
  return undefined;
}

/** The part of a target that Express can parse, for the middleware that reads its path. */
export function parsablePart(target: string): string {
  return /^\/[!"$-~]*/.exec(target)?.[0] ?? '/';
}

/** A valid target, as Express can route it. */
export function routable(target: string): string {
  try {
    if (target.includes('%')) decodeURIComponent(target.split('?', 1)[0] ?? '');
    return target;
  } catch {
    // Express could not decode the path, which has a malformed escape: that is no protocol error, but usually a 404.
    return encodeURI(target);
  }
}

/** What to respond to an error of Node's `clientError` event. */
export function parserError(error: ParserError): ApiError {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return ApiError.of('request_timeout');
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return ApiError.of(targetOf(error).length > MAX_TARGET ? 'uri_too_long' : 'headers_too_large');
  }
  return bad(`The request is not valid HTTP/1.1 (RFC 9112): ${error.reason ?? 'it could not be parsed'}.`);
}

/** The request target at the beginning of the packet that could not be parsed; empty if there is none. */
export function targetOf({ rawPacket }: ParserError): string {
  return /^[A-Z]+ (\S*)/.exec(rawPacket?.toString('latin1') ?? '')?.[1] ?? '';
}

function bad(message: string): ApiError {
  return new ApiError('bad_request', message);
}
