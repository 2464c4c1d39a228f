import { afterEach, expect, it } from '@jest/globals';
import { freshFolder } from '../support/fresh-folder.js';
import { KEY, Ledger, pause } from '../support/ledger.js';
import { freePort } from '../support/servers.js';
import { startReady } from '../support/start-ready.js';
import { mariadb, postgres, sqlite, TestStore } from '../support/stores.js';

/** How often the service is killed on each engine. */
const KILLS = Number(process.env.CRASH_KILLS ?? 3);

const CLIENTS = 24;

const folder = freshFolder();
let store: TestStore;
let ledger: Ledger;

afterEach(async () => {
  await ledger.stop();
  await store.remove();
});

it.each([sqlite, postgres, mariadb])(
  'a service on $name that is killed under load loses no acknowledged pet, and stores none twice',
  async (kind) => {
    store = await kind.create();
    const port = await freePort();
    const variables = { LOG_LEVEL: 'silent', API_KEYS: KEY, DATABASE_URL: store.url };
    const start = () => startReady(folder(), port, variables);
    // A request is cut off by a kill; the old connection may still be at work on a key when it is sent again.
    ledger = new Ledger([port], [0, 409]);
    for (let kill = 0; kill < KILLS; kill++) {
      const service = await start();
      ledger.start(CLIENTS);
      const enough = ledger.created + 40 + 160 * Math.random();
      while (ledger.created < enough) await pause(1);
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
