import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, type Registry } from 'prom-client';

// `AggregatorRegistry.clusterMetrics()` waits 5 seconds and then fails if one worker does not answer.

/** The message by which the primary requests the metrics of a worker. */
const METRICS = 'metrics';

/** The timeout for one worker, in milliseconds. */
const TIMEOUT = 1_000;

type Metrics = MetricObjectWithValues<MetricValue<string>>[];

/** Makes this worker send its metrics whenever the primary requests them. */
export function sendMetrics(registry: Registry): void {
  const send = async () =>
    process.send?.({ metrics: await registry.getMetricsAsJSON() }, undefined, {}, () => undefined);
  process.on('message', (message) => message === METRICS && void send());
}

/** The metrics of all workers, aggregated; without those of a worker that does not answer in time. */
export async function clusterMetrics(): Promise<string> {
  const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
  return AggregatorRegistry.aggregate(await Promise.all(workers.map(metricsOf))).metrics();
}

function metricsOf(worker: Worker): Promise<Metrics> {
  return new Promise((resolve) => {
    const settle = (metrics: Metrics) => {
      clearTimeout(timer);
      worker.off('message', onMessage);
      resolve(metrics);
    };
    const onMessage = ({ metrics }: { metrics?: Metrics }) => metrics && settle(metrics);
    const timer = setTimeout(() => settle([]), TIMEOUT);
    worker.on('message', onMessage);
    worker.send(METRICS, (error) => error && settle([]));
  });
}
