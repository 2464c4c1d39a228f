import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { MemoryApiKeyRepository } from '../../src/adapters/persistence/memory/memory-api-key.repository.js';
import { MemoryPetRepository } from '../../src/adapters/persistence/memory/memory-pet.repository.js';
import { ScheduledTasks } from '../../src/adapters/scheduled-tasks.js';
import { Authenticator } from '../../src/application/keys/authenticator.js';
import { PetService } from '../../src/application/pets/pet.service.js';
import { laterTurn } from '../support/fresh-store.js';

const MINUTE = 60_000;

const pets = new MemoryPetRepository();
const service = new PetService(pets);
const keys = new MemoryApiKeyRepository();
let tasks: ScheduledTasks;
const deletions = jest.spyOn(pets, 'deleteIdempotencyKeys');

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance', 'Date'] });
  deletions.mockClear();
  tasks = new ScheduledTasks(new Authenticator(keys, () => []), service);
  tasks.onModuleInit();
});

afterEach(async () => {
  await tasks.onApplicationShutdown();
  jest.useRealTimers();
});

/** How many deletions have begun after so many more minutes. */
async function deletionsAfter(minutes: number): Promise<number> {
  for (let i = 0; i < minutes; i++) {
    jest.advanceTimersByTime(MINUTE);
    await laterTurn();
  }
  return deletions.mock.calls.length;
}

const create = (key?: string) =>
  service.create({ name: 'Bella', categoryId: 1n }, key ? { scope: 'a', key } : undefined);

it('send the database nothing without work, but delete expired idempotency keys once an hour', async () => {
  const others = [jest.spyOn(keys, 'recordUses'), jest.spyOn(pets, 'check')];
  await create();
  expect(await deletionsAfter(59)).toBe(0);
  expect(await deletionsAfter(1)).toBe(1);
  for (const other of others) expect(other).not.toHaveBeenCalled();
});

it('delete expired idempotency keys within a minute after a create with one, once at a time', async () => {
  await create('one');
  expect(await deletionsAfter(2)).toBe(1);
  let end = (): void => undefined;
  deletions.mockImplementationOnce(() => new Promise((resolve) => (end = () => resolve(0))));
  await create('two');
  expect(await deletionsAfter(1)).toBe(2);
  await create('three');
  expect(await deletionsAfter(2)).toBe(2);
  end();
  expect(await deletionsAfter(2)).toBe(3);
});
