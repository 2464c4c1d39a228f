import { describe, expect, it } from '@jest/globals';
import { Connection } from '../support/connection.js';
import { freshFolder } from '../support/fresh-folder.js';
import { freePort } from '../support/servers.js';
import { mariadb, postgres } from '../support/stores.js';
import { until } from '../support/working-folder.js';
import { describeMetrics } from './metrics.contract.js';

const KEY = 'key-of-the-metrics-test';

const read = async (port: number) => {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(2_000) });
  return { status: answer.status, text: await answer.text() };
};

describeMetrics(postgres);
describeMetrics(mariadb);

describe('the metrics of several workers', () => {
  const folder = freshFolder();

  it('are added up, with the last ones of a worker that is stopped or has crashed', async () => {
    const port = await freePort();
    const service = await folder().serve({
      ...{ NODE_ENV: 'production', WEB_CONCURRENCY: '2', API_KEYS: KEY },
      METRICS_PORT: String(port),
    });
    await service.add(KEY, { name: 'Bella', categoryId: 1 });
    const get = `GET /v1/pets/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;
    await Promise.all(Array.from({ length: 6 }, () => Connection.ask(service.port, get)));
    const { text } = await read(port);
    const labels = 'operation="getPet",status="200"';
    expect(text).toContain('petstore_request_duration_seconds_count{operation="createPet",status="201"} 1\n');
    expect(text).toContain(`petstore_request_duration_seconds_count{${labels}} 6\n`);
    expect(text).toContain(`petstore_request_duration_seconds_bucket{le="+Inf",${labels}} 6\n`);
    expect(text).toContain('petstore_deprecated_calls_total{operation="getPet",key="configured-ac973a6a"} 6\n');
    expect(text).toMatch(/^petstore_build_info\{version="[^"]+"\} 1$/m);
    expect(text.match(/^# TYPE petstore_request_duration_seconds histogram$/gm)).toHaveLength(1);
    // The workers are added up in any order, which changes the order of the series and the last digits of seconds.
    const sums = (metrics: string) =>
      metrics
        .match(/^petstore_(?:request|deprecated).*/gm)!
        .map((line) => line.replace(/\d+\.\d+$/, (seconds) => Number(seconds).toFixed(6)))
        .sort();
    const started = (metrics: string) => Number(/^process_start_time_seconds (\d+)$/m.exec(metrics)?.[1]);
    expect(Math.abs(started(text) - Date.now() / 1000)).toBeLessThan(60);
    // Each crashes, and then one that has replaced it.
    for (let crash = 0; crash < 3; crash++) {
      const [worker] = service.workers as [number];
      process.kill(worker, 'SIGSTOP');
      const stopped = await read(port);
      process.kill(worker, 'SIGKILL');
      await until(() => service.workers.length === 2 && !service.workers.includes(worker));
      await until(async () => started((await read(port)).text) > started(text));
      // No sum falls, which Prometheus would take for a reset, although several read at once.
      const reads = await Promise.all([read(port), read(port), read(port)]);
      for (const each of [stopped, ...reads]) expect(sums(each.text)).toEqual(sums(text));
    }
    expect(await service.end('SIGTERM')).toBe(0);
  });
});
