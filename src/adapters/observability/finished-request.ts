import type { Span } from '@opentelemetry/api';

/** A finished request. Of what the client has sent it has method, id and path, but no query and no body. */
export interface FinishedRequest {
  /** The `X-Request-Id` of the response. */
  readonly id: string;
  /** Undefined if the request could not be parsed. */
  readonly method: string | undefined;
  /** The template of the matched path, such as `/v1/pets/:petId`; undefined if no route matched. */
  readonly route: string | undefined;
  /** The path if no route matched, by `pathText`. */
  readonly path: string | undefined;
  /** The client: an IPv4 address, or the first 64 bits of an IPv6 address with `/64`; empty if it is not known. */
  readonly address: string;
  /** The code of the error that was sent. */
  readonly code: string | undefined;
  /** The operation of the interface; `other` for any other request. */
  readonly operation: string;
  /** Whether the operation is deprecated. */
  readonly deprecated: boolean;
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
