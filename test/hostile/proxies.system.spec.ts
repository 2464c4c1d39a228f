import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { nginx, haproxy, ReverseProxy } from '../support/reverse-proxy.js';
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
