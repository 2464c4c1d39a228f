import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Connection } from '../support/connection.js';
import { describeOnServers } from '../support/on-servers.js';
import { buildProgram } from '../support/program.js';
import { describeBehind, nginx, ReverseProxy, ReverseProxyKind } from '../support/reverse-proxy.js';
import { freePort } from '../support/servers.js';
import { startReady } from '../support/start-ready.js';
import { StoreKind, TestStore } from '../support/stores.js';
import { RunningService, WorkingFolder } from '../support/working-folder.js';
import { KEY, Traffic } from './traffic.js';

// Not a spec: `npm run test:rolling` runs it.

/** How often an instance behind nginx is replaced. */
const RESTARTS = Number(process.env.ROLLING_RESTARTS ?? 4);

/** How often a service is stopped that its clients talk to directly. */
const STOPS = Number(process.env.STOPS ?? 5);

/** How many clients keep their connection, and how many make one for each request. */
const CLIENTS = 32;
const VISITORS = 16;

/** For how long a silent connection is kept in a stop, in milliseconds: the setting's default. */
const LINGER = 1_000;

/** Within what time a stop must be done, in milliseconds: half of what STOP_TIMEOUT allows. */
const STOP_TIME = 5_000;

const ENVIRONMENT = { NODE_ENV: 'production', LOG_LEVEL: 'error', API_KEYS: KEY };

const pause = (time: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, time));

/**
 * How nginx has to be told to lose nothing; the service needs no setting of its own, and no `STOP_DELAY`. nginx repeats a POST only if it
 * could not connect, so what it connects to must answer.
 * - `max_fails=0`: an instance that refuses is asked again with the next request. Else it is set aside for 10 seconds, and if the
 *   other one is replaced within these there is none left.
 * - `keepalive` for as many connections as clients ask at a time: none has to be made while an instance is being stopped.
 * - `keepalive_timeout` below `STOP_LINGER` (1 s): nginx gives a silent connection up before a service that is being stopped does.
 */
const BEHIND_NGINX = nginx('nginx', { ofEach: 'max_fails=0', ofAll: 'keepalive_timeout 500ms;' });

/** Stops a service, expects it to end in order and in time, and resolves to how long that took, in milliseconds. */
async function stop(service: RunningService): Promise<number> {
  const begun = performance.now();
  const code = await service.end('SIGTERM');
  const took = performance.now() - begun;
  expect({ code, log: service.log }).toEqual({ code: 0, log: expect.not.stringContaining('cut off') });
  expect(took).toBeLessThan(STOP_TIME);
  return took;
}

let folder: WorkingFolder;

beforeAll(() => {
  folder = new WorkingFolder(buildProgram());
});

afterAll(() => folder.remove());

describeBehind('behind $name', [BEHIND_NGINX], (kindOfProxy) =>
  describeOnServers(
    'two instances on one $name',
    (kindOfStore) =>
      describe.each([1, 2])('of %i processes each', (workers) => rolling(kindOfProxy, kindOfStore, workers)),
    'PostgreSQL',
  ),
);

function rolling(kindOfProxy: ReverseProxyKind, kindOfStore: StoreKind, workers: number): void {
  let store: TestStore;
  let proxy: ReverseProxy;
  const instances: { readonly port: number; service: RunningService }[] = [];

  const start = (port: number) =>
    startReady(folder, port, { ...ENVIRONMENT, WEB_CONCURRENCY: String(workers), DATABASE_URL: store.url });

  beforeAll(async () => {
    store = await kindOfStore.create();
    for (const port of [await freePort(), await freePort()]) instances.push({ port, service: await start(port) });
    proxy = await ReverseProxy.start(
      kindOfProxy,
      instances.map(({ port }) => port),
    );
  }, 60_000);

  afterAll(async () => {
    await proxy.remove();
    for (const { service } of instances) await service.end('SIGTERM');
    await store.remove();
  });

  it(
    'are replaced in turn under load without a failed request',
    async () => {
      const traffic = new Traffic();
      const over = new AbortController();
      const clients = Array.from({ length: CLIENTS }, () => useUntil(over.signal, proxy.port, traffic));
      const times = [];
      try {
        for (let i = 0; i < RESTARTS; i++) {
          const instance = instances[i % 2] as (typeof instances)[number];
          await pause(200);
          times.push(await stop(instance.service));
          instance.service = await start(instance.port);
        }
      } finally {
        over.abort();
        await Promise.all(clients);
      }
      process.stdout.write(
        `rolling test, ${workers} processes: ${RESTARTS} restarts, ${traffic.answered} answers, ${traffic.added.length} pets added, ` +
          `${traffic.problems.length} problems, longest stop ${Math.max(...times).toFixed()} ms\n${linesOfNote(proxy.log)}`,
      );
      await traffic.expectAllThere(proxy.port);
    },
    60_000 + RESTARTS * 10_000,
  );
}

