import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import mysql from 'mysql2/promise';
import { buildProgram } from '../support/program.js';
import { freePort, newGaleraNode, TestServer } from '../support/servers.js';
import { startReady } from '../support/start-ready.js';
import { WorkingFolder } from '../support/working-folder.js';
import { KEY, pause } from './ledger.js';
import { SECONDS, underLoad } from './instances.js';

// Not a spec: `npm run test:cluster` runs it.

/** How many databases are made by two first starts at once. */
const FIRST_STARTS = Number(process.env.CLUSTER_FIRST_STARTS ?? 3);

async function say(node: TestServer, sql: string, database?: string): Promise<unknown[]> {
  const connection = await mysql.createConnection({ host: '127.0.0.1', port: node.port, user: 'root', database });
  try {
    return (await connection.query(sql))[0] as unknown[];
  } finally {
    await connection.end();
  }
}

describe('a cluster of MariaDB with Galera', () => {
  let nodes: TestServer[];
  let first: TestServer;
  let second: TestServer;

  const url = (...of: TestServer[]) => `mariadb://root@${of.map(({ port }) => `127.0.0.1:${port}`).join()}/pets`;

  beforeEach(async () => {
    nodes = [];
    for (let i = 0; i < 3; i++) {
      const node = (await newGaleraNode(nodes))!;
      await node.start();
      nodes.push(node);
    }
    [first, second] = nodes as [TestServer, TestServer];
    await say(first, 'CREATE DATABASE pets');
  });

  afterEach(async () => {
    for (const node of nodes) {
      node.signal('SIGCONT');
      await node.remove();
    }
  });

  it('may lose and regain each of its nodes, with one of them for all that is written', async () => {
    const { ledger } = await underLoad(url(first, second), async () => {
      await nodes[2]!.end('SIGKILL');
      await pause(SECONDS * 1_000);
      await nodes[2]!.start();
      await pause(SECONDS * 1_000);
      await first.end('SIGKILL');
      await pause(SECONDS * 4_000);
    });
    expect(ledger.statuses.get('POST 201')).toBeGreaterThan(0);
    expect(performance.now() - ledger.lastAdded).toBeLessThan(30_000);
  });

  it('acknowledges each pet under its own id on an instance for each of two nodes, while nodes leave and come back', async () => {
    await underLoad([url(first), url(second)], async () => {
      for (let i = 0; i < 2; i++) {
        await nodes[2]!.end(i % 2 === 0 ? 'SIGTERM' : 'SIGKILL');
        await pause(SECONDS * 1_000);
        await nodes[2]!.start();
        await pause(SECONDS * 1_000);
      }
    });
  });

  it('is answered for by 503 without a quorum, and goes on when there is one', async () => {
    const { ledger } = await underLoad(url(first), async () => {
      nodes[1]!.signal('SIGSTOP');
      nodes[2]!.signal('SIGSTOP');
      await pause(8_000);
      nodes[1]!.signal('SIGCONT');
      nodes[2]!.signal('SIGCONT');
      await pause(8_000);
    });
    expect(ledger.statuses.get('POST 201')).toBeGreaterThan(0);
  });

  it('lets two first starts on two nodes make the schema once', async () => {
    const folder = new WorkingFolder(buildProgram());
    try {
      for (let i = 0; i < FIRST_STARTS; i++) {
        const name = `first_${i}`;
        await say(first, `CREATE DATABASE ${name}`);
        const services = await Promise.all(
          [first, second].map(async ({ port }) =>
            startReady(folder, await freePort(), {
              NODE_ENV: 'production',
              API_KEYS: KEY,
              DATABASE_URL: `mariadb://root@127.0.0.1:${port}/${name}`,
            }),
          ),
        );
        for (const service of services) expect(await service.end('SIGTERM')).toBe(0);
        const rows = await say(second, 'SET SESSION wsrep_sync_wait = 7', name).then(() =>
          say(second, 'SELECT name, COUNT(*) AS times FROM migrations GROUP BY name HAVING times > 1', name),
        );
        expect(rows).toEqual([]);
      }
    } finally {
      await folder.remove();
    }
  });
});
