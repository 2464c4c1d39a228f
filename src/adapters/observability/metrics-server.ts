import cluster, { type Worker } from 'node:cluster';
import { on } from 'node:events';
import { createServer, type Server } from 'node:http';
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, Registry } from 'prom-client';
import { listen } from '../runtime/listen.js';

/** The message by which the primary requests the metrics of a worker. */
const METRICS = 'metrics';

/** The timeout for one worker, in milliseconds. */
const TIMEOUT = 1_000;

type Metrics = MetricObjectWithValues<MetricValue<string>>[];

/** Receives the error of each request for metrics that could not be collected. */
type Report = (error: Error) => void;

/** Serves metrics to Prometheus at `/metrics` on a port of their own; 500 if they cannot be collected. */
export async function serveMetrics(
  port: number,
  host: string,
  metrics: () => Promise<string>,
  report: Report,
): Promise<Server> {
  const server = createServer(({ url }, response) => {
    if (url?.split('?', 1)[0] !== '/metrics') response.writeHead(404).end();
    else {
      const headers = { 'Content-Type': Registry.PROMETHEUS_CONTENT_TYPE };
      const send = (text: string) => response.writeHead(200, headers).end(text);
      metrics().then(send, (error: Error) => {
        report(error);
        response.writeHead(500).end();
      });
    }
  });
  await listen(server, port, host, 'METRICS_PORT or METRICS_HOST');
  return server;
}

/** Makes this worker send its metrics whenever the primary requests them. */
export function sendMetrics(registry: Registry, report: Report): void {
  const send = async () =>
    process.send?.({ metrics: await registry.getMetricsAsJSON() }, undefined, {}, () => undefined);
  process.on('message', (message) => message === METRICS && void send().catch(report));
}

/** What each worker has sent last, by its id. */
const latest = new Map<number, Metrics>();

/**
 * The sum of what the workers that have exited have sent last, without gauges: Prometheus would take a sum that falls
 * for a reset of the counter.
 */
let exited: Promise<Metrics> = Promise.resolve([]);

/** The metrics of all workers, aggregated, those that have exited included. */
export async function clusterMetrics(): Promise<string> {
  // `AggregatorRegistry.clusterMetrics()` waits 5 seconds and then fails if one worker does not answer.
  const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
  await Promise.all(workers.map(update));
  for (const [id, metrics] of latest) {
    if (cluster.workers?.[id]) continue;
    latest.delete(id);
    const counts = metrics.filter(({ type }) => String(type) !== 'gauge');
    const before = exited;
    const after = before.then((sum) => AggregatorRegistry.aggregate([sum, counts]).getMetricsAsJSON());
    // What cannot be added fails this request, and is left out of the next one.
    exited = after.catch(() => before);
    await after;
  }
  const running = [...latest.values()];
  return AggregatorRegistry.aggregate([await exited, ...running]).metrics();
}

async function update(worker: Worker): Promise<void> {
  const signal = AbortSignal.timeout(TIMEOUT);
  const messages: AsyncIterable<{ metrics?: Metrics }[]> = on(worker, 'message', { signal });
  worker.send(METRICS, () => undefined);
  try {
    for await (const [message] of messages) if (message?.metrics) return void latest.set(worker.id, message.metrics);
  } catch {
    // It did not answer in time, or has exited.
  }
}
