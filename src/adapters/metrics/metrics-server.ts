import { createServer, type Server } from 'node:http';
import { Registry } from 'prom-client';
import { listen } from '../net/listen.js';

/** Serves metrics to Prometheus at `/metrics` on a port of their own. */
export async function serveMetrics(port: number, host: string, metrics: () => Promise<string>): Promise<Server> {
  const server = createServer(({ url }, response) => {
    if (url !== '/metrics') response.writeHead(404).end();
    else {
      const headers = { 'Content-Type': Registry.PROMETHEUS_CONTENT_TYPE };
      void metrics().then((text) => response.writeHead(200, headers).end(text));
    }
  });
  // Does not keep the process alive.
  server.unref();
  await listen(server, port, host, 'METRICS_PORT or METRICS_HOST');
  return server;
}
