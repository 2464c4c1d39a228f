/** Where a request stands in a trace (W3C Trace Context). */
export interface TraceContext {
  /** The id of the trace: 32 hexadecimal digits. */
  readonly traceId: string;
  /** The id of the service's own span, 16 hexadecimal digits; undefined if it makes none. */
  readonly spanId: string | undefined;
}

/** What a client says of its trace. */
export interface TraceParent {
  readonly traceId: string;
  /** The id of the client's span. */
  readonly parentId: string;
  /** The flags: the lowest bit says that the client keeps the trace. */
  readonly flags: number;
}

const TRACE_PARENT = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Reads a `traceparent`; undefined if there is none or it is malformed: then it is as good as absent (W3C Trace Context, section 3.2). */
export function traceParent(header: string | string[] | undefined): TraceParent | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, parentId, flags, rest] = TRACE_PARENT.exec(header) ?? [];
  // Only later versions may have more.
  if (traceId === undefined || parentId === undefined || (version === '00' && rest !== undefined)) return undefined;
  return { traceId, parentId, flags: Number.parseInt(flags ?? '', 16) };
}
