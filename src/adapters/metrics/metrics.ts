import cluster from 'node:cluster';
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Exchange } from '../http/server/exchange.js';
import type { PoolState, ServerState } from '../persistence/typeorm/engines/engine.js';
import { tellMetrics } from './metrics-of-workers.js';
import { MetricsServer } from './metrics-server.js';
import { MetricsSettings } from './metrics-settings.js';
import packageJson from '../../../package.json' with { type: 'json' };

/** Upper bounds of times, in seconds. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What a connection is, or is waited for. */
const POOL_STATES = ['used', 'idle', 'waiting'] as const;

/** What a database server is to the service; unknown if it does not say. */
const ROLES = ['primary', 'standby', 'unknown'] as const;

/** The operation that is to be removed. */
const DEPRECATED = 'getPet';

/**
 * Measures the service, and shows it to Prometheus at `/metrics` on a port of its own for as long as the service runs; a worker tells
 * the primary, which shows them all.
 */
export class Metrics implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly registry = new Registry();
  private readonly deprecatedCalls = new Counter({
    name: 'petstore_deprecated_calls_total',
    help: 'Calls of operations that are to be removed, by the name of the API key.',
    labelNames: ['operation', 'key'],
    registers: [this.registry],
  });
  private readonly requests = new Histogram({
    name: 'petstore_request_duration_seconds',
    help: 'Time from the head of a request until its answer is out, by operation and status.',
    labelNames: ['operation', 'status'],
    buckets: SECONDS,
    registers: [this.registry],
  });
  private readonly queries = new Histogram({
    name: 'petstore_database_duration_seconds',
    help: 'Time that a question to the database took, waiting included.',
    buckets: SECONDS,
    registers: [this.registry],
  });
  private readonly waits = new Histogram({
    name: 'petstore_database_wait_seconds',
    help: 'Time that a question to the database waited for a connection, by pool.',
    labelNames: ['pool'],
    buckets: SECONDS,
    registers: [this.registry],
  });
  private readonly commits = new Histogram({
    name: 'petstore_commit_animals',
    help: 'How many new animals shared a commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers: [this.registry],
  });
  private limitsShared: Gauge | undefined;
  private readonly server: MetricsServer;

  constructor(settings: MetricsSettings) {
    this.server = new MetricsServer(settings, () => this.registry.metrics());
    collectDefaultMetrics({ register: this.registry });
    new Gauge({
      name: 'petstore_build_info',
      help: 'The version of the service; always 1.',
      labelNames: ['version'],
      registers: [this.registry],
      aggregator: 'max',
    }).set({ version: packageJson.version }, 1);
  }

  /** Counts a request that has ended. */
  request({ operation, status, duration, key }: Exchange): void {
    this.requests.observe({ operation, status: status === 0 ? 'aborted' : status }, duration / 1000);
    if (key !== undefined && operation === DEPRECATED) this.deprecatedCalls.inc({ operation, key });
  }

  /** Measures a question to the database. */
  async query<T>(_summary: string, ask: () => Promise<T>): Promise<T> {
    const begun = performance.now();
    try {
      return await ask();
    } finally {
      this.queries.observe((performance.now() - begun) / 1000);
    }
  }

  /** Counts a question that has waited for a connection of a pool; the time is in milliseconds. */
  wait(pool: PoolState['pool'], duration: number): void {
    this.waits.observe({ pool }, duration / 1000);
  }

  /** Counts a commit of as many pets as there are requests for it. */
  async commit<T>({ length }: { readonly length: number }, commit: () => Promise<T>): Promise<T> {
    try {
      return await commit();
    } finally {
      this.commits.observe(length);
    }
  }

  /** Notes whether all that have the same `RATE_LIMIT_URL` share the counts of the limits now. */
  limits(areShared: boolean): void {
    this.limitsShared ??= new Gauge({
      name: 'petstore_limits_shared',
      help: 'Whether limits hold for all instances together: 1, or 0 while Redis is out of reach.',
      registers: [this.registry],
      aggregator: 'min',
    });
    this.limitsShared.set(areShared ? 1 : 0);
  }

  /** Shows the pools of the database, and its server, as these tell whenever the metrics are asked for; `server` must reject in time. */
  watch(pools: () => readonly PoolState[], server: () => Promise<ServerState>): void {
    new Gauge({
      name: 'petstore_database_connections',
      help: 'Connections to the database by pool: used, idle, and questions that wait for one.',
      labelNames: ['pool', 'state'],
      registers: [this.registry],
      collect() {
        for (const { pool, ...states } of pools())
          for (const state of POOL_STATES) this.set({ pool, state }, states[state]);
      },
    });
    // What is shown at a time is collected at a time, and shares one question.
    let asked: Promise<ServerState | undefined> | undefined;
    const state = () =>
      (asked ??= server()
        .catch(() => undefined)
        .finally(() => (asked = undefined)));
    // All workers of an instance use one server.
    const common = { registers: [this.registry], aggregator: 'max' as const };
    new Gauge({
      ...common,
      name: 'petstore_database_role',
      help: 'What the database server that is used is: 1 for its role, 0 for the others.',
      labelNames: ['role'],
      async collect() {
        const { role: found = 'unknown' } = (await state()) ?? {};
        for (const role of ROLES) this.set({ role }, role === found ? 1 : 0);
      },
    });
    for (const [unit, help] of [
      ['seconds', 'How long ago what a standby has applied last was written.'],
      ['bytes', 'How much of what was written a standby has not applied.'],
    ] as const) {
      new Gauge({
        ...common,
        name: `petstore_database_replication_lag_${unit}`,
        help,
        labelNames: ['standby', 'address'],
        async collect() {
          const { standbys = [] } = (await state()) ?? {};
          this.reset();
          for (const { name: standby, address, [unit]: lag } of standbys) this.set({ standby, address }, lag);
        },
      });
    }
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
