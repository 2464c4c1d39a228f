import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { KEY, Ledger, pause } from '../support/ledger.js';
import { buildProgram } from '../support/program.js';
import { freePort } from '../support/servers.js';
import { startReady } from '../support/start-ready.js';
import { mariadb, postgres, sqlite, TestStore } from '../support/stores.js';
import { WorkingFolder } from '../support/working-folder.js';
import { Faults, faultsOf } from './faults.js';

/** For how long each engine has faults. */
const SECONDS = Number(process.env.FAULTS_SECONDS ?? 5);

/** What a request may wait for the database, in milliseconds. */
const LIMITS = { STATEMENT_TIMEOUT: '1000' };

/** Within what time a request must be answered: both limits, and some for a busy machine; in milliseconds. */
const TIME_LIMIT = 1_500 + 2_000;

/** Within what time the service must be ready once all faults are over, in milliseconds. */
const RECOVERY = 10_000;

let folder: WorkingFolder;
let store: TestStore;
let faults: Faults | undefined;
let ledger: Ledger;

beforeEach(() => {
  folder = new WorkingFolder(buildProgram());
}, 120_000);

afterEach(async () => {
  await ledger.stop();
  await folder.remove();
  await faults?.close();
  await store.remove();
});

it.each([sqlite, postgres, mariadb])(
  '[short] a service on $name whose database fails at random loses nothing, stores nothing twice, and recovers',
  async (kind) => {
    store = await kind.create();
    faults = await faultsOf(kind.name, store.url);
    const port = await freePort();
    const variables = { ...LIMITS, LOG_LEVEL: 'error', API_KEYS: KEY, DATABASE_URL: faults.url };
    const service = await startReady(folder, port, variables);
    ledger = new Ledger([port], [503, 409], TIME_LIMIT);
    ledger.start();
    const counts: Record<string, number> = {};
    const names = Object.keys(faults.kinds).sort(() => Math.random() - 0.5);
    const end = performance.now() + SECONDS * 1_000;
    for (let i = 0; performance.now() < end; i++) {
      await pause(400 * Math.random());
      const name = names[i % names.length] as string;
      counts[name] = (counts[name] ?? 0) + 1;
      await faults.kinds[name]?.({ pid: service.pid, keyInFlight: ledger.keyInFlight ?? 'none' });
    }
    const recovering = performance.now();
    while ((await fetch(`http://127.0.0.1:${port}/health/ready`)).status !== 200) {
      expect(performance.now() - recovering).toBeLessThan(RECOVERY);
      await pause(20);
    }
    await ledger.stop();
    await ledger.check();
    process.stdout.write(`${kind.name}, ${SECONDS} s, ${JSON.stringify(counts)}: ${ledger.summary()}`);
    expect({ problems: ledger.problems.slice(0, 20), log: service.log.slice(-5_000) }).toMatchObject({ problems: [] });
    expect(ledger.created).toBeGreaterThan(0);
    expect(await service.end('SIGTERM')).toBe(0);
  },
  120_000 + SECONDS * 2_000,
);
