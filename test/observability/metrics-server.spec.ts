import cluster, { type Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import { afterEach, expect, it } from '@jest/globals';
import { clusterMetrics } from '../../src/adapters/observability/metrics-server.js';

const original = Object.getOwnPropertyDescriptor(cluster, 'workers');

afterEach(() => void Object.defineProperty(cluster, 'workers', original ?? { value: undefined, configurable: true }));

/** A worker whose only metric is this counter. */
class TestWorker extends EventEmitter {
  constructor(
    readonly id: number,
    private readonly values: unknown,
  ) {
    super();
  }

  send(): void {
    const metrics = [{ name: 'calls', help: 'Calls.', type: 'counter', aggregator: 'sum', values: this.values }];
    setImmediate(() => this.emit('message', { metrics }));
  }
}

function runWorkers(...workers: TestWorker[]): void {
  const byId = Object.fromEntries(workers.map((worker) => [worker.id, worker as unknown as Worker]));
  Object.defineProperty(cluster, 'workers', { value: byId, configurable: true, writable: true });
}

const counted = (value: number) => [{ labels: {}, value }];

it('the metrics of a worker that has exited and cannot be added fail one request, and no later one', async () => {
  const [first, other] = [new TestWorker(1, counted(5)), new TestWorker(2, counted(1))];
  runWorkers(first, other);
  expect(await clusterMetrics()).toContain('calls 6');
  runWorkers(other);
  expect(await clusterMetrics()).toContain('calls 6');
  const broken = new TestWorker(3, counted(1));
  runWorkers(other, broken);
  expect(await clusterMetrics()).toContain('calls 7');
  // What it sends last cannot be added.
  Object.assign(broken, { values: { length: 'none' } });
  await clusterMetrics().catch(() => undefined);
  runWorkers(other);
  await expect(clusterMetrics()).rejects.toThrow();
  expect(await clusterMetrics()).toContain('calls 6');
});
