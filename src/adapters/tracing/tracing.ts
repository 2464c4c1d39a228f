import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import {
  type Attributes,
  createTraceState,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import {
  ATTR_DB_COLLECTION_NAME,
  ATTR_DB_OPERATION_NAME,
  ATTR_DB_QUERY_SUMMARY,
  ATTR_DB_SYSTEM_NAME,
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_HTTP_ROUTE,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVICE_NAME,
  ATTR_SERVICE_VERSION,
  ATTR_URL_PATH,
  ATTR_URL_SCHEME,
  DB_SYSTEM_NAME_VALUE_POSTGRESQL,
} from '@opentelemetry/semantic-conventions';
import { within } from '../../application/within.js';
import type { Exchange } from '../http/server/exchange.js';
import type { Request } from '../http/server/request.js';
import { type TraceContext, traceParent } from '../http/server/trace-context.js';
import { ReportingExporter } from './reporting-exporter.js';
import type { TracingSettings } from './tracing-settings.js';

/** The methods that traces tell by name (OpenTelemetry, semantic conventions for HTTP spans); all others are one. */
const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE']);

/** The most characters of a path that a span keeps. */
const MOST_OF_PATH = 256;

/** How the database systems are called in traces, if not as in `DATABASE_URL`. */
const SYSTEMS: Readonly<Record<string, string>> = { postgres: DB_SYSTEM_NAME_VALUE_POSTGRESQL };

const logger = new Logger('tracing');

/** The span of a request. */
class RequestSpan implements TraceContext {
  readonly traceId: string;
  readonly spanId: string;

  constructor(readonly span: Span) {
    ({ traceId: this.traceId, spanId: this.spanId } = span.spanContext());
  }
}

/** What is asked for requests, whose spans are their callers. */
interface Asker {
  readonly callers?: readonly object[] | undefined;
}

/**
 * Makes spans of requests, of the commits that they share and of what the database is asked for them, and hands them to a collector, by
 * OTLP over HTTP. A collector that does not take them costs spans, and neither time nor memory. Health checks are not traced, nor is what
 * no request waits for.
 */
export class Tracing implements OnApplicationShutdown {
  /** The span that whatever runs now belongs to. */
  private readonly current = new AsyncLocalStorage<Span | undefined>();
  private readonly provider: TracerProvider;
  private readonly tracer;
  private readonly system: string;

  /** `version` is that of the service, `engine` the scheme of its database. */
  constructor(
    private readonly settings: TracingSettings,
    version: string,
    engine: string,
  ) {
    tellTroubles();
    this.system = SYSTEMS[engine] ?? engine;
    const exporter = new OTLPTraceExporter({ url: `${settings.endpoint}/v1/traces` });
    this.provider = new TracerProvider({
      resource: defaultResource()
        .merge(resourceFromAttributes({ [ATTR_SERVICE_NAME]: settings.serviceName, [ATTR_SERVICE_VERSION]: version }))
        .merge(detectResources({ detectors: [envDetector, serviceInstanceIdDetector] })),
      sampler: samplerOf(settings),
      spanProcessors: [
        new BatchSpanProcessor({ exporter: new ReportingExporter(exporter, (message) => logger.warn(message)) }),
      ],
    });
    this.tracer = this.provider.getTracer('petstore', version);
  }

  /** Begins the span of a request, below that of the client if it has told of one, and has it looked at. */
  begin(request: Request, look: () => void): void {
    const path = request.targetPath;
    if (path.startsWith('/health/')) return this.current.run(undefined, look);
    const span = this.tracer.startSpan(
      nameOf(request.method),
      {
        kind: SpanKind.SERVER,
        startTime: Date.now() - (performance.now() - request.startedAt),
        attributes: {
          [ATTR_HTTP_REQUEST_METHOD]: isNamed(request.method) ? request.method : '_OTHER',
          [ATTR_URL_SCHEME]: 'http',
          [ATTR_URL_PATH]: path.slice(0, MOST_OF_PATH),
          [ATTR_SERVER_ADDRESS]: request.headers.host?.replace(/:\d*$/, ''),
        },
      },
      parentOf(request),
    );
    request.trace = new RequestSpan(span);
    this.current.run(span, look);
  }

  /** Ends the span of a request. */
  request({ trace: context, method, route, status, aborted }: Exchange): void {
    if (!(context instanceof RequestSpan)) return;
    const { span } = context;
    if (route !== undefined) span.updateName(`${nameOf(method)} ${route}`).setAttribute(ATTR_HTTP_ROUTE, route);
    if (status > 0) span.setAttribute(ATTR_HTTP_RESPONSE_STATUS_CODE, status);
    if (status >= 500 || aborted) {
      span.setAttribute(ATTR_ERROR_TYPE, status >= 500 ? String(status) : 'aborted');
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  }

  /** The span that whatever is asked for now belongs to. */
  callers(): readonly Span[] | undefined {
    const span = this.current.getStore();
    return span && [span];
  }

  /** Makes a span of a question to the database; see `DatabaseObserver.query`. */
  query<T>(summary: string, ask: () => Promise<T>, askers?: readonly Asker[]): Promise<T> {
    const [operation, table] = summary.split(' ');
    const attributes = {
      [ATTR_DB_SYSTEM_NAME]: this.system,
      [ATTR_DB_OPERATION_NAME]: operation,
      [ATTR_DB_COLLECTION_NAME]: table,
      [ATTR_DB_QUERY_SUMMARY]: summary,
    };
    return this.during(summary, SpanKind.CLIENT, attributes, askers ? spansOf(askers) : (this.callers() ?? []), ask);
  }

  /** Makes a span of a commit; see `DatabaseObserver.commit`. */
  commit<T>(askers: readonly Asker[], commit: () => Promise<T>): Promise<T> {
    return this.during('commit', SpanKind.INTERNAL, { 'petstore.commit.pets': askers.length }, spansOf(askers), commit);
  }

  /** Hands over what was not yet; resolves once the collector has it, or has had its time. */
  async onApplicationShutdown(): Promise<void> {
    const { flushTimeout } = this.settings;
    const late = () => new Error(`Traces were not taken within ${flushTimeout} ms; the last spans are lost.`);
    await within(flushTimeout, this.provider.shutdown(), late).catch((error: Error) => logger.warn(error.message));
  }

  /**
   * Makes a span of what is done for these spans: below the first of them that is kept. If they are several, it has links to all of them, and the
   * others one to it.
   */
  private async during<T>(
    name: string,
    kind: SpanKind,
    attributes: Attributes,
    callers: readonly Span[],
    run: () => Promise<T>,
  ): Promise<T> {
    const parent = callers.find((each) => each.isRecording());
    if (!parent) return run();
    const links = callers.length > 1 ? callers.map((each) => ({ context: each.spanContext() })) : [];
    const span = this.tracer.startSpan(name, { kind, attributes, links }, trace.setSpan(ROOT_CONTEXT, parent));
    for (const each of callers)
      if (each !== parent && each.isRecording()) each.addLink({ context: span.spanContext() });
    try {
      return await this.current.run(span, run);
    } catch (error) {
      span.setAttribute(ATTR_ERROR_TYPE, errorType(error));
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  }
}

function isNamed(method: string | undefined): method is string {
  return method !== undefined && METHODS.has(method);
}

/** What a span is called for its method. */
function nameOf(method: string | undefined): string {
  return isNamed(method) ? method : 'HTTP';
}

/** The client's own span, as the header tells of it. */
function parentOf({ headers }: Request) {
  const parent = traceParent(headers.traceparent);
  if (!parent) return ROOT_CONTEXT;
  const { traceId, parentId: spanId, flags: traceFlags } = parent;
  const state = headers.tracestate;
  const traceState = typeof state === 'string' ? createTraceState(state) : undefined;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true, traceState });
}

function spansOf(askers: readonly Asker[]): Span[] {
  return askers.flatMap(({ callers }) => (callers ?? []) as Span[]);
}

/** The code that the database or Node gave an error, else its kind: never its message, which may have values in it. */
function errorType(error: unknown): string {
  const { name, cause } = error as Error;
  const { code } = (cause ?? error) as { code?: unknown };
  return typeof code === 'string' ? code : name;
}

function samplerOf({ sampler, ratio }: TracingSettings): Sampler {
  const root = sampler.endsWith('always_on')
    ? new AlwaysOnSampler()
    : sampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(ratio);
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

/** Has the SDK tell each kind of trouble once, such as spans that it drops because they are too many. */
function tellTroubles(): void {
  const told = new Set<string>();
  const tell = (words: string) => {
    // An address may have a password in it.
    const message = words.replaceAll(/'[^']*:\/\/[^']*'/g, "'...'");
    const kind = message.replaceAll(/\d+/g, '#');
    if (told.size < 20 && !told.has(kind)) logger.warn(message);
    told.add(kind);
  };
  const none = () => undefined;
  const tracer = { error: tell, warn: tell, info: none, debug: none, verbose: none };
  diag.setLogger(tracer, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}
