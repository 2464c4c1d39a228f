import { expect, it, jest } from '@jest/globals';
import { DatabaseState } from '../../src/adapters/persistence/typeorm/database-state.js';
import { DatabaseUnavailable } from '../../src/application/errors.js';

it('opens a database once for all, again after a failure, and not for a second while it is paused', async () => {
  const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
  const connect = jest.fn<() => Promise<void>>().mockRejectedValueOnce(new Error('refused')).mockResolvedValue();
  const state = new DatabaseState(connect, () => undefined);
  await expect(Promise.all([state.open(), state.open()])).rejects.toThrow('refused');
  expect(connect).toHaveBeenCalledTimes(1);
  await Promise.all([state.open(), state.open()]);
  expect(connect).toHaveBeenCalledTimes(2);
  state.pause(new DatabaseUnavailable('wrong password'));
  clock.mockReturnValue(999);
  await expect(state.open()).rejects.toThrow('wrong password');
  expect(connect).toHaveBeenCalledTimes(2);
  clock.mockReturnValue(1_000);
  await Promise.all([state.open(), state.open()]);
  expect(connect).toHaveBeenCalledTimes(3);
  clock.mockRestore();
});
