import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { nginx, haproxy, ReverseProxy } from '../support/reverse-proxy.js';
import { Delivery } from './generated-conversation.js';
import { PROXIED } from './generated-requests.js';
import { Run } from './generated-run.js';
import { KEY, ServiceUnderAttack } from './service-under-attack.js';

/** How many requests go through each proxy. */
const REQUESTS = Number(process.env.GENERATED_REQUESTS ?? 4_000);

const SEED = Number(process.env.GENERATED_SEED ?? Math.floor(Math.random() * 2 ** 31));

const KEPT: readonly Delivery[] = ['alone', 'pipelined', 'in turn', 'split', 'reset'];

describe.each([
  { kind: nginx(), deliveries: KEPT },
  // It ends the client's connection behind a response that came before all of the request was sent.
  { kind: nginx('nginx that streams bodies', { location: 'proxy_request_buffering off;' }), deliveries: ['alone'] },
  { kind: haproxy(), deliveries: KEPT },
] as const)('[short] clients of $kind.name', ({ kind, deliveries }) => {
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
      const attack = { port: service.port, key: KEY, seed: SEED, requests: REQUESTS };
      const run = new Run({ ...attack, proxy: proxy.port, choices: PROXIED, deliveries });
      await run.run();
      process.stdout.write(`${kind.name}, ${run.summary()}`);
      expect(run.breaches).toEqual([]);
    },
    120_000 + REQUESTS * 10,
  );
});
