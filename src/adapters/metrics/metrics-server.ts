import { createServer, type Server } from 'node:http';
import { AggregatorRegistry, Registry } from 'prom-client';
import { listen } from '../net/listen.js';

/**
 * Serves metrics to Prometheus at `/metrics` on a port of their own. If they cannot be collected, the response is 500,
 * and `report` receives the error.
 */
export async function serveMetrics(
  port: number,
  host: string,
  metrics: () => Promise<string>,
  report: (error: Error) => void,
): Promise<Server> {
  const server = createServer(({ url }, response) => {
    if (url !== '/metrics') return void response.writeHead(404).end();
    const headers = { 'Content-Type': Registry.PROMETHEUS_CONTENT_TYPE };
    const send = (text: string) => response.writeHead(200, headers).end(text);
    metrics().then(send, (error: Error) => {
      report(error);
      response.writeHead(500).end();
    });
  });
  // Does not keep the process alive.
  server.unref();
  await listen(server, port, host, 'METRICS_PORT or METRICS_HOST');
  return server;
}

/** A function that adds up the metrics of all workers. */
export function metricsOfWorkers(): () => Promise<string> {
  const registry = new AggregatorRegistry();
  return () => registry.clusterMetrics();
}
