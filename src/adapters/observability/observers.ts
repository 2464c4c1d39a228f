import type { IncomingMessage } from 'node:http';
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type { Span } from '@opentelemetry/api';
import type { FinishedRequest } from './finished-request.js';
import type { Log } from './log.js';
import type { Metrics } from './metrics.js';
import type { Tracer } from './tracing.js';

/** What observes the service. Metrics and traces are optional; commands are not observed at all. */
export class Observers implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly log?: Log,
    private readonly metrics?: Metrics,
    private readonly tracer?: Tracer,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.metrics?.serve();
  }

  async onApplicationShutdown(): Promise<void> {
    this.metrics?.close();
    await this.tracer?.close();
  }

  /** Calls `handle` once, in the span of the request if it is traced. */
  begin(request: IncomingMessage, handle: (span?: Span) => void): void {
    if (this.tracer) this.tracer.begin(request, handle);
    else handle();
  }

  /** A request, parsed or not, has finished. */
  finish(request: FinishedRequest): void {
    this.log?.finish(request);
    this.metrics?.finish(request);
    this.tracer?.finish(request);
  }

  /** Runs a query, with its waits and retries. The summary is the operation and the table: `SELECT pet`. */
  query<T>(summary: string, run: () => Promise<T>): Promise<T> {
    const measured = () => this.metrics?.query(run) ?? run();
    return this.tracer?.query(summary, measured) ?? measured();
  }
}
