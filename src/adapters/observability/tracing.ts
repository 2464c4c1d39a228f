import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import {
  context,
  diag,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  trace,
} from '@opentelemetry/api';
import { core, NodeSDK, resources } from '@opentelemetry/sdk-node';
import * as semconv from '@opentelemetry/semantic-conventions';
import { LRUCache } from 'lru-cache';
import { type Finding, warn } from '../../messages/finding.js';
import { maskKeys } from '../../domain/keys/api-key.js';
import type { FinishedRequest } from './finished-request.js';
import { pathText } from './path-text.js';
import packageJson from '../../../package.json' with { type: 'json' };

/** How long a shutdown waits for the collector to accept the last spans, in milliseconds. */
const FLUSH_TIMEOUT = 500;

const SERVICE = { [semconv.ATTR_SERVICE_NAME]: 'petstore', [semconv.ATTR_SERVICE_VERSION]: packageJson.version };

const logger = new Logger('tracing');

/** Each for a minute: a collector that is down fails every batch of spans. */
const warnings = new LRUCache<string, true>({ max: 100, ttl: 60_000 });

const ignore = () => undefined;

/** Spans repeat `tracestate`. */
const HEADERS: TextMapGetter<IncomingHttpHeaders> = {
  get: (headers, name) => maskKeys(String(headers[name] ?? '')) || undefined,
  keys: Object.keys,
};

/** Starts the SDK of OpenTelemetry, which reads the variables of its specification. `warn` gets what is wrong. */
function startSdk(warn: (text: string) => void): NodeSDK {
  const sdk = new NodeSDK({
    resource: resources.defaultResource().merge(resources.resourceFromAttributes(SERVICE)),
    resourceDetectors: [resources.envDetector, resources.serviceInstanceIdDetector],
    // The service serves metrics and writes its log itself.
    metricReaders: [],
    logRecordProcessors: [],
  });
  const report = (trouble: unknown) => {
    const text = trouble instanceof Error ? trouble.message : String(trouble);
    // Two of its warnings do not name their variables.
    const named = text.replace(/^(?=Propagator )/, 'OTEL_PROPAGATORS: ');
    warn(named.replace(/^(?=Unsupported .* protocol)/, 'OTEL_EXPORTER_OTLP_PROTOCOL or …_TRACES_PROTOCOL: '));
  };
  const diagLogger = { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore };
  // Instead of the one that the constructor has set if OTEL_LOG_LEVEL is set.
  diag.setLogger(diagLogger, { suppressOverrideMessage: true });
  core.setGlobalErrorHandler(report);
  sdk.start();
  return sdk;
}

/** What the SDK says about the values of its variables, for `petstore check`. */
export async function tracingFindings(): Promise<Finding[]> {
  const texts: string[] = [];
  await startSdk((text) => texts.push(text)).shutdown();
  return texts.map((text) => warn('OpenTelemetry', text, 'See "Traces" in docs/observability.md.'));
}

/** Traces requests and queries. */
export class Tracer {
  private readonly sdk = startSdk(logWarning);
  private readonly tracer = trace.getTracer('petstore', packageJson.version);
  private readonly system: string;

  /** `engine` is the scheme of the database URL. */
  constructor(engine: string) {
    this.system = engine === 'postgres' ? semconv.DB_SYSTEM_NAME_VALUE_POSTGRESQL : engine;
  }

  /** Handles a request in a span, a child of the client's. Health checks are not traced. */
  begin({ method = 'HTTP', url = '', headers }: IncomingMessage, handle: (span?: Span) => void): void {
    if (url.startsWith('/health/')) return context.with(ROOT_CONTEXT, handle);
    const attributes = {
      [semconv.ATTR_HTTP_REQUEST_METHOD]: method,
      [semconv.ATTR_URL_SCHEME]: 'http',
      [semconv.ATTR_URL_PATH]: pathText(url),
    };
    const parent = propagation.extract(ROOT_CONTEXT, headers, HEADERS);
    // Of one that is not sampled the log names no trace, which nobody could find.
    const inSpan = (span: Span) => handle(span.isRecording() ? span : undefined);
    this.tracer.startActiveSpan(method, { kind: SpanKind.SERVER, attributes }, parent, inSpan);
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

  /**
   * Traces a query, in a child of the active span; without a span if none is active, or its request has finished. The
   * summary is the operation and the table, such as `SELECT pet`.
   */
  query<T>(summary: string, run: () => Promise<T>): Promise<T> {
    if (!trace.getActiveSpan()?.isRecording()) return run();
    const attributes = { [semconv.ATTR_DB_SYSTEM_NAME]: this.system, [semconv.ATTR_DB_QUERY_SUMMARY]: summary };
    return this.tracer.startActiveSpan(summary, { kind: SpanKind.CLIENT, attributes }, async (span) => {
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

  /** Sends the last spans, and resolves in any case. */
  async close(): Promise<void> {
    const late = `The collector did not accept the last spans within ${FLUSH_TIMEOUT} ms.`;
    const flushed = Promise.race([this.sdk.shutdown(), delay(FLUSH_TIMEOUT, late, { ref: false })]);
    const problem = await flushed.catch(({ message }: Error) => message);
    if (problem !== undefined) logWarning(problem);
    trace.disable();
  }
}

function fail(span: Span, type: string): void {
  span.setAttribute(semconv.ATTR_ERROR_TYPE, type).setStatus({ code: SpanStatusCode.ERROR });
}

function logWarning(text: string): void {
  if (warnings.has(text)) return;
  warnings.set(text, true);
  logger.warn(`OpenTelemetry: ${text}`);
}
