import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../hostile/generated-requests.js';

interface Exchange {
  readonly request: IncomingMessage;
  readonly body: Buffer;
  readonly response: ServerResponse;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** How many requests of a hundred have a fault. */
const PERCENT = 15;

const HTML = '<html><body><h1>It does not work.</h1></body></html>';

/** A way to a service that does to some requests what networks and proxies do, by a seed. */
export class MisbehavingProxy {
  /** How often each fault has happened. */
  readonly counts: Record<string, number> = {};
  private readonly agent = new Agent({ keepAlive: true });
  private readonly server = createServer((request, response) => void this.handle(request, response));
  private readonly random: Random;

  /** `late` is the delay of those faults that are delays, in milliseconds. */
  private constructor(
    private readonly target: number,
    seed: number,
    private readonly late: number,
  ) {
    this.random = new Random(seed);
  }

  static async open(target: number, seed: number, late: number): Promise<MisbehavingProxy> {
    const proxy = new MisbehavingProxy(target, seed, late);
    await once(proxy.server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
    this.agent.destroy();
  }

  private readonly faults: Readonly<Record<string, (exchange: Exchange) => Promise<void> | void>> = {
    'cut before the request': ({ response }) => cut(response),
    'cut in the middle of the request': async (exchange) => {
      await this.forward(exchange, Math.floor(exchange.body.length / 2)).catch(() => undefined);
      cut(exchange.response);
    },
    'cut behind the request': async (exchange) => {
      await this.forward(exchange);
      cut(exchange.response);
    },
    'cut in the middle of the response': async (exchange) => {
      const { status, headers, body } = await this.forward(exchange);
      exchange.response.writeHead(status, headers);
      exchange.response.write(body.subarray(0, body.length / 2), () => cut(exchange.response));
    },
    'a shortened body': async (exchange) => {
      const { body, ...answer } = await this.forward(exchange);
      send(exchange.response, { ...answer, body: body.subarray(0, body.length / 2) });
    },
    '502 with HTML before the request': ({ response }) => page(response, 502),
    '502 with HTML behind the request': async (exchange) => {
      await this.forward(exchange);
      page(exchange.response, 502);
    },
    '503 with Retry-After in seconds': ({ response }) => page(response, 503, String(this.random.int(2))),
    '503 with Retry-After as a date': ({ response }) => page(response, 503, new Date(Date.now() + 500).toUTCString()),
    'a late request': async (exchange) => {
      await delay(this.late);
      send(exchange.response, await this.forward(exchange));
    },
    'a late response': async (exchange) => {
      const answer = await this.forward(exchange);
      await delay(this.late);
      send(exchange.response, answer);
    },
  };

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const names = Object.keys(this.faults);
    const name = this.random.int(100) < PERCENT ? this.random.pick(names) : undefined;
    try {
      const exchange = { request, response, body: await buffer(request) };
      if (name === undefined) return send(response, await this.forward(exchange));
      this.counts[name] = (this.counts[name] ?? 0) + 1;
      await this.faults[name]?.(exchange);
    } catch {
      // The client has gone, or the service closed the connection.
      cut(response);
    }
  }

  /** Sends the request on, or only so much of its body and then nothing, and resolves to the response. */
  private async forward({ request, body }: Exchange, length = body.length): Promise<Answer> {
    const { method, url: path, headers } = request;
    const upstream = httpRequest({ host: '127.0.0.1', port: this.target, agent: this.agent, method, path, headers });
    if (length < body.length) {
      upstream.write(body.subarray(0, length), () => upstream.destroy());
      await once(upstream, 'close');
    } else upstream.end(body);
    const [answer] = (await once(upstream, 'response')) as [IncomingMessage];
    return { status: answer.statusCode as number, headers: answer.headers, body: await buffer(answer) };
  }
}

function cut({ socket }: ServerResponse): void {
  socket?.destroy();
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { ...headers, 'content-length': body.length }).end(body);
}

function page(response: ServerResponse, status: number, retryAfter?: string): void {
  const headers = { 'content-type': 'text/html', ...(retryAfter !== undefined && { 'retry-after': retryAfter }) };
  send(response, { status, headers, body: Buffer.from(HTML) });
}
