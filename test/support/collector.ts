import { once } from 'node:events';
import { createServer, Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span that a collector has received. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: 'INTERNAL' | 'SERVER' | 'CLIENT';
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly traceState: string | undefined;
  /** The attributes of the service. */
  readonly resource: Readonly<Record<string, unknown>>;
  /** In milliseconds since 1970. */
  readonly start: number;
  readonly end: number;
}

/** Attributes and spans in the JSON of OTLP (OpenTelemetry protocol, 1.x). */
type Attributes = readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Attributes };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly name: string;
        readonly kind: number;
        readonly attributes: Attributes;
        readonly status: { readonly code: number };
        readonly traceState?: string;
        readonly startTimeUnixNano: string;
        readonly endTimeUnixNano: string;
      }[];
    }[];
  }[];
}

const KINDS = [undefined, 'INTERNAL', 'SERVER', 'CLIENT'] as const;

/**
 * A small OpenTelemetry collector: receives spans by OTLP over HTTP at `/v1/traces`, those in JSON one by one, and by the
 * protocol of Zipkin at `/zipkin`.
 */
export class Collector {
  /** The spans that it has received, as text too. */
  readonly spans: CollectedSpan[] = [];
  text = '';

  /** The media types of what it has received. */
  readonly types = new Set<string | undefined>();

  /** The spans that it has received by the protocol of Zipkin. */
  zipkin: unknown[] = [];

  /** How it responds to a batch. */
  behaviour: 'accepts' | 'rejects' | 'hangs' = 'accepts';

  private constructor(private readonly server: Server) {}

  static async open(): Promise<Collector> {
    const server = createServer();
    const collector = new Collector(server);
    server.on('request', (request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        if (collector.behaviour === 'hangs') return;
        const isZipkin = request.url === '/zipkin';
        if (collector.behaviour === 'rejects' || (request.url !== '/v1/traces' && !isZipkin))
          return void response.writeHead(403).end();
        const type = request.headers['content-type'];
        collector.types.add(type);
        if (isZipkin) collector.zipkin.push(...(JSON.parse(body) as unknown[]));
        else if (type === 'application/json') collector.receive(body);
        else collector.text += body;
        response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return collector;
  }

  /** The value for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private receive(body: string): void {
    this.text += body;
    for (const { resource, scopeSpans } of (JSON.parse(body) as Sent).resourceSpans) {
      for (const { kind, attributes, status, startTimeUnixNano, endTimeUnixNano, ...span } of scopeSpans.flatMap(
        ({ spans }) => spans,
      )) {
        this.spans.push({
          traceId: span.traceId,
          spanId: span.spanId,
          parentSpanId: span.parentSpanId || undefined,
          name: span.name,
          kind: KINDS[kind] ?? 'INTERNAL',
          attributes: valuesOf(attributes),
          isError: status.code === 2,
          traceState: span.traceState,
          resource: valuesOf(resource.attributes),
          start: Number(startTimeUnixNano) / 1e6,
          end: Number(endTimeUnixNano) / 1e6,
        });
      }
    }
  }
}

function valuesOf(attributes: Attributes): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
