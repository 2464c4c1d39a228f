import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { KeyExpiry } from '../../src/adapters/persistence/typeorm/pets/key-expiry.js';
import { DatabaseUnavailable } from '../../src/application/errors.js';
import { laterTurn } from '../support/fresh-store.js';

const MINUTE = 60_000;

const clear = jest.fn<() => Promise<number>>();
const lines: string[] = [];
let expiry: KeyExpiry;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance', 'Date'] });
  clear.mockReset().mockResolvedValue(0);
  lines.length = 0;
  expiry = new KeyExpiry(clear, (line) => lines.push(line));
});

afterEach(() => {
  expiry.close();
  jest.useRealTimers();
});

/** How many statements have been sent after so many more minutes. */
async function sentAfter(minutes: number): Promise<number> {
  for (let i = 0; i < minutes; i++) {
    jest.advanceTimersByTime(MINUTE);
    await laterTurn();
  }
  return clear.mock.calls.length;
}

it('without requests with a key, expired keys are cleared once an hour', async () => {
  expect(await sentAfter(59)).toBe(0);
  expect(await sentAfter(1)).toBe(1);
});

it('expired keys are cleared within a minute after a request with a key, until none is left', async () => {
  clear.mockResolvedValueOnce(100).mockResolvedValueOnce(7);
  expiry.note();
  expect(await sentAfter(1)).toBe(3);
  expect(await sentAfter(5)).toBe(3);
});

it('expired keys are cleared once at a time', async () => {
  let end = (): void => undefined;
  clear.mockImplementationOnce(() => new Promise((resolve) => (end = () => resolve(0))));
  expiry.note();
  expect(await sentAfter(1)).toBe(1);
  expiry.note();
  expect(await sentAfter(2)).toBe(1);
  end();
  expect(await sentAfter(2)).toBe(2);
});

it('a failure to clear them is reported, unless the database says why itself, and the next round works', async () => {
  clear.mockRejectedValueOnce(new Error('Locked.')).mockRejectedValueOnce(new DatabaseUnavailable('Down.'));
  for (const expected of [1, 2, 3]) {
    expiry.note();
    expect(await sentAfter(1)).toBe(expected);
  }
  expect(lines).toEqual(['Clearing expired idempotency keys failed: Locked.']);
});

it('nothing is sent once it is closed', async () => {
  expiry.note();
  expiry.close();
  expect(await sentAfter(60)).toBe(0);
});
