import { expect } from '@jest/globals';
import { buildProgram } from '../support/program.js';
import { freePort } from '../support/servers.js';
import { startReady } from '../support/start-ready.js';
import { RunningService, WorkingFolder } from '../support/working-folder.js';
import { KEY, Ledger, pause } from './ledger.js';

/** What was seen of the faults that a cluster was put through. */
export interface Seen {
  readonly ledger: Ledger;
  /** What the instances have logged. */
  readonly log: string;
}

/** How long one fault may take, and how long its effects may, in seconds. */
export const SECONDS = Number(process.env.CLUSTER_SECONDS ?? 1);

/** Within what time reads and creates work again after a promotion, in milliseconds. */
export const FOUND = 2_000;

/** Expects the instances to have found a primary in time that was promoted at this moment of `performance.now()`. */
export async function expectFound(ledger: Ledger, promoted: number): Promise<void> {
  while (ledger.lastAdded < promoted && performance.now() < promoted + 10_000) await pause(10);
  const added = ledger.lastAdded - promoted;
  await pause(FOUND);
  const read = ledger.lastFailedRead - promoted;
  console.log(`first create ${Math.round(added)} ms, last failed read ${Math.round(read)} ms after the promotion`);
  expect(added).toBeGreaterThan(0);
  expect(added).toBeLessThan(FOUND);
  expect(read).toBeLessThan(FOUND);
}

/** Runs two instances on a database, or each on its node of one, under load, once they are ready if they are to be, while something happens to it, and expects each answer to be right and nothing to be lost. */
export async function underLoad(
  url: string | readonly [string, string],
  happening: (ledger: Ledger, ports: readonly number[]) => Promise<void>,
  { isReady = true } = {},
): Promise<Seen> {
  const folder = new WorkingFolder(buildProgram());
  const ports = [await freePort(), await freePort()];
  const ledger = new Ledger(ports);
  try {
    const services = [];
    for (const [i, port] of ports.entries()) {
      const DATABASE_URL = typeof url === 'string' ? url : (url[i] as string);
      const environment = { NODE_ENV: 'production', API_KEYS: KEY, LOG_LEVEL: 'warn', DATABASE_URL };
      services.push(isReady ? await startReady(folder, port, environment) : await listening(folder, port, environment));
    }
    ledger.start();
    await pause(SECONDS * 1_000);
    await happening(ledger, ports);
    await pause(SECONDS * 1_000);
    await ledger.stop();
    await ledger.check();
    const log = services.map((service) => service.log).join('');
    console.log(ledger.summary());
    expect({ problems: ledger.problems.slice(0, 10), log: log.slice(0, 2_000) }).toEqual({
      problems: [],
      log: expect.anything(),
    });
    for (const service of services) expect(await service.end('SIGTERM')).toBe(0);
    return { ledger, log };
  } finally {
    await folder.remove();
    // Its clients would ask for ever.
    await ledger.stop();
  }
}

/** Starts the service on this port, and resolves once it answers, ready or not. */
async function listening(
  folder: WorkingFolder,
  port: number,
  variables: Readonly<Record<string, string>>,
): Promise<RunningService> {
  const service = folder.start({ PORT: String(port), ...variables });
  while (!(await fetch(`http://127.0.0.1:${port}/health/live`).catch(() => undefined))) await pause(50);
  return service;
}
