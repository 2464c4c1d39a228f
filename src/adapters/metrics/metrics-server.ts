import { once } from 'node:events';
import { createServer, IncomingMessage, Server, ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import { listen } from '../net/listen.js';
import { MetricsSettings } from './metrics-settings.js';

/** Shows metrics to Prometheus at `/metrics` on a port of their own. */
export class MetricsServer {
  private server: Server | undefined;

  /** `metrics` makes the text that Prometheus reads. */
  constructor(
    private readonly settings: MetricsSettings,
    private readonly metrics: () => Promise<string>,
  ) {}

  /** Where the metrics are, while the server is open. */
  get port(): number {
    const address = this.server?.address();
    return typeof address === 'object' && address ? address.port : this.settings.port;
  }

  async open(): Promise<void> {
    this.server = createServer((request, response) => void this.answer(request, response));
    // The process is there for the service: if that cannot start, it ends.
    await listen(this.server.unref(), this.settings, { port: 'METRICS_PORT', host: 'METRICS_HOST' });
  }

  async close(): Promise<void> {
    if (!this.server?.listening) return;
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private async answer({ method, url }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (url !== '/metrics') response.writeHead(404).end();
    else if (method !== 'GET' && method !== 'HEAD') response.writeHead(405, { Allow: 'GET, HEAD' }).end();
    else response.writeHead(200, { 'Content-Type': Registry.PROMETHEUS_CONTENT_TYPE }).end(await this.metrics());
  }
}
