import { connect } from 'node:net';
import { IncomingHttpHeaders, request as httpRequest, Server } from 'node:http';
import { INestApplication } from '@nestjs/common';
import { ApiDocument } from '../../src/adapters/http/docs/api-document.js';
import { Log } from '../../src/adapters/log/log.js';
import { createApp } from '../../src/app.js';
import { HealthService } from '../../src/application/health.service.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { readConfig } from '../../src/config.js';
import { FromThePort } from '../../src/process/serve.js';
import { ApiContract } from './api-contract.js';
import { refuseContentHeaders } from './bodiless.js';

/** An answer, its body as text. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];
  readonly body: string;
}

/** What to ask for. */
export interface Ask {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string | Buffer;
  /** Whether to send the key of the test; yes if absent. */
  readonly key?: boolean;
}

/** The service as production runs it, listening on the loopback. */
export class Service {
  private constructor(
    readonly app: INestApplication,
    readonly port: number,
    readonly key: string,
    private readonly source: FromThePort,
  ) {}

  /**
   * Starts it with these variables in its environment, and no others; on the in-memory store and without a log unless they say
   * otherwise. Its key is the first of `API_KEYS`, or a new one. `write` is handed each line of the log. Port 0 is a free one.
   */
  static async start(
    environment: Record<string, string> = {},
    write: (line: string) => void = () => undefined,
    port = 0,
  ): Promise<Service> {
    const config = readConfig({ DATABASE_URL: 'memory:', LOG_LEVEL: 'silent', ...environment });
    const app = await createApp(config, new Log(config.log, write));
    const source = new FromThePort({ host: '127.0.0.1', port, stopDelay: 0, takeTimeout: 0 });
    const actual = Number(new URL(await source.open(app.getHttpServer() as Server)).port);
    const keys = app.get(ApiKeyService);
    const others = config.apiKeys.length > 0 ? 0 : (await keys.list()).length;
    const key = config.apiKeys[0] ?? (await keys.create(others === 0 ? 'test' : `test-${others}`)).text;
    return new Service(app, actual, key, source);
  }

  /**
   * Sends a request on a connection of its own. A path may be any request target. Rejects if an answer of 204 or 304 has what HTTP
   * forbids it, or the answer to one under `/v1` is not as the service's own OpenAPI document says.
   */
  async send(path: string, ask: Ask = {}): Promise<Answer> {
    const answer = await this.exchange(path, ask);
    refuseContentHeaders(answer.status, (name) => answer.headers[name.toLowerCase()]);
    if (/^\/v1(?:[/?]|$)/.test(path)) this.contract().check(ask.method ?? 'GET', path, answer);
    return answer;
  }

  /** The service's own OpenAPI document, as a contract. */
  contract(): ApiContract {
    return ApiContract.of(this.app.get(ApiDocument).texts().json);
  }

  /** Sends a JSON text, or what becomes one, to createPet. */
  add(pet: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const body = typeof pet === 'string' ? pet : JSON.stringify(pet);
    return this.send('/v1/pets', { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body });
  }

  /** Writes bytes to a connection and resolves to all that comes back until it is closed, or until nothing more comes for `quiet` ms. */
  raw(text: string | Buffer, quiet = 300): Promise<string> {
    return new Promise((resolve, reject) => {
      let received = '';
      const socket = connect(this.port, '127.0.0.1', () => socket.write(text));
      const done = () => {
        socket.destroy();
        resolve(received);
      };
      let timer = setTimeout(done, 5_000);
      socket.setEncoding('latin1');
      socket.on('data', (chunk: string) => {
        received += chunk;
        clearTimeout(timer);
        timer = setTimeout(done, quiet);
      });
      socket.on('close', () => {
        clearTimeout(timer);
        resolve(received);
      });
      socket.on('error', (error) => (received === '' ? reject(error) : done()));
    });
  }

  async stop(): Promise<void> {
    this.app.get(HealthService).beginStop();
    await this.source.close();
    await this.app.close();
  }

  private exchange(path: string, { method = 'GET', headers = {}, body, key = true }: Ask): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        {
          host: '127.0.0.1',
          port: this.port,
          path,
          method,
          agent: false,
          headers: { ...(key && { Authorization: `Bearer ${this.key}` }), ...headers },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              rawHeaders: response.rawHeaders,
              body: Buffer.concat(chunks).toString(),
            }),
          );
        },
      );
      request.on('error', reject);
      request.end(body);
    });
  }
}
