import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Libsql from 'libsql';
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

describe('a backup under load', () => {
  it(
    'is whole if the file is there, whenever it is killed',
    async () => {
      await prepare(sqlite);
      await start();
      ledger.start(CLIENTS);
      await created(100);
      for (let attempt = 0; attempt < 4 * KILLS; attempt++) {
        const before = ledger.created;
        const target = join(folder.path, `backup-${attempt}.sqlite`);
        const main = join(folder.program, 'src/main.js');
        const env = { PATH: process.env.PATH, DATABASE_URL: store.url };
        const backup = spawn(process.execPath, [main, 'backup', target], { env, stdio: 'ignore' });
        const closed = once(backup, 'close') as Promise<[number | null]>;
        // The last one is left alone.
        if (attempt < 4 * KILLS - 1) {
          while (!hasFileOf(attempt) && backup.exitCode === null) await pause(1);
          await pause(20 * Math.random());
          backup.kill('SIGKILL');
        }
        const [code] = await closed;
        if (code === 0) expect(existsSync(target)).toBe(true);
        if (existsSync(target)) expect(petsIn(target)).toBeGreaterThanOrEqual(before);
      }
      await ledger.stop();
      await ledger.check();
      expect(ledger.problems).toEqual([]);
    },
    60_000 + KILLS * 10_000,
  );
});

/** Whether a backup has begun to write, be it under a temporary name. */
const hasFileOf = (attempt: number): boolean =>
  readdirSync(folder.path).some((name) => name.includes(`backup-${attempt}.sqlite`));

/** How many pets a file has, which must be sound. */
function petsIn(file: string): number {
  const database = new Libsql(file);
  try {
    expect(database.prepare('PRAGMA integrity_check').raw().get()).toEqual(['ok']);
    return (database.prepare('SELECT count(*) FROM pet').raw().get() as [number])[0];
  } finally {
    database.close();
  }
}
