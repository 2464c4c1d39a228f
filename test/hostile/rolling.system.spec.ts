import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { Connection } from '../support/connection.js';
import { newPetJson } from '../support/fields.js';
import { KEY, Ledger, pause } from '../support/ledger.js';
import { buildOther, buildProgram } from '../support/program.js';
import { EXAMPLES, nginx, ReverseProxy } from '../support/reverse-proxy.js';
import { freePort } from '../support/servers.js';
import { startReady } from '../support/start-ready.js';
import { mariadb, postgres, sqlite, StoreKind, TestStore } from '../support/stores.js';
import { RunningService, WorkingFolder } from '../support/working-folder.js';

/** How often an instance is replaced, or a service is stopped. */
const RESTARTS = Number(process.env.RESTARTS ?? 2);

const CLIENTS = 32;

/** For how long a silent connection is kept in a graceful shutdown, in milliseconds. */
const LINGER = 1_000;

/** Within what time a graceful shutdown must be done, in milliseconds: half of what STOP_TIMEOUT allows. */
const STOP_TIME = 5_000;

/**
 * The settings by which nginx loses nothing. It repeats a POST only if it could not connect, so what it connects to
 * must answer.
 * - `max_fails=0`: an instance that refuses is tried again with the next request. Else it is set aside for 10 seconds,
 *   and if the other one is replaced within these there is none left.
 * - `keepalive` for as many connections as clients send at a time: none is made while an instance is being stopped.
 * - `keepalive_timeout` below a second: nginx gives a silent connection up before a service that is being stopped does.
 */
const BEHIND_NGINX = nginx('nginx', { server: 'max_fails=0', upstream: 'keepalive_timeout 500ms;' });

let folder: WorkingFolder;
let store: TestStore;

beforeEach(() => {
  folder = new WorkingFolder(buildProgram());
});

afterEach(async () => {
  await folder.remove();
  await store.remove();
});

const start = (of: WorkingFolder, port: number, workers: number, stopDelay = 0): Promise<RunningService> => {
  const variables = { NODE_ENV: 'production', LOG_LEVEL: 'error', API_KEYS: KEY, WEB_CONCURRENCY: String(workers) };
  return startReady(of, port, { ...variables, STOP_DELAY: String(stopDelay), DATABASE_URL: store.url });
};

/** Stops a service, and expects a graceful shutdown in time. */
async function stop(service: RunningService, stopDelay = 0): Promise<void> {
  const begun = performance.now();
  expect({ code: await service.end('SIGTERM'), log: service.log }).toMatchObject({ code: 0 });
  expect(performance.now() - begun).toBeLessThan(STOP_TIME + stopDelay);
}

/** Replaces the instances behind a proxy under load, in turn, by those of these builds; no request may fail. */
async function replace(
  workers: number,
  builds: readonly WorkingFolder[],
  kind = BEHIND_NGINX,
  stopDelay = 0,
): Promise<void> {
  const ports = [await freePort(), await freePort()];
  const instances = [
    await start(folder, ports[0]!, workers, stopDelay),
    await start(folder, ports[1]!, workers, stopDelay),
  ];
  const proxy = await ReverseProxy.start(kind, ports);
  const ledger = new Ledger([proxy.port]);
  try {
    ledger.start(CLIENTS);
    for (const [i, build] of builds.entries()) {
      // With STOP_DELAY, the checks of the proxy have found the instance before.
      await pause(200 + stopDelay);
      await stop(instances[i % 2] as RunningService, stopDelay);
      instances[i % 2] = await start(build, ports[i % 2] as number, workers, stopDelay);
    }
    await pause(200);
    await ledger.stop();
    await ledger.check();
    process.stdout.write(`${builds.length} replaced: ${ledger.summary()}`);
    if (ledger.problems.length > 0) process.stdout.write(proxy.log);
    expect(ledger.problems.slice(0, 20)).toEqual([]);
    for (const service of instances) await stop(service, stopDelay);
  } finally {
    await ledger.stop();
    await proxy.remove();
  }
}

// On a machine without an idle processor, the kernel may reset a connection that reaches two processes between their last
// look for connections and the end of listening, and nginx repeats no POST: not beside the other steps of `.ci/run`.
it.each([
  ['[short] ', 1],
  ['', 2],
])(
  '%stwo instances of %i process(es) are replaced in turn without a failed request',
  async (_form, workers) => {
    store = await postgres.create();
    await replace(workers, Array<WorkingFolder>(RESTARTS).fill(folder));
  },
  120_000 + RESTARTS * 10_000,
);

