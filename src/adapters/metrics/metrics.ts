import cluster from 'node:cluster';
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Metric, Registry } from 'prom-client';
import { tellMetrics } from './metrics-of-workers.js';
import { MetricsServer } from './metrics-server.js';
import { MetricsSettings } from './metrics-settings.js';
import { Series, Tally } from './tally.js';

/** What is measured of a request. */
export interface RequestFigures {
  readonly operation: string;
  /** The status of the answer; 0 if the client went away before. */
  readonly status: number;
  /** In milliseconds. */
  readonly duration: number;
  readonly key: string | undefined;
}

/** Upper bounds of times, in seconds. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The operation that is to be removed. */
const DEPRECATED = 'getPet';

/**
 * Measures the service, and shows it to Prometheus at `/metrics` on a port of its own for as long as the service runs; a worker tells
 * the primary, which shows them all.
 */
export class Metrics implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly registry = new Registry();
  private readonly requests = new Tally(
    'petstore_request_duration_seconds',
    'Time from the head of a request until its answer is out, by operation and status.',
    SECONDS,
  );
  private readonly byOperation = new Map<string, Series[]>();
  private readonly queries = new Tally(
    'petstore_database_duration_seconds',
    'Time that a question to the database took, waiting included.',
    SECONDS,
  );
  private readonly commits = new Tally(
    'petstore_commit_animals',
    'How many new animals shared a commit.',
    [1, 2, 4, 8, 16, 32, 64, 128, 256],
  );
  /** Calls of the deprecated operation by key. Counted here and told when Prometheus asks: a counter makes a text of its labels for each call. */
  private readonly deprecatedCalls = new Map<string, number>();
  private readonly allQueries = this.queries.series();
  private readonly allCommits = this.commits.series();
  private readonly server: MetricsServer;

  constructor(settings: MetricsSettings) {
    this.server = new MetricsServer(settings, () => this.registry.metrics());
    collectDefaultMetrics({ register: this.registry });
    const calls = this.deprecatedCalls;
    new Counter({
      name: 'petstore_deprecated_calls_total',
      help: 'Calls of operations that are to be removed, by the name of the API key.',
      labelNames: ['operation', 'key'],
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [key, count] of calls) this.inc({ operation: DEPRECATED, key }, count);
      },
    });
    for (const tally of [this.requests, this.queries, this.commits])
      this.registry.registerMetric(tally as unknown as Metric);
  }

  /** Counts a request that has ended. */
  request({ operation, status, duration, key }: RequestFigures): void {
    let byStatus = this.byOperation.get(operation);
    if (!byStatus) this.byOperation.set(operation, (byStatus = []));
    const labels = () => ({ operation, status: status === 0 ? 'aborted' : String(status) });
    (byStatus[status] ??= this.requests.series(labels())).add(duration / 1000);
    if (key !== undefined && operation === DEPRECATED)
      this.deprecatedCalls.set(key, (this.deprecatedCalls.get(key) ?? 0) + 1);
  }

  /** Counts a question to the database that has been answered; the time is in milliseconds. */
  query(duration: number): void {
    this.allQueries.add(duration / 1000);
  }

  /** Counts a commit of so many pets. */
  commit(pets: number): void {
    this.allCommits.add(pets);
  }

  /** Where the metrics are, while the service runs. */
  get port(): number {
    return this.server.port;
  }

  async onApplicationBootstrap(): Promise<void> {
    if (cluster.isWorker) tellMetrics(this.registry);
    else await this.server.open();
  }

  onApplicationShutdown(): Promise<void> {
    return this.server.close();
  }
}
