import cluster from 'node:cluster';
import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Settings } from '../../../settings/settings.js';
import type { ConnectionQueue } from './connection-queue.js';

/**
 * How long a worker keeps connections alive after it has stopped listening, in milliseconds: by then all workers have.
 * A client whose connection is closed opens another one at once, which is reset if it arrives as the last worker stops.
 */
const WORKER_SETTLE = 200;

const logger = new Logger('http');

/**
 * Closes the server, and resolves when all connections are closed. `STOP_TIMEOUT` counts from the beginning.
 *
 * | From                  | New connections | Requests                                         | Idle connections |
 * | --------------------- | --------------- | ------------------------------------------------ | ---------------- |
 * | the beginning         | accepted        | handled as ever, but the service is not ready    | stay open        |
 * | `STOP_DELAY`          | refused         | handled; the responses have `Connection: close`  | stay open        |
 * | a second later        | refused         | those in flight are handled                      | closed           |
 * | before `STOP_TIMEOUT` | refused         | those in flight are cut off; the exit code is 1  | closed           |
 */
export async function closeGracefully(
  server: Server,
  queues: ReadonlyMap<Socket, ConnectionQueue>,
  { STOP_DELAY, STOP_TIMEOUT }: Settings,
): Promise<void> {
  // The rest of the time is for the database, the traces and the log. By default a request of the last moment has a
  // second to arrive, and eight to wait for the database. Before anything is waited for: however late the event loop
  // is, this timer ends before that of the process, so that the exit code is right.
  const time = STOP_TIMEOUT - STOP_DELAY;
  const timeout = setTimeout(() => cutOff(queues), STOP_DELAY + Math.max(0.8 * time, time - 500));
  if (server.listening) await delay(STOP_DELAY);
  await untilShortTurn();
  // The `close` of an HTTP server would close kept-alive connections at once, with the requests on their way.
  const closed = new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
  if (cluster.isWorker) await Promise.race([closed, delay(WORKER_SETTLE, undefined, { ref: false })]);
  for (const queue of queues.values()) queue.stop();
  // Every second, as some become idle later. `setImmediate` lets the requests that have arrived be read first.
  const interval = setInterval(() => setImmediate(() => closeIdle(server, [...queues.keys()])), 1_000);
  await closed;
  clearInterval(interval);
  clearTimeout(timeout);
  // Stops Node's timer for slow requests.
  server.close();
}

/**
 * Closes idle connections. Node counts one as active before its first byte, and as idle while an ended response is
 * still being written to a slow client: as long as there is such a client, idle connections stay open.
 */
function closeIdle(server: Server, sockets: readonly Socket[]): void {
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  if (!sockets.some((each) => each.writableLength > 0 || each.writableEnded)) server.closeIdleConnections();
}

function cutOff(queues: ReadonlyMap<Socket, ConnectionQueue>): void {
  const inFlight = [...queues.values()].filter(({ isResponding }) => isResponding).length;
  if (inFlight > 0) {
    process.exitCode = 1;
    logger.error(`Graceful shutdown timed out: ${inFlight} responses in flight were cut off.`);
  }
  for (const socket of queues.keys()) socket.destroy();
}

/**
 * Resolves after a turn of the event loop of less than 0.2 ms, or after 200 turns: during a longer one a connection may
 * have arrived after the last accept, which the end of listening would reset: twice as many are, under a moderate load.
 * `test/http/connections.spec.ts` has a case of it.
 */
async function untilShortTurn(): Promise<void> {
  // Ends the current turn.
  await immediate();
  for (let turn = 0; turn < 200; turn++) {
    const begun = performance.now();
    await immediate();
    if (performance.now() - begun < 0.2) return;
  }
}