it.each(EXAMPLES)(
  'two instances behind $name are replaced in turn without a failed request',
  async (example) => {
    store = await postgres.create();
    await replace(1, Array<WorkingFolder>(RESTARTS).fill(folder), example, 3_000);
  },
  120_000 + RESTARTS * 20_000,
);

describe('a newer build, which has one migration more', () => {
  let newer: WorkingFolder;

  beforeEach(() => {
    newer = new WorkingFolder(buildOther('newer', addMigration));
  });

  afterEach(async () => {
    await newer.remove();
    rmSync(dirname(newer.program), { recursive: true });
  });

  const upgrade = async (kind: StoreKind) => {
    store = await kind.create();
    // The first of the newer build changes the schema; the older one goes on, starts again, and is replaced.
    await replace(1, [newer, folder, folder, newer, newer]);
  };

  it('[short] replaces the older one on PostgreSQL, and works beside it', () => upgrade(postgres), 120_000);

  it('replaces the older one on MariaDB, and works beside it', () => upgrade(mariadb), 120_000);
});

/** Adds a migration that adds a column, where the first migration is listed. */
function addMigration(files: Map<string, string>): void {
  const first = /import \{ (CreateTables\d+) \} from '(\.[^']*\/)[^/']+';\n/;
  const [path, text] = [...files].find(([, text]) => first.test(text)) ?? [];
  const [line, name, folder] = first.exec(text ?? '') ?? [];
  if (path === undefined || text === undefined || line === undefined) throw new Error('No list of migrations.');
  const added = text.replace(line, `${line}import { AddBreed1900000000000 } from '${folder}add-breed.js';\n`);
  files.set(path, added.replace(new RegExp(`\\[\\s*${name}`), `[${name}, AddBreed1900000000000`));
  files.set(
    `${dirname(path)}/${folder}add-breed.ts`,
    `export class AddBreed1900000000000 {
      up(runner) {
        return runner.query('ALTER TABLE pet ADD COLUMN breed varchar(100) NULL');
      }
      down(runner) {
        return runner.query('ALTER TABLE pet DROP COLUMN breed');
      }
    }`,
  );
}

it.each([1, 2])(
  'a service of %i process(es) that is stopped under load answers what was sent before it closed a connection',
  async (workers) => {
    store = await sqlite.create();
    const port = await freePort();
    const problems: string[] = [];
    let created = 0;
    for (let i = 0; i < RESTARTS; i++) {
      const service = await start(folder, port, workers);
      const clients = Array.from({ length: CLIENTS }, async (_, client) =>
        useUntilClosed(await Connection.open(port), THINKING[client % THINKING.length] as number, problems),
      );
      await pause(300 + 500 * Math.random());
      await stop(service);
      for (const each of await Promise.all(clients)) created += each;
    }
    const service = await start(folder, port, workers);
    expect(problems).toEqual([]);
    expect(await new Ledger([port]).count()).toBe(created);
    await stop(service);
  },
  60_000 + RESTARTS * 10_000,
);

/** The longest that a client waits before its next request, in milliseconds; some longer than the service does. */
const THINKING = [0, 0, 0.5 * LINGER, 2 * LINGER];

/**
 * Creates one pet after another on one connection until the service closes it; resolves to how many. Anything but an
 * end behind a response with `Connection: close` is a problem, unless the connection had been silent for as long as the
 * service keeps a silent one.
 */
async function useUntilClosed(connection: Connection, thinking: number, problems: string[]): Promise<number> {
  const body = newPetJson();
  const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json`;
  let closedAt = Infinity;
  void connection.closed.then(() => (closedAt = performance.now()));
  for (let created = 0; ; created++) {
    const since = performance.now();
    if (thinking > 0) await Promise.race([pause(thinking * Math.random()), connection.closed]);
    const silence = Math.min(performance.now(), closedAt) - since;
    try {
      connection.write(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
      const response = await connection.answer();
      if (response.status !== 201) problems.push(`${response.status} ${response.body}`);
      if (response.header('Connection') !== 'close') continue;
      await connection.closed;
      if (connection.rest !== '' || connection.broke) problems.push('The last response was not the end.');
      return created + 1;
    } catch (error) {
      if (silence < 0.9 * LINGER)
        problems.push(`After ${silence.toFixed()} ms of silence: ${(error as Error).message}`);
      return created;
    }
  }
}
