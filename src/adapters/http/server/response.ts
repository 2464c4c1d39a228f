import { ServerResponse } from 'node:http';
import type { Request } from './request.js';

/** The most bytes of an unread body that are read and thrown away, so that the connection can go on. */
const MAX_DRAINED = 65_536;

/** A response; every one carries the request id and `nosniff`, whoever writes it. */
export class Response extends ServerResponse<Request> {
  /** Headers that go out with whatever is answered: names and values in turn. */
  readonly standing: string[] = [];

  /** Whether it is the last on its connection, because the server is being stopped. */
  isLast(): boolean {
    return false;
  }

  /**
   * Sends the head. Headers given as an array are names and values in turn; the array is taken over. The connection is closed behind
   * the answer if a large body is still on its way, if it is the last one of a server that is being stopped, or if the trailers may ask
   * for it, behind which Node's parser reads no other request.
   */
  override writeHead(status: number, ...rest: unknown[]): this {
    if (this.isLast() || (!this.req.complete && hasLargeBody(this.req)) || hasCloseInTrailers(this.req)) {
      this.shouldKeepAlive = false;
    }
    const headers = rest.at(-1);
    if (Array.isArray(headers)) {
      headers.push('X-Request-Id', this.req.id, 'X-Content-Type-Options', 'nosniff', ...this.standing);
      return super.writeHead(status, headers as string[]);
    }
    // The progressive interface of Express and its middleware.
    this.setHeader('X-Request-Id', this.req.id).setHeader('X-Content-Type-Options', 'nosniff');
    for (let i = 0; i < this.standing.length; i += 2)
      this.appendHeader(this.standing[i] as string, this.standing[i + 1] as string);
    return (super.writeHead as (status: number, ...rest: unknown[]) => this).call(this, status, ...rest);
  }
}

/** Whether the request has a body of more than 64 KiB, or of a length that is not known beforehand. */
function hasLargeBody({ headers }: Request): boolean {
  const { 'content-length': length, 'transfer-encoding': transfer } = headers;
  return transfer !== undefined || Number(length) > MAX_DRAINED;
}

/** Whether a trailer is, or may be, `Connection: close`, which has no place there (RFC 9110, section 6.5.1). */
function hasCloseInTrailers({ rawTrailers }: Request): boolean {
  return rawTrailers.some((text) => /\bclose\b/i.test(text));
}
