import cluster from 'node:cluster';
import type { Server } from 'node:http';
import { Logger } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { FinishedRequest } from './finished-request.js';
import { sendMetrics, serveMetrics } from './metrics-server.js';
import packageJson from '../../../package.json' with { type: 'json' };

const logger = new Logger('metrics');

/** Those of `FinishedRequest`. */
const OPERATIONS = ['listPets', 'createPet', 'getPet', 'other'];

/** Buckets of durations, in seconds. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * The metrics of the service, served to Prometheus on a port of their own. A worker sends its metrics to the primary,
 * which serves those of all workers.
 */
export class Metrics {
  private readonly registry = new Registry();
  private readonly deprecatedCalls = new Counter({
    name: 'petstore_deprecated_calls_total',
    help: 'Calls of deprecated operations, by the name of the API key.',
    labelNames: ['operation', 'key'],
    registers: [this.registry],
  });
  private readonly requests = new Histogram({
    name: 'petstore_request_duration_seconds',
    help: 'Time from the request head until the response is handed to the socket, by operation and status.',
    labelNames: ['operation', 'status'],
    buckets: SECONDS,
    registers: [this.registry],
  });
  private readonly queries = new Histogram({
    name: 'petstore_database_duration_seconds',
    help: 'Duration of database queries, including the wait for a connection.',
    buckets: SECONDS,
    registers: [this.registry],
  });
  private server: Server | undefined;

  constructor(
    private readonly port: number,
    private readonly host: string,
  ) {
    collectDefaultMetrics({ register: this.registry });
    // The latest start of several workers, by which a restart can be seen; by default they have no such metric.
    Object.assign(this.registry.getSingleMetric('process_start_time_seconds') ?? {}, { aggregator: 'max' });
    // Prometheus cannot see the first increase of a series that does not begin at 0.
    for (const operation of OPERATIONS) for (const status of [500, 503]) this.requests.zero({ operation, status });
    new Gauge({
      name: 'petstore_build_info',
      help: 'The version of the service; always 1.',
      labelNames: ['version'],
      registers: [this.registry],
      aggregator: 'max',
    }).set({ version: packageJson.version }, 1);
  }

  /** Counts a finished request. */
  finish({ operation, deprecated, status, duration, key, code }: FinishedRequest): void {
    this.requests.observe({ operation, status: status === 0 ? 'aborted' : status }, duration / 1000);
    // What exceeds a limit is no call, as in `petstore keys callers`.
    if (deprecated && key !== undefined && code !== 'rate_limited') this.deprecatedCalls.inc({ operation, key });
  }

  /** Measures a database query. */
  query<T>(run: () => Promise<T>): Promise<T> {
    const end = this.queries.startTimer();
    return run().finally(end);
  }

  async serve(): Promise<void> {
    const report = (error: Error) => logger.error(error);
    if (cluster.isWorker) sendMetrics(this.registry, report);
    else this.server = await serveMetrics(this.port, this.host, () => this.registry.metrics(), report);
  }

  close(): void {
    this.server?.close();
  }
}
