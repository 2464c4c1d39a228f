import { afterEach, beforeEach, describe, it } from '@jest/globals';
import { underLoad } from '../cluster/instances.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { Ledger, pause } from '../support/ledger.js';
import { isReady } from '../support/start-ready.js';
import { mariadb, openStoreAt, postgres, sqlite, TestStore } from '../support/stores.js';
import { until } from '../support/working-folder.js';
import { Faults, faultsOf } from './faults.js';

/** For how long each engine has all kinds of faults. */
const SECONDS = Number(process.env.FAULTS_SECONDS ?? 5);

/** How many creates there are in the long form of a history. */
const CREATES = Number(process.env.HISTORY_CREATES ?? 100_000);

/** What a request may wait for the database, in milliseconds. */
const LIMITS = { STATEMENT_TIMEOUT: '1000' };

/** Within what time a request must be answered: both limits, and some for a busy machine; in milliseconds. */
const TIME_LIMIT = 1_500 + 2_000;

/** Within what time the service must be ready once all faults are over, in milliseconds. */
const RECOVERY = 10_000;

/** How many clients there are more when creates are counted: a batch of theirs is killed with its connection. */
const MORE_CLIENTS = 48;

describe.each([sqlite, postgres, mariadb])('two instances on a $name database', (kind) => {
  let store: TestStore;
  let faults: Faults;

  beforeEach(async () => {
    store = await kind.create();
    faults = await faultsOf(kind.name, store.url);
  });

  afterEach(async () => {
    await faults.close();
    await store.remove();
  });

  async function withKeys<T>(use: (keys: ApiKeyService) => Promise<T>): Promise<T> {
    const { keys, close } = await openStoreAt(store.url);
    return use(new ApiKeyService(keys)).finally(close);
  }

  /** Rotates the API key of the clients, who then send the old one and the new one. */
  async function rotate(ledger: Ledger): Promise<void> {
    const [current, old] = ledger.keys;
    ledger.keys = [current!];
    if (old !== undefined) {
      // For requests with it that have not been read yet.
      await pause(1_000);
      await withKeys((keys) => keys.revoke('shop.old'));
    }
    const { text } = await withKeys((keys) => keys.rotate('shop', 3_600_000));
    ledger.keys = [text, current!];
  }

  it(
    '[short] lose nothing, store nothing twice, and recover, whatever fails at random',
    async () => {
      const counts: Record<string, number> = {};
      const names = Object.keys(faults.kinds).sort(() => Math.random() - 0.5);
      const happening: Parameters<typeof underLoad>[1] = async (ledger, services) => {
        const end = performance.now() + SECONDS * 1_000;
        for (let i = 0; performance.now() < end; i++) {
          await pause(400 * Math.random());
          const name = names[i % names.length] as string;
          counts[name] = (counts[name] ?? 0) + 1;
          await faults.kinds[name]?.({ pid: services[i % 2]!.pid, keyInFlight: ledger.keyInFlight ?? 'none' });
        }
        await until(async () => (await Promise.all(ledger.ports.map(isReady))).every(Boolean), RECOVERY);
      };
      await underLoad(faults.url, happening, LIMITS, TIME_LIMIT);
      process.stdout.write(`${kind.name}, ${SECONDS} s: ${JSON.stringify(counts)}\n`);
    },
    120_000 + SECONDS * 2_000,
  );

  it.each([
    ['[short] ', 1_000],
    ['', CREATES],
  ])(
    '%screate one pet for each Idempotency-Key in %i creates while connections are killed, or the file is locked, and ' +
      'the API key is rotated',
    async (_short, creates) => {
      const interrupt = faults.kinds['killed connections'] ?? faults.kinds['lock of another process']!;
      const { text } = await withKeys((keys) => keys.create('shop'));
      const happening: Parameters<typeof underLoad>[1] = async (ledger, [service]) => {
        ledger.start(MORE_CLIENTS);
        for (let i = 0; ledger.creates < creates || i < 4; i++) {
          await pause(1_000 * Math.random());
          await interrupt({ pid: service!.pid, keyInFlight: 'none' });
          if (i % 4 === 0) await rotate(ledger);
        }
      };
      await underLoad(faults.url, happening, {}, undefined, [text]);
    },
    120_000 + CREATES * 20,
  );
});
