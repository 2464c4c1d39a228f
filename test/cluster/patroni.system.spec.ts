import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { pause } from '../support/ledger.js';
import { expectRecovery, underLoad } from './instances.js';
import { PatroniCluster } from './patroni.js';

describe('a PostgreSQL under Patroni with synchronous_mode, behind HAProxy', () => {
  let cluster: PatroniCluster;

  beforeAll(async () => {
    cluster = await PatroniCluster.start();
  });

  afterAll(() => cluster?.remove());

  it('[short] may change places with its standby', async () => {
    const pair = await cluster.settled();
    await underLoad(await cluster.newDatabase(pair.primary), async (ledger) => {
      const switched = cluster.switchOver(pair);
      await cluster.untilPrimary(pair.standby);
      await expectRecovery(ledger);
      await switched;
    });
  });

  it('loses nothing when Patroni and the PostgreSQL of the primary are killed', async () => {
    const { primary, standby } = await cluster.settled();
    await underLoad(await cluster.newDatabase(primary), async (ledger) => {
      // The standby falls behind before: what is acknowledged though it lacks it would be lost.
      const [[receiver]] = (await cluster.ask(standby, 'SELECT pid FROM pg_stat_wal_receiver')) as [[number]];
      process.kill(receiver, 'SIGSTOP');
      await pause(500);
      await primary.kill();
      for (const signal of ['SIGTERM', 'SIGCONT'] as const) process.kill(receiver, signal);
      await cluster.untilPrimary(standby);
      await expectRecovery(ledger);
      await primary.start();
    });
  });
});