/** What nginx said, save that an instance was not there, upon which it asks the other one. */
const linesOfNote = (log: string): string => log.replace(/^.*Connection refused.*\n/gm, '');

/** Sends one request after another to nginx, on a connection that is kept for as long as nginx keeps it. */
async function useUntil(over: AbortSignal, port: number, traffic: Traffic): Promise<void> {
  let connection: Connection | undefined;
  while (!over.aborted) {
    connection ??= await Connection.open(port);
    try {
      const answer = await traffic.exchange(connection);
      if (answer.header('Connection') !== 'close') continue;
    } catch (error) {
      traffic.problems.push((error as Error).message);
    }
    connection.destroy();
    connection = undefined;
  }
  connection?.destroy();
}

describe.each([1, 2])('a service by %i processes that is stopped under load', (workers) => {
  it(
    'answers what was sent before it told a connection to close',
    async () => {
      const traffic = new Traffic();
      const port = await freePort();
      const variables = {
        ...ENVIRONMENT,
        WEB_CONCURRENCY: String(workers),
        DATABASE_URL: `sqlite:./stopped-${workers}.sqlite`,
      };
      const times = [];
      const ends = { told: 0, silent: 0 };
      for (let i = 0; i < STOPS; i++) {
        const service = await startReady(folder, port, variables);
        const clients = await Promise.all(
          Array.from({ length: CLIENTS }, async (_, client) => {
            const connection = await Connection.open(port);
            // The first answer shows that the service, and not only the system, has taken the connection.
            await traffic.exchange(connection);
            return { end: useUntilClosed(connection, traffic, THINKING[client % THINKING.length]) };
          }),
        );
        const visitors = Array.from({ length: VISITORS }, () => connectUntilRefused(port, traffic));
        await pause(300 + 500 * Math.random());
        times.push(await stop(service));
        await Promise.all(visitors);
        for (const { end } of clients) ends[await end]++;
      }
      process.stdout.write(
        `stop test, ${workers} processes: ${STOPS} stops, ${traffic.answered} answers, ${traffic.added.length} pets added, ` +
          `${ends.told} connections told to close, ${ends.silent} closed in silence, ` +
          `${traffic.problems.length} problems, longest stop ${Math.max(...times).toFixed()} ms\n`,
      );
      const service = await startReady(folder, port, variables);
      await traffic.expectAllThere(port);
      await stop(service);
    },
    60_000 + STOPS * 10_000,
  );
});

/** Connects for each request until that is refused, as it is by a service that has stopped. A connection that was made must be answered. */
async function connectUntilRefused(port: number, traffic: Traffic): Promise<void> {
  for (;;) {
    let connection: Connection | undefined;
    try {
      connection = await Connection.open(port);
      await traffic.exchange(connection);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED')
        traffic.problems.push(`A visitor: ${String(error)}`);
      return;
    } finally {
      connection?.destroy();
    }
  }
}

/** The longest that a client waits behind an answer, in milliseconds: half of them not at all, one in four longer than the service does. */
const THINKING = [0, 0, 0.5 * LINGER, 2 * LINGER];

/**
 * Sends one request after another on one connection until the service closes it, and resolves to whether it was told so by an answer.
 * Anything but that is a problem, unless the connection had been silent for as long as the service keeps a silent one.
 */
async function useUntilClosed(connection: Connection, traffic: Traffic, thinking = 0): Promise<'told' | 'silent'> {
  let closedAt = Infinity;
  void connection.closed.then(() => (closedAt = performance.now()));
  for (;;) {
    const since = performance.now();
    if (thinking > 0) await Promise.race([pause(thinking * Math.random()), connection.closed]);
    const silence = Math.min(performance.now(), closedAt) - since;
    try {
      const answer = await traffic.exchange(connection);
      if (answer.header('Connection') !== 'close') continue;
      await connection.closed;
      if (connection.rest !== '' || connection.broke) traffic.problems.push('A last answer was not the end.');
      return 'told';
    } catch (error) {
      // The clocks of both sides begin with the same answer, give or take what the machine was busy with.
      if (silence < 0.9 * LINGER) {
        traffic.problems.push(`Behind ${silence.toFixed()} ms of silence: ${(error as Error).message}`);
      }
      return 'silent';
    }
  }
}
