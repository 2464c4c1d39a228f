import type { IncomingMessage } from 'node:http';
import type { Span } from '@opentelemetry/api';

/** A finished request. Of what the client has sent it has method, id and path, but no query and no body. */
export interface FinishedRequest {
  /** The `X-Request-Id` of the response. */
  readonly id: string;
  /** Undefined if the request could not be parsed. */
  readonly method: string | undefined;
  /** The template of the matched path, such as `/v1/pets/:petId`; undefined if no route matched. */
  readonly route: string | undefined;
  /** The path if no route matched: at most 256 visible ASCII characters, others percent-encoded, `"` and `\` too. */
  readonly path: string | undefined;
  /** The IP address of the client; empty if it is not known. */
  readonly address: string;
  /** The code of the error that was sent. */
  readonly code: string | undefined;
  /** The operation of the interface; `other` for any other request. */
  readonly operation: string;
  /** The status of the response; 0 if the client disconnected before it was sent. */
  readonly status: number;
  /** The time until the response was written to the socket, in milliseconds. */
  readonly duration: number;
  /** The name of the accepted API key. */
  readonly key: string | undefined;
  /** Whether the connection closed before the whole response was sent. */
  readonly aborted: boolean;
  /** Undefined if the request is not traced. */
  readonly span: Span | undefined;
}

/** Sees what the service does: the log, the metrics, the traces. */
export interface Observer {
  /** A request begins. Only one observer may have this method; it calls `handle` once, with the span if any. */
  begin?(request: IncomingMessage, handle: (span?: Span) => void): void;
  /** A request, parsed or not, has finished. */
  finish?(request: FinishedRequest): void;
  /** Runs a query, with its waits and retries. The summary is the operation and the table: `SELECT pet`. */
  query?<T>(summary: string, run: () => Promise<T>): Promise<T>;
  /** Runs a commit of so many creates. Its queries are part of it. */
  commit?<T>(pets: number, run: () => Promise<T>): Promise<T>;
  /** Rate limits are shared with other instances while `areShared` says so. */
  shareLimits?(areShared: () => boolean): void;
}

/** The token of the observers, a list. */
export const OBSERVERS = Symbol('OBSERVERS');

/** Runs a query inside all observers, the last one outermost. */
export function observeQuery<T>(observers: readonly Observer[], summary: string, run: () => Promise<T>): Promise<T> {
  return observers.reduce((inner, each) => () => each.query?.(summary, inner) ?? inner(), run)();
}

/** Runs a commit inside all observers, the last one outermost. */
export function observeCommit<T>(observers: readonly Observer[], pets: number, run: () => Promise<T>): Promise<T> {
  return observers.reduce((inner, each) => () => each.commit?.(pets, inner) ?? inner(), run)();
}
