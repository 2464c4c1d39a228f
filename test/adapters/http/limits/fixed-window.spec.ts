import { describe, expect, it } from '@jest/globals';
import { FixedWindows } from '../../../../src/adapters/http/limits/fixed-window.js';

describe('windows', () => {
  it('count each name for a minute from its first on', () => {
    let now = 5_000;
    const windows = new FixedWindows(2, () => now);
    expect(windows.left('a')).toEqual({ remaining: 2, seconds: 60 });
    expect(windows.take('a')).toEqual({ remaining: 1, seconds: 60 });
    now += 59_001;
    expect(windows.take('a')).toEqual({ remaining: 0, seconds: 1 });
    expect(windows.take('a')).toEqual({ remaining: -1, seconds: 1 });
    expect(windows.take('b')).toEqual({ remaining: 1, seconds: 60 });
    now += 999;
    expect(windows.left('a')).toEqual({ remaining: 2, seconds: 60 });
    expect(windows.take('a')).toEqual({ remaining: 1, seconds: 60 });
    expect(windows.left('b')).toEqual({ remaining: 1, seconds: 60 });
  });

  it('are at most 10,000, of which the oldest goes', () => {
    let now = 0;
    const windows = new FixedWindows(2, () => now);
    for (let i = 0; i < 10_001; i++, now++) windows.take(`name ${i}`);
    expect(windows.size).toBe(10_000);
    expect(windows.left('name 0').remaining).toBe(2);
    expect(windows.left('name 1').remaining).toBe(1);
  });

  it('that have ended go when another begins', () => {
    let now = 0;
    const windows = new FixedWindows(2, () => now);
    for (let i = 0; i < 100; i++) windows.take(`name ${i}`);
    now += 60_000;
    windows.take('another');
    expect(windows.size).toBe(1);
  });
});
