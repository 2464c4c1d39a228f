import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { buildProgram } from '../support/program.js';
import { KEY, Ledger, pause } from '../support/ledger.js';
import { freePort } from '../support/servers.js';
import { startReady } from '../support/start-ready.js';
import { mariadb, postgres, sqlite, StoreKind, TestStore } from '../support/stores.js';
import { RunningService, WorkingFolder } from '../support/working-folder.js';

/** How often the service is killed on each engine. */
const KILLS = Number(process.env.CRASH_KILLS ?? 3);

const CLIENTS = 24;

let folder: WorkingFolder;
let store: TestStore;
let port: number;
let ledger: Ledger;

/** Starts the service on a new database of this kind, and the ledger of its clients. */
async function prepare(kind: StoreKind): Promise<void> {
  store = await kind.create();
  port = await freePort();
  // A request is cut off by a kill; the old connection may still be at work on a key when it is sent again.
  ledger = new Ledger([port], [0, 409]);
}

const start = (): Promise<RunningService> =>
  startReady(folder, port, { LOG_LEVEL: 'silent', API_KEYS: KEY, DATABASE_URL: store.url });

/** Resolves once so many more pets are acknowledged. */
async function created(more: number): Promise<void> {
  const enough = ledger.created + more;
  while (ledger.created < enough) await pause(1);
}

beforeEach(() => {
  folder = new WorkingFolder(buildProgram());
}, 120_000);

afterEach(async () => {
  await ledger.stop();
  await folder.remove();
  await store.remove();
});

it.each([sqlite, postgres, mariadb])(
  'a service on $name that is killed under load loses no acknowledged pet, and stores none twice',
  async (kind) => {
    await prepare(kind);
    for (let kill = 0; kill < KILLS; kill++) {
      const service = await start();
      ledger.start(CLIENTS);
      await created(40 + Math.floor(160 * Math.random()));
      await service.end('SIGKILL');
      await ledger.stop();
    }
    const service = await start();
    await ledger.check();
    process.stdout.write(`${kind.name}, ${KILLS} kills: ${ledger.summary()}`);
    expect(ledger.problems).toEqual([]);
    expect(await service.end('SIGTERM')).toBe(0);
  },
  60_000 + KILLS * 10_000,
);
