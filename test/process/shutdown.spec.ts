import type { Server } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it, jest } from '@jest/globals';
import type { ConnectionQueue } from '../../src/adapters/http/server/connection-queue.js';
import { closeGracefully } from '../../src/adapters/http/server/shutdown.js';
import { Log } from '../../src/adapters/observability/log.js';
import { shutdownOnSignal } from '../../src/process/shutdown.js';
import { readSettings } from '../../src/settings/settings.js';

afterEach(() => {
  process.exitCode = undefined;
  jest.restoreAllMocks();
});

it('a shutdown whose last step fails says so, and ends with exit code 1', async () => {
  const handlers: (() => void)[] = [];
  jest.spyOn(process, 'on').mockImplementation((_event, handler: () => void) => {
    handlers.push(handler);
    return process;
  });
  const exited = new Promise<unknown>((resolve) =>
    jest.spyOn(process, 'exit').mockImplementation((code) => resolve(code ?? process.exitCode) as never),
  );
  let log = '';
  const settings = readSettings({ NODE_ENV: 'production' });
  shutdownOnSignal(new Log(settings, (line) => (log += line)), settings, () =>
    Promise.reject(new Error('A hook failed.')),
  );
  handlers[0]!();
  expect(await exited).toBe(1);
  expect(log).toContain('A hook failed.');
});

it('a shutdown that cuts off a response has exit code 1, however late the event loop is', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const destroyed = jest.fn(() => server.close());
  const socket = { destroy: destroyed, bytesRead: 1, writableLength: 0 } as unknown as Socket;
  const queue = { isResponding: true, stop: () => undefined } as unknown as ConnectionQueue;
  const settings = readSettings({ STOP_DELAY: '50', STOP_TIMEOUT: '200' });
  const closing = closeGracefully(server as Server, new Map([[socket, queue]]), settings);
  const timedOut = delay(settings.STOP_TIMEOUT);
  // The event loop comes to the timers when all of them have ended.
  const begun = performance.now();
  while (performance.now() - begun < 2 * settings.STOP_TIMEOUT);
  await timedOut;
  expect(process.exitCode).toBe(1);
  expect(destroyed).toHaveBeenCalled();
  void closing;
});
