import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import {
  type Attributes,
  context,
  diag,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import * as semconv from '@opentelemetry/semantic-conventions';
import type { FinishedRequest, Observer } from '../observer.js';
import packageJson from '../../../package.json' with { type: 'json' };

/** How long a shutdown waits for the collector to accept the last spans, in milliseconds. */
const FLUSH_TIMEOUT = 500;

/** The minimum time between two warnings, in milliseconds: a collector that is down fails every batch of spans. */
const WARNING_INTERVAL = 60_000;

const SERVICE = { [semconv.ATTR_SERVICE_NAME]: 'petstore', [semconv.ATTR_SERVICE_VERSION]: packageJson.version };

const logger = new Logger('tracing');
let warnedAt = -Infinity;

const ignore = () => undefined;
diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore });
setGlobalErrorHandler(warn);

/** Traces requests, commits and queries with the OpenTelemetry SDK, which reads its `OTEL_*` variables itself. */
export class Tracing implements Observer, OnApplicationShutdown {
  private readonly provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes(SERVICE))
      .merge(detectResources({ detectors: [envDetector, serviceInstanceIdDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  private readonly tracer = this.provider.getTracer('petstore', packageJson.version);
  private readonly system: string;

  /** `engine` is the scheme of the database URL. */
  constructor(engine: string) {
    this.system = engine === 'postgres' ? semconv.DB_SYSTEM_NAME_VALUE_POSTGRESQL : engine;
    this.provider.register();
  }

  /** Handles a request in a span, a child of the client's. Health checks are not traced. */
  begin({ method = 'HTTP', url = '', headers }: IncomingMessage, handle: (span?: Span) => void): void {
    const [path = ''] = url.split('?', 1);
    if (path.startsWith('/health/')) return context.with(ROOT_CONTEXT, handle);
    const attributes = {
      [semconv.ATTR_HTTP_REQUEST_METHOD]: method,
      [semconv.ATTR_URL_SCHEME]: 'http',
      [semconv.ATTR_URL_PATH]: path,
    };
    const parent = propagation.extract(ROOT_CONTEXT, headers);
    const span = this.tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
    // Of one that is not sampled the log names no trace, which nobody could find.
    context.with(trace.setSpan(parent, span), () => handle(span.isRecording() ? span : undefined));
  }

  /** Ends the span of a request. */
  finish({ span, method, route, status, aborted }: FinishedRequest): void {
    if (!span) return;
    if (route !== undefined) span.updateName(`${method} ${route}`).setAttribute(semconv.ATTR_HTTP_ROUTE, route);
    if (status > 0) span.setAttribute(semconv.ATTR_HTTP_RESPONSE_STATUS_CODE, status);
    if (status >= 500) fail(span, String(status));
    else if (aborted) fail(span, 'aborted');
    span.end();
  }

  /** Traces a query; the summary is the operation and the table, such as `SELECT pet`. */
  query<T>(summary: string, run: () => Promise<T>): Promise<T> {
    const attributes = { [semconv.ATTR_DB_SYSTEM_NAME]: this.system, [semconv.ATTR_DB_QUERY_SUMMARY]: summary };
    return this.inSpan(summary, SpanKind.CLIENT, attributes, run);
  }

  /** Traces a commit of this number of pets. */
  commit<T>(pets: number, run: () => Promise<T>): Promise<T> {
    return this.inSpan('commit', SpanKind.INTERNAL, { 'petstore.commit.pets': pets }, run);
  }

  async onApplicationShutdown(): Promise<void> {
    const late = delay(FLUSH_TIMEOUT, undefined, { ref: false }).then(() => {
      throw new Error(`The collector did not accept the last spans within ${FLUSH_TIMEOUT} ms.`);
    });
    await Promise.race([this.provider.shutdown(), late]).catch(warn);
  }

  /** Runs in a child of the active span; without a span if none is active, or its request has finished. */
  private inSpan<T>(name: string, kind: SpanKind, attributes: Attributes, run: () => Promise<T>): Promise<T> {
    if (!trace.getActiveSpan()?.isRecording()) return run();
    return this.tracer.startActiveSpan(name, { kind, attributes }, async (span) => {
      try {
        return await run();
      } catch (error) {
        // The class, not the message, which may contain values.
        fail(span, (error as Error).constructor.name);
        throw error;
      } finally {
        span.end();
      }
    });
  }
}

function fail(span: Span, type: string): void {
  span.setAttribute(semconv.ATTR_ERROR_TYPE, type).setStatus({ code: SpanStatusCode.ERROR });
}

/** Logs a warning or an error of the SDK. */
function warn(trouble: unknown): void {
  if (performance.now() < warnedAt + WARNING_INTERVAL) return;
  warnedAt = performance.now();
  logger.warn(`OpenTelemetry: ${trouble instanceof Error ? trouble.message : String(trouble)}`);
}
