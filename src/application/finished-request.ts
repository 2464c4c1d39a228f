/** The ids of a trace and of the service's span in it, in hexadecimal (W3C Trace Context). */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
}

/** A finished request: nothing in it was chosen freely by the client, such as a query or a body. */
export interface FinishedRequest {
  /** The `X-Request-Id` of the response. */
  readonly id: string;
  /** Undefined if the request could not be parsed. */
  readonly method: string | undefined;
  /** The template of the matched path, such as `/v1/pets/:petId`; undefined if no route matched. */
  readonly route: string | undefined;
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
  readonly trace: TraceContext | undefined;
}
