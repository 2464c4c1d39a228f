import { randomUUID } from 'node:crypto';
import { IncomingMessage, Server, ServerResponse } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { ERROR_STATUS, errorBody } from '../errors/error-code.js';
import { ApiKey } from '../../../domain/keys/api-key.js';

/** The most bytes of an unread body that are read and thrown away, so that the connection can go on. */
const MAX_DRAINED = 65_536;

const KEPT_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** A request, with what the service learns of it on the way. */
export class Request extends IncomingMessage {
  /** The key that the guard accepted. */
  apiKey?: ApiKey;

  /** The parameters of the route's path. */
  params?: Record<string, string>;

  /** Whether the client waits for `100 Continue` before it sends the body (RFC 9110, section 10.1.1). */
  expectsContinue = false;

  /** When it arrived, on the clock of `performance.now()`, where somebody keeps the time. */
  startedAt = 0;

  /** The route that matched, where Express's router, too, notes it: its path with the names of the parameters. */
  route?: { readonly path: string };

  private requestId?: string;

  /** The client's own `X-Request-Id` where it is 1 to 64 of `A-Za-z0-9._-`, else a new one. */
  get id(): string {
    if (this.requestId === undefined) {
      const given = this.headers['x-request-id'];
      this.requestId = typeof given === 'string' && KEPT_REQUEST_ID.test(given) ? given : randomUUID();
    }
    return this.requestId;
  }

  /** The request target before the question mark. */
  get targetPath(): string {
    const end = this.queryStart;
    return end < 0 ? this.target : this.target.slice(0, end);
  }

  /** The request target behind the question mark; empty where there is none. */
  get targetQuery(): string {
    const end = this.queryStart;
    return end < 0 ? '' : this.target.slice(end + 1);
  }

  /** Whether the server still takes connections. */
  get isServerOpen(): boolean {
    return (this.socket as { server?: Server }).server?.listening !== false;
  }

  /** Whether it has a body of more than 64 KiB, or of a length that is not known beforehand. */
  get hasLargeBody(): boolean {
    const { 'content-length': length, 'transfer-encoding': transfer } = this.headers;
    return transfer !== undefined || Number(length) > MAX_DRAINED;
  }

  /** How often a header stands in the request; `headers` hides all but one, or joins them. The name is in lower case. */
  fieldLines(name: string): number {
    let count = 0;
    for (let i = 0; i < this.rawHeaders.length; i += 2) {
      const given = this.rawHeaders[i] as string;
      if (given.length === name.length && given.toLowerCase() === name) count++;
    }
    return count;
  }

  private get queryStart(): number {
    return this.target.indexOf('?');
  }

  private get target(): string {
    return this.url ?? '/';
  }
}

/** A response; every one carries the request id and `nosniff`, whoever writes it. */
export class Response extends ServerResponse<Request> {
  /** Headers that go out with whatever is answered: names and values in turn. */
  readonly standing: string[] = [];

  /**
   * Sends the head. Headers given as an array are names and values in turn; the array is taken over. The connection is closed behind
   * the answer where a large body is still on its way, and where the server is being stopped, which waits for its connections to end.
   */
  override writeHead(status: number, ...rest: unknown[]): this {
    if (!this.req.isServerOpen || (!this.req.complete && this.req.hasLargeBody)) this.shouldKeepAlive = false;
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

  /** Sends an error. */
  sendError({ code, message, headers }: ApiError): void {
    this.sendJson(ERROR_STATUS[code], errorBody(code, message), headers);
  }

  /** Sends a JSON text. Headers are names and values in turn. */
  sendJson(status: number, body: string | Buffer, headers: readonly string[] = []): void {
    this.writeHead(status, [
      'Content-Type',
      'application/json',
      'Content-Length',
      String(Buffer.byteLength(body)),
      'Cache-Control',
      'no-store',
      ...headers,
    ]);
    this.end(body);
  }
}
