import { describe, expect, it } from '@jest/globals';
import { FixedWindows } from '../../../src/adapters/counting/fixed-windows.js';

describe('windows', () => {
  it('count each name for a minute from its first on', () => {
    let now = 5_000;
    const windows = new FixedWindows(() => now);
    expect(windows.take('a')).toMatchObject({ used: 1, seconds: 60 });
    now += 59_001;
    expect(windows.take('a')).toMatchObject({ used: 2, seconds: 1 });
    expect(windows.take('a')).toMatchObject({ used: 3, seconds: 1 });
    expect(windows.take('b')).toMatchObject({ used: 1, seconds: 60 });
    now += 999;
    expect(windows.take('a')).toMatchObject({ used: 1, seconds: 60 });
    expect(windows.take('b')).toMatchObject({ used: 2, seconds: 60 });
  });

  it('never have more than a minute left, whatever fraction of a millisecond they begin at', () => {
    let now = 5_000;
    const windows = new FixedWindows(() => now);
    for (let i = 0; i < 1_000; i++, now += 3.7) expect(windows.take(`name ${i}`).seconds).toBe(60);
  });

  it('forget what is given back, and know what has failed, until they end', () => {
    let now = 0;
    const windows = new FixedWindows(() => now);
    const [first, second, third] = [windows.take('a'), windows.take('a'), windows.take('a')];
    first.giveBack();
    second.fail();
    expect(windows.take('a')).toMatchObject({ used: 3, failed: 1 });
    now += 60_000;
    expect(windows.take('a')).toMatchObject({ used: 1, failed: 0 });
    third.giveBack();
    second.fail();
    expect(windows.take('a')).toMatchObject({ used: 2, failed: 0 });
  });

  it('are at most 10,000, of which the oldest goes', () => {
    let now = 0;
    const windows = new FixedWindows(() => now);
    for (let i = 0; i < 10_001; i++, now++) windows.take(`name ${i}`);
    expect(windows.size).toBe(10_000);
    expect(windows.take('name 1').used).toBe(2);
    expect(windows.take('name 0').used).toBe(1);
  });

  it('that have ended go when another begins', () => {
    let now = 0;
    const windows = new FixedWindows(() => now);
    for (let i = 0; i < 100; i++) windows.take(`name ${i}`);
    now += 60_000;
    windows.take('another');
    expect(windows.size).toBe(1);
  });
});
