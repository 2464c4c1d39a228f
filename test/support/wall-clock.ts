import { jest } from '@jest/globals';

/** Sets the wall clock alone: timers and `performance.now()` are real. Undone by `jest.useRealTimers()`. */
export function setWallClock(now: number): void {
  const timers = [
    'setTimeout',
    'setInterval',
    'setImmediate',
    'clearTimeout',
    'clearInterval',
    'clearImmediate',
  ] as const;
  jest.useFakeTimers({ now, doNotFake: [...timers, 'hrtime', 'nextTick', 'performance', 'queueMicrotask'] });
}
