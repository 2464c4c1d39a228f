import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { AddressInfo, createServer } from 'node:net';
import { freshFolder } from '../support/fresh-folder.js';
import { buildProgram } from '../support/program.js';
import { Proxy } from '../support/proxy.js';
import { mariadb, postgres } from '../support/stores.js';
import { until, WorkingFolder } from '../support/working-folder.js';

const KEY = 'key-of-the-start-test';

const folder = freshFolder();

it.each(['1', '2'])('a start of %s process(es) fails if it cannot listen, and names the setting', async (count) => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const port = String((other.address() as AddressInfo).port);
  for (const setting of ['PORT', 'METRICS_PORT']) {
    const message = await folder().error(['serve'], { PORT: '0', WEB_CONCURRENCY: count, [setting]: port });
    expect(message).toMatch(new RegExp(`^${setting} or .* cannot be used: .*EADDRINUSE.*:${port}`));
  }
  other.close();
  // 192.0.2.1 is reserved for documentation (RFC 5737).
  const message = await folder().error(['serve'], { PORT: '0', WEB_CONCURRENCY: count, HOST: '192.0.2.1' });
  expect(message).toMatch(/^PORT or HOST cannot be used: .*EADDRNOTAVAIL/);
});

// At once: most of their time passes in waiting for what does not answer.
it.concurrent.each([
  { kind: postgres, count: '1', at: '' },
  { kind: postgres, count: '2', at: '' },
  { kind: mariadb, count: '1', at: '' },
  { kind: postgres, count: '1', at: 'migrations' },
  { kind: mariadb, count: '1', at: 'migrations' },
  // TypeORM's `SELECT VERSION()`, in capitals or not.
  { kind: mariadb, count: '1', at: 'ersion' },
])(
  'a start of $count process(es) on a $kind.name that does not answer a statement with "$at" serves, with 503 until then',
  async ({ kind, count, at }) => {
    const own = new WorkingFolder(buildProgram());
    const store = await kind.create();
    const [proxy, url] = await Proxy.to(store.url);
    if (at === '') proxy.hang();
    else proxy.hangAt(at);
    try {
      const settings = { STATEMENT_TIMEOUT: '600', DATABASE_URL: url };
      expect(await own.run(['check'], settings)).toMatchObject({ code: 1 });
      const service = await own.serve({ ...settings, WEB_CONCURRENCY: count, API_KEYS: KEY });
      expect((await service.send(KEY)).status).toBe(503);
      proxy.forwardNew();
      await until(async () => (await service.send(KEY)).status === 200);
      expect(await service.end('SIGTERM')).toBe(0);
    } finally {
      await proxy.close();
      await own.remove();
      await store.remove();
    }
  },
);
