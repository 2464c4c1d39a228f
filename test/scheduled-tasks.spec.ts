import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { MemoryApiKeyRepository } from '../src/adapters/persistence/memory/memory-api-key.repository.js';
import { ScheduledTasks } from '../src/scheduled-tasks.js';
import { DatabaseUnavailable } from '../src/application/errors.js';
import { Authenticator } from '../src/application/keys/authenticator.js';
import { laterTurn } from './support/fresh-store.js';
import { newKey } from './stores/api-key-repository.contract.js';

const keys = new MemoryApiKeyRepository();
const readConfigured = jest.fn(() => ['a-configured-key']);
let warn: ReturnType<typeof spyOnWarnings>;
let authenticator: Authenticator;
let tasks: ScheduledTasks;

const spyOnWarnings = () => jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance', 'Date'] });
  warn = spyOnWarnings();
  authenticator = new Authenticator(keys, readConfigured);
  tasks = new ScheduledTasks(authenticator);
  tasks.onModuleInit();
});

afterEach(async () => {
  await tasks.onApplicationShutdown();
  jest.useRealTimers();
  jest.restoreAllMocks();
});

/** The tasks of so many rounds of five seconds. */
async function pass(rounds = 1): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    jest.advanceTimersByTime(5_000);
    await laterTurn();
  }
}

it('send the database nothing without work', async () => {
  const record = jest.spyOn(keys, 'recordUses');
  await pass(10);
  expect(record).not.toHaveBeenCalled();
});

it('go on after a failure to store the uses of keys, which the log has unless the database says why', async () => {
  const record = jest.spyOn(keys, 'recordUses');
  record.mockRejectedValueOnce(new Error('Locked.')).mockRejectedValueOnce(new DatabaseUnavailable('Down.'));
  authenticator.noteUse(newKey());
  await pass(3);
  expect(record).toHaveBeenCalledTimes(3);
  expect(await keys.uses()).toHaveLength(1);
  expect(warn.mock.calls).toEqual([['Storing the uses of API keys failed: Locked.']]);
});

it('go on with the configured keys that were valid while they cannot be read, which the log has once', async () => {
  readConfigured.mockImplementation(() => {
    throw new Error('API_KEYS_FILE is gone.');
  });
  await pass(3);
  expect(authenticator.hasConfigured).toBe(true);
  expect(warn.mock.calls).toEqual([[expect.stringMatching(/^API_KEYS_FILE is gone\. .* remain valid\.$/)]]);
  readConfigured.mockImplementation(() => []);
  await pass();
  expect(authenticator.hasConfigured).toBe(false);
});
