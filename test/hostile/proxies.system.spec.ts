import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KEY } from '../support/raw-requests.js';
import { EXAMPLES, haproxy, nginx, ReverseProxy } from '../support/reverse-proxy.js';
import { PROXIED_TWISTS } from './generated-requests.js';
import { attack } from './generated-run.js';
import { ServiceUnderAttack } from './service-under-attack.js';

/** How many requests go through each proxy. */
const REQUESTS = Number(process.env.GENERATED_REQUESTS ?? 4_000);

describe.each([
  { kind: nginx(), isAlone: false },
  // It ends the client's connection behind a response that came before all of the request was sent.
  { kind: nginx('nginx that streams bodies', { location: 'proxy_request_buffering off;' }), isAlone: true },
  { kind: haproxy(), isAlone: false },
])('[short] clients of $kind.name', ({ kind, isAlone }) => {
  let service: ServiceUnderAttack;
  let proxy: ReverseProxy;

  beforeEach(async () => {
    service = await ServiceUnderAttack.start(2);
    proxy = await ReverseProxy.start(kind, [service.port]);
  });

  afterEach(async () => {
    await proxy.remove();
    await service.remove();
  });

  it(
    'get the responses to their own requests, though they share connections to the service',
    async () => {
      const deliveries = isAlone ? (['pipelined'] as const) : (['pipelined', 'in turn', 'split', 'reset'] as const);
      const target = { port: service.port, proxy: proxy.port, requests: REQUESTS };
      const { breaches, summary } = await attack({ ...target, twists: PROXIED_TWISTS, deliveries, isAlone });
      process.stdout.write(`${kind.name}, ${summary}`);
      expect(breaches).toEqual([]);
    },
    120_000 + REQUESTS * 10,
  );
});

it.each([nginx(), ...EXAMPLES])(
  '[short] TRUSTED_PROXIES tells clients of $name apart: one that guesses keys locks out neither of the others',
  async (kind) => {
    const limited = await ServiceUnderAttack.start(2, { AUTH_FAILURE_LIMIT: '5', TRUSTED_PROXIES: '127.0.0.1' });
    const front = await ReverseProxy.start(kind, [limited.port, limited.port]);
    /** The statuses of requests from this address with this key and, as clients may, a header of their own. */
    const statuses = (localAddress: string, key: string, count: number) =>
      Promise.all(
        Array.from({ length: count }, async () => {
          const headers = { Authorization: `Bearer ${key}`, 'X-Forwarded-For': '127.0.0.9' };
          const sent = request({ port: front.port, path: '/v1/pets', localAddress, headers, agent: false }).end();
          const [response] = (await once(sent, 'response')) as [IncomingMessage];
          response.resume();
          return response.statusCode;
        }),
      );
    const [, guesses, neighbours] = await Promise.all([
      statuses('127.0.0.2', 'wrong', 1),
      statuses('127.0.0.3', 'guess', 20),
      statuses('127.0.0.4', KEY, 20),
    ]);
    expect(guesses.sort()).toEqual([...Array<number>(5).fill(401), ...Array<number>(15).fill(429)]);
    expect(neighbours).toEqual(Array(20).fill(200));
    expect(await statuses('127.0.0.2', KEY, 1)).toEqual([200]);
    expect(await statuses('127.0.0.3', KEY, 1)).toEqual([429]);
    await front.remove();
    await limited.remove();
  },
);
