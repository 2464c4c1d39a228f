import { once } from 'node:events';
import { IncomingMessage, request as httpRequest, Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll } from '@jest/globals';
import { INestApplication } from '@nestjs/common';
import { BaseUrls } from '../../src/adapters/http/base-urls.js';
import { openApiDocument } from '../../src/adapters/http/docs/document.js';
import { Log } from '../../src/adapters/observability/log.js';
import { createApp } from '../../src/app.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { readSettings } from '../../src/settings/settings.js';
import { listen } from '../../src/adapters/runtime/listen.js';
import { ApiContract } from './api-contract.js';
import { type Answer, Connection, rejectContentHeaders } from './connection.js';
import type { StoreKind } from './stores.js';

export type { Answer };

/** What to ask for. */
export interface Ask {
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string | Buffer;
  /** Whether to send the key of the test; yes if absent. */
  readonly key?: boolean;
}

/** Those that no test has stopped: a test that fails does not, and they would keep Jest running. */
const running = new Set<INestApplication>();

afterAll(async () => {
  for (const app of running) await app.close();
});

/** The service as production runs it, listening on the loopback. */
export class Service {
  private document: string | undefined;

  private constructor(
    readonly app: INestApplication,
    readonly port: number,
    readonly key: string,
    /** Its `DATABASE_URL`. */
    readonly url: string,
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
    const { DATABASE_URL = 'memory:' } = environment;
    const settings = readSettings({ LOG_LEVEL: 'silent', ...environment, DATABASE_URL });
    const app = await createApp(settings, new Log(settings, write));
    running.add(app);
    const address = await listen(app.getHttpServer() as Server, port, '127.0.0.1', 'PORT');
    const keys = app.get(ApiKeyService);
    const [configured] = settings.API_KEYS;
    const others = configured ? 0 : (await keys.list()).length;
    const key = configured ?? (await keys.create(others === 0 ? 'test' : `test-${others}`)).text;
    return new Service(app, Number(new URL(address).port), key, DATABASE_URL);
  }

  /** One for all cases of the surrounding suite, in memory or on a database of this kind; afterwards stops the service and removes the database. */
  static forSuite(environment: Record<string, string> = {}, kind?: StoreKind, write?: (line: string) => void): Service {
    const service = Object.create(Service.prototype) as Service;
    let remove: () => Promise<void>;
    beforeAll(async () => {
      const store = await kind?.create();
      remove = async () => store?.remove();
      Object.assign(service, await Service.start({ ...(store && { DATABASE_URL: store.url }), ...environment }, write));
    });
    afterAll(async () => {
      // Unless it could not be started.
      if (service.app) await service.stop();
      await remove();
    });
    return service;
  }

  /**
   * Sends a request on a connection of its own. A path may be any request target. Rejects if an answer of 204 or 304 has what HTTP
   * forbids it, or the answer to one under `/v1` is not as the service's own OpenAPI document says.
   */
  async send(path: string, ask: Ask = {}): Promise<Answer> {
    const answer = await this.exchange(path, ask);
    rejectContentHeaders(answer.status, answer.headers);
    if (/^\/v1(?:[/?]|$)/.test(path)) this.contract().check(ask.method ?? 'GET', path, answer);
    return answer;
  }

  /** The service's own OpenAPI document, as a contract. */
  contract(): ApiContract {
    this.document ??= JSON.stringify(openApiDocument(this.app, this.app.get(BaseUrls)));
    return ApiContract.of(this.document);
  }

  /** Sends a JSON text, bytes, or what becomes a JSON text to createPet. */
  add(pet: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const body = typeof pet === 'string' || Buffer.isBuffer(pet) ? pet : JSON.stringify(pet);
    return this.send('/v1/pets', { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body });
  }

  /** Sends bytes, and resolves to all that comes back until the connection is closed, or nothing more for some ms. */
  async raw(text: string, quiet = 5_000): Promise<string> {
    const connection = await Connection.send(this.port, text);
    connection.socket.setTimeout(quiet, () => connection.destroy());
    return connection.untilClosed();
  }

  async stop(): Promise<void> {
    running.delete(this.app);
    await this.app.close();
  }

  private async exchange(path: string, { method = 'GET', headers = {}, body, key = true }: Ask): Promise<Answer> {
    const authorization = key && { Authorization: `Bearer ${this.key}` };
    const target = { host: '127.0.0.1', port: this.port, path, agent: false };
    const request = httpRequest({ ...target, method, headers: { ...authorization, ...headers } });
    request.end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    // The service may close the connection before it has read the whole body.
    request.on('error', () => undefined);
    return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
  }
}
