import { expect, it } from '@jest/globals';
import type { AddressInfo } from 'node:net';
import { serveMetrics } from '../../src/adapters/observability/metrics-server.js';
import { sqlite } from '../support/stores.js';
import { describeMetrics } from './metrics.contract.js';

describeMetrics(sqlite);

it('the metrics are 500, and the reason is reported, if they cannot be collected', async () => {
  const reported: Error[] = [];
  const reason = new Error('no');
  const server = await serveMetrics(
    0,
    '127.0.0.1',
    () => Promise.reject(reason),
    (error) => reported.push(error),
  );
  const { port } = server.address() as AddressInfo;
  expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(500);
  expect(reported).toEqual([reason]);
  server.close();
});
