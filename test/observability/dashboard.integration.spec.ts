import { afterEach, expect, it } from '@jest/globals';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freshFolder } from '../support/fresh-folder.js';
import { freePort, server, type TestServer } from '../support/servers.js';

const KEY = 'key-of-the-dashboard-test';

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

const folder = freshFolder();
let prometheus: TestServer | undefined;

afterEach(() => prometheus?.remove());

it('every query of the dashboard has values once Prometheus has scraped a service with clients', async () => {
  const metrics = await freePort();
  const service = await folder().serve({ API_KEYS: KEY, METRICS_PORT: String(metrics) });
  const config = join(folder().path, 'prometheus.yaml');
  const job = { job_name: 'petstore', static_configs: [{ targets: [`127.0.0.1:${metrics}`] }] };
  writeFileSync(config, JSON.stringify({ global: { scrape_interval: '250ms' }, scrape_configs: [job] }));
  // As root it runs as nobody.
  chmodSync(folder().path, 0o755);
  prometheus = await server(
    undefined,
    (data, port) => [
      ...['prometheus', `--config.file=${config}`, `--storage.tsdb.path=${data}`],
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    'Server is ready to receive web requests',
  );
  await prometheus.start();
  const { panels } = JSON.parse(readFileSync('deploy/grafana/petstore.json', 'utf8')) as { panels: Panel[] };
  const queries = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })));
  expect(queries.length).toBeGreaterThanOrEqual(panels.length);

  /** What Prometheus answers to a query as Grafana sends it. */
  async function valuesOf(expr: string): Promise<number[]> {
    const query = expr.replaceAll('$__rate_interval', '2s').replaceAll('$instance', '.*');
    const address = `http://127.0.0.1:${prometheus!.port}/api/v1/query?query=${encodeURIComponent(query)}`;
    const answer = (await (await fetch(address)).json()) as { data: { result: { value: [number, string] }[] } };
    return answer.data.result.map(({ value }) => Number(value[1]));
  }

  let empty = queries;
  for (let round = 0; round < 100 && empty.length > 0; round++) {
    const { id } = JSON.parse(await service.add(KEY, { name: 'Bella', categoryId: 1 })) as { id: number };
    for (const path of ['/pets', `/pets/${id}`]) await (await service.send(KEY, path)).text();
    await delay(100);
    const found = await Promise.all(empty.map(({ expr }) => valuesOf(expr)));
    empty = empty.filter((_, i) => !found[i]!.some((value) => Number.isFinite(value)));
  }
  expect(empty).toEqual([]);
});
