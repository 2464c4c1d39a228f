import { ApiError } from '../../errors/api-error.js';
import { fieldLines } from '../../header-list.js';
import { Request } from '../request.js';
import { originForm } from './request-target.js';

/** The longest request target that is read, in bytes; RFC 9110, section 4.1, asks for 8,000 at least. */
export const MAX_TARGET = 12_288;

/** `uri-host [ ":" port ]`, as RFC 3986, section 3.2.2, has them; it may be empty. */
const HOST = /^(?:\[[0-9A-Fa-fv:.]+\]|(?:[\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?$/;

/** What is wrong with the head of a request that Node let through; if nothing is, its `url` is in origin-form from here on. */
export function headFault(request: Request, isHttp: boolean): ApiError | undefined {
  const { method = '', url = '', httpVersion, headers } = request;
  if (url.length > MAX_TARGET) return uriTooLong();
  if ((httpVersion !== '1.1' && httpVersion !== '1.0') || !isHttp) {
    return bad('The request must be of HTTP/1.1 or HTTP/1.0 (RFC 9112, section 2.3).');
  }
  const hosts = fieldLines(request, 'host');
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1') || !HOST.test(headers.host ?? '')) {
    const found = hosts === 0 ? 'none' : hosts > 1 ? 'more than one' : 'one that is no host';
    return bad(
      `A request must have one Host header with a host and, optionally, a port (RFC 9112, section 3.2); this one has ${found}.`,
    );
  }
  const codings = headers['transfer-encoding'];
  if (codings !== undefined) {
    if (httpVersion === '1.0') return bad('HTTP/1.0 has no Transfer-Encoding (RFC 9112, section 6.1).');
    if (fieldLines(request, 'transfer-encoding') > 1 || !/(?:^|,)[ \t]*chunked$/i.test(codings)) {
      return bad('Transfer-Encoding must be given once and end in chunked (RFC 9112, section 6.3).');
    }
  }
  if (expectsMore(request)) return ApiError.of('expectation_failed');
  const target = originForm(method, url);
  if (target === undefined) {
    return bad('The request target must be a path and, optionally, a query (RFC 9112, section 3.2).');
  }
  request.url = target;
  return undefined;
}

/** The answer to a request target that is too long. */
export function uriTooLong(): ApiError {
  return new ApiError('uri_too_long', `The request target must have at most ${MAX_TARGET} bytes.`);
}

/** Whether the client expects anything but `100-continue` (RFC 9110, section 10.1.1); HTTP/1.0 has no expectations. */
function expectsMore({ headers: { expect }, httpVersion }: Request): boolean {
  return expect !== undefined && httpVersion === '1.1' && !/^(?:100-continue)?$/i.test(expect);
}

function bad(message: string): ApiError {
  return new ApiError('bad_request', message);
}
