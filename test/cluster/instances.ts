import { expect } from '@jest/globals';
import { KEY, Ledger, pause } from '../support/ledger.js';
import { buildProgram } from '../support/program.js';
import { freePort, TestServer } from '../support/servers.js';
import { query } from '../support/sql.js';
import { startReady } from '../support/start-ready.js';
import { RunningService, until, WorkingFolder } from '../support/working-folder.js';

/** Within what time reads and creates work again once there is a primary, in milliseconds. */
const FAILOVER = 3_000;

/** How long the database works before and after what happens to it, in milliseconds. */
const UNDISTURBED = 1_000;

/** Runs a statement on a PostgreSQL of the test, and resolves to the rows, each of them the values of its columns. */
export const ask = ({ port }: Pick<TestServer, 'port'>, sql: string, user = 'postgres'): Promise<unknown[][]> =>
  query(`postgres://${user}@127.0.0.1:${port}/postgres`, sql);

/** Has clients work with two instances on a database while something happens to it; nothing may be lost. */
export async function underLoad(
  url: string,
  happening: (ledger: Ledger, services: readonly RunningService[]) => Promise<void>,
  variables: Readonly<Record<string, string>> = {},
  timeLimit?: number,
  keys: readonly string[] = [KEY],
): Promise<Ledger> {
  const folder = new WorkingFolder(buildProgram());
  const ports = [await freePort(), await freePort()];
  const ledger = new Ledger(ports, [503, 409], timeLimit);
  ledger.keys = keys;
  try {
    const environment = { NODE_ENV: 'production', API_KEYS: KEY, LOG_LEVEL: 'error', DATABASE_URL: url, ...variables };
    const services = [];
    for (const port of ports) services.push(await startReady(folder, port, environment));
    ledger.start();
    await pause(UNDISTURBED);
    const failed = [...ledger.responses.keys()].filter((response) => /409|503/.test(response));
    expect({ failed, log: services.map((service) => service.log) }).toMatchObject({ failed: [] });
    await happening(ledger, services);
    await pause(UNDISTURBED);
    await ledger.stop();
    await ledger.check();
    process.stdout.write(ledger.summary());
    const log = services.map((service) => service.log.slice(-5_000));
    expect({ problems: ledger.problems.slice(0, 20), log }).toMatchObject({ problems: [] });
    for (const service of services) expect(await service.end('SIGTERM')).toBe(0);
    return ledger;
  } finally {
    await folder.remove();
    await ledger.stop();
  }
}

/** Expects every instance to read and to create again in time, from when there is a primary: now. */
export async function expectRecovery(ledger: Ledger, timeout = FAILOVER): Promise<void> {
  const begun = performance.now();
  await until(() => ledger.hasCreatedSince(begun), timeout);
  const created = performance.now() - begun;
  await pause(UNDISTURBED);
  const failed = Math.max(0, ledger.lastFailedRead - begun);
  process.stdout.write(`creates after ${Math.round(created)} ms, last failed read after ${Math.round(failed)} ms\n`);
  expect(failed).toBeLessThan(timeout);
}
