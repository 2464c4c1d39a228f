import { randomUUID } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import type { ApiKey } from '../../../domain/keys/api-key.js';
import type { TraceContext } from './trace-context.js';

/** How much of a body is gathered before it is passed on, in bytes. */
const GATHERED = 65_536;

const KEPT_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** A request, with what the service learns of it on the way. */
export class Request extends IncomingMessage {
  /** The key that the guard accepted. */
  apiKey?: ApiKey;

  /** The operation of the interface that it asks for, if it is one. */
  operation?: string;

  /** The parameters of the route's path. */
  params?: Record<string, string>;

  /** When it arrived, on the clock of `performance.now()`. */
  startedAt = 0;

  /** How long it has waited for the store, in milliseconds. */
  waited = 0;

  /** The route that matched, once the router has noted it: its path with the names of the parameters. */
  route?: { readonly path: string };

  /** Where it stands in a trace, if the service traces it. */
  trace?: TraceContext;

  private requestId?: string;

  /** What of the body is gathered: the first `gatheredSize` bytes. */
  private gathered?: Buffer;
  private gatheredSize = 0;

  /** The client's own `X-Request-Id` if it is 1 to 64 of `A-Za-z0-9._-`, else a new one. */
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

  /** The request target behind the question mark; empty if it has none. */
  get targetQuery(): string {
    const end = this.queryStart;
    return end < 0 ? '' : this.target.slice(end + 1);
  }

  /**
   * Takes a part of the body from Node's parser, and null behind the last one. Parts are put together: a client chooses how many there are, and each
   * for itself takes 380 bytes besides its own.
   */
  override push(part: Buffer | null): boolean {
    if (part !== null && this.gathered === undefined && part.length < GATHERED) {
      this.gathered = part;
      this.gatheredSize = part.length;
      return true;
    }
    if (part !== null && this.gatheredSize + part.length < GATHERED) {
      this.gather(part);
      return true;
    }
    if (this.gathered !== undefined) {
      const whole = this.gathered.subarray(0, this.gatheredSize);
      this.gathered = undefined;
      this.gatheredSize = 0;
      super.push(whole);
    }
    return super.push(part);
  }

  private gather(part: Buffer): void {
    const size = this.gatheredSize + part.length;
    const before = this.gathered as Buffer;
    if (size > before.length) {
      this.gathered = Buffer.allocUnsafeSlow(Math.max(1_024, 2 * size));
      before.copy(this.gathered, 0, 0, this.gatheredSize);
    }
    (this.gathered as Buffer).set(part, this.gatheredSize);
    this.gatheredSize = size;
  }

  private get queryStart(): number {
    return this.target.indexOf('?');
  }

  private get target(): string {
    return this.url ?? '/';
  }
}
