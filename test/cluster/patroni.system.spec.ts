import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FOUND, SECONDS, underLoad } from './instances.js';
import { Ledger, pause } from './ledger.js';
import { Member, PatroniCluster, ask } from './patroni.js';

// Not a spec: `npm run test:cluster` runs it.

/** Within what time Patroni has a primary again: its ttl, and some time for a busy machine, in milliseconds. */
const PATIENCE = 40_000;

/** How the two instances come to the database. */
const WAYS = ['HAProxy', 'hosts'] as const;

describe('a PostgreSQL under Patroni, by HAProxy and by several hosts at once', () => {
  let cluster: PatroniCluster;
  let databases = 0;

  beforeAll(async () => {
    cluster = await PatroniCluster.start();
  });

  afterAll(() => cluster?.remove());

  type Happening = (pair: { primary: Member; standby: Member }, ledger: Ledger, ports: readonly number[]) => unknown;

  /** Has something happen to the primary and its standby while an instance of each way works, and expects no answers but those that may be. */
  async function faced(happening: Happening): Promise<void> {
    const pair = await cluster.settled();
    const database = `pets_${++databases}`;
    await ask(pair.primary, `CREATE DATABASE ${database}`);
    const [first, second] = WAYS.map((way) => cluster.url(way, database)) as [string, string];
    const { ledger } = await underLoad([first, second], async (ledger, ports) => {
      expect([...ledger.statuses.keys()].sort()).toEqual(['GET 200', 'POST 201']);
      await happening(pair, ledger, ports);
    });
    const others = [...ledger.statuses.keys()].filter((what) => !/^(GET (200|503)|POST (201|409|503))$/.test(what));
    expect(others).toEqual([]);
  }

  /** Resolves once this is so; rejects if it takes too long. */
  async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    const begun = performance.now();
    while (!(await isSo())) {
      if (performance.now() - begun > PATIENCE)
        throw new Error(`What was waited for is not so after ${PATIENCE} ms: ${isSo.toString()}`);
      await pause(10);
    }
  }

  /** Expects both ways to be found in time once there is a primary, be it another one or the same. */
  async function expectFound(
    ledger: Ledger,
    ports: readonly number[],
    isIt: (primary: Member) => boolean = () => true,
  ): Promise<void> {
    const fault = performance.now();
    await until(async () => {
      const primary = await cluster.primary();
      return primary !== undefined && isIt(primary);
    });
    const promoted = performance.now();
    const added = ports.map(async (port) => {
      await until(() => (ledger.creates.get(port) ?? 0) > promoted);
      return (ledger.creates.get(port) as number) - promoted;
    });
    const creates = await Promise.all(added);
    await pause(FOUND);
    const reads = ports.map((port) => Math.max(0, (ledger.failedReads.get(port) ?? 0) - promoted));
    const seen = WAYS.map((way, i) => `by ${way} ${Math.round(creates[i]!)} ms and ${Math.round(reads[i]!)} ms`);
    console.log(
      `a primary ${Math.round(promoted - fault)} ms after the fault; first create and last failed read after that: ${seen.join(', ')}`,
    );
    expect(Math.max(...creates, ...reads)).toBeLessThan(FOUND);
  }

  it('may change places', async () => {
    await faced(async ({ primary, standby }, ledger, ports) => {
      const switched = cluster.switchOver(primary, standby);
      await expectFound(ledger, ports, (now) => now === standby);
      await switched;
    });
  });

  it('loses nothing when the PostgreSQL of the primary is killed', async () => {
    await faced(async ({ primary }, ledger, ports) => {
      primary.killPostgres();
      await expectFound(ledger, ports);
    });
  });

  it('loses nothing when Patroni and the PostgreSQL of the primary are killed', async () => {
    await faced(async ({ primary, standby }, ledger, ports) => {
      // The standby falls behind before: what is acknowledged though it lacks it would be lost.
      const [receiver] = await ask(standby, 'SELECT pid FROM pg_stat_wal_receiver');
      process.kill(receiver?.pid as number, 'SIGSTOP');
      await pause(500);
      await primary.kill();
      for (const signal of ['SIGTERM', 'SIGCONT']) process.kill(receiver?.pid as number, signal);
      await expectFound(ledger, ports, (now) => now === standby);
      await primary.start();
    });
  });

  it('keeps reads going when Patroni and the PostgreSQL of the standby are killed', async () => {
    await faced(async ({ standby }, ledger, ports) => {
      await standby.kill();
      const killed = performance.now();
      // A create that comes after the standby was missed.
      for (const port of ports) await until(() => (ledger.creates.get(port) ?? 0) > killed + FOUND);
      await standby.start();
      expect(ledger.lastFailedRead).toBe(0);
    });
  });

  it('loses nothing when all of it is restarted', async () => {
    await faced(async (_pair, ledger, ports) => {
      await cluster.stopAll();
      const started = cluster.startAll();
      await expectFound(ledger, ports);
      await started;
      await pause(SECONDS * 1_000);
    });
  });
});
