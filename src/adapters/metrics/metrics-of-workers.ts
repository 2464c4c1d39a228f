import cluster, { Worker } from 'node:cluster';
import { AggregatorRegistry, MetricObjectWithValues, MetricValue, Registry } from 'prom-client';

/** What the primary asks a worker for. */
const METRICS = 'metrics';

type Metrics = MetricObjectWithValues<MetricValue<string>>[];

/** Makes this worker tell its metrics when the primary asks for them. */
export function tellMetrics(registry: Registry): void {
  const worker = cluster.worker as Worker;
  const tell = async () => worker.send({ metrics: await registry.getMetricsAsJSON() }, () => undefined);
  worker.on('message', (message) => message === METRICS && void tell());
}

let asking: Promise<string> | undefined;

/** The metrics of these workers as one: added up, or as each of them says that it is to be taken together. Whoever asks meanwhile gets the same. */
export function metricsOf(workers: Iterable<Worker>): Promise<string> {
  return (asking ??= metricsOfAll(workers).finally(() => (asking = undefined)));
}

async function metricsOfAll(workers: Iterable<Worker>): Promise<string> {
  return AggregatorRegistry.aggregate(await Promise.all(Array.from(workers, ask))).metrics();
}

/** What a worker tells; nothing if it ends meanwhile. */
function ask(worker: Worker): Promise<Metrics> {
  return new Promise((resolve) => {
    const answered = ({ metrics }: { metrics?: Metrics }) => {
      if (!metrics) return;
      worker.off('message', answered).off('disconnect', gone);
      resolve(metrics);
    };
    const gone = () => answered({ metrics: [] });
    worker.on('message', answered).on('disconnect', gone);
    worker.send(METRICS, (error) => error && gone());
  });
}
