import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { lineOf, withProgress } from '../../src/adapters/cli/progress.js';
import { type Amount, Progress } from '../../src/messages/progress.js';

/** Progress of so many of two million rows, ten seconds after its begin. */
function after10Seconds(done: number, amount?: Partial<Amount>): Progress {
  const progress = new Progress();
  jest.advanceTimersByTime(7_000);
  progress.begin({ name: 'Copying', amount: { unit: 'rows', total: 2_000_000, ...amount }, ifInterrupted: '' });
  jest.advanceTimersByTime(10_000);
  void progress.advance(done);
  return progress;
}

beforeEach(() => void jest.useFakeTimers());

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

describe('a bar', () => {
  it.each([
    [200, '[===========              ] 45 %, 900,000 of about 2,000,000 rows, 12 s left, 90,000/s'],
    [80, '[====      ] 45 %, 900,000 of about 2,000,000 rows, 12 s left, 90,000/s'],
    [40, '[====      ] 45 %'],
    [20, '[====      '],
  ])('fits a terminal of %d columns', (columns, line) => {
    expect(lineOf(after10Seconds(900_000, { isEstimate: true }), columns)).toBe(`Copying ${line}`);
  });

  it('is as long as the share that is done, and never goes back', () => {
    const filled = Array.from({ length: 101 }, (_, i) => lineOf(after10Seconds(20_000 * i), 80).split('=').length - 1);
    expect(filled).toEqual([...filled].sort((a, b) => a - b));
    expect([filled[0], filled[50], filled[100]]).toEqual([0, 5, 10]);
  });

  it('is left out once more is done than was estimated', () => {
    const line = 'Copying 2,000,001 rows, 200,000/s';
    expect(lineOf(after10Seconds(2_000_001, { isEstimate: true }), 80)).toBe(line);
  });
});

it.each<[number, Partial<Amount>, string]>([
  [0, {}, '0 %, 0 of 2,000,000 rows, 0/s'],
  [100_000, {}, '5 %, 100,000 of 2,000,000 rows, 3 min left, 10,000/s'],
  [0, { total: 0 }, '0 rows, 0/s'],
  [6, { total: 0, unit: 'MiB' }, '6 MiB, 1/s'],
])('%d, of what %j says, is told as "%s"', (done, amount, details) => {
  expect(String(after10Seconds(done, amount))).toBe(`Copying: ${details}.`);
});

it('a note of the database server is told, until the next part begins', () => {
  const progress = new Progress();
  expect(String(progress)).toBe('');
  progress.begin({ name: 'Applying X', ifInterrupted: '' });
  progress.note = 'Stage 1 of 2';
  expect(String(progress)).toBe('Applying X: 0 s, Stage 1 of 2.');
  progress.begin({ name: 'Applying Y', ifInterrupted: '' });
  expect(String(progress)).toBe('Applying Y: 0 s.');
});

describe('without a terminal', () => {
  const lines = async (quiet: boolean, seconds: number) => {
    const write = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    const running = withProgress(quiet, (progress) => {
      progress.begin({ name: 'Applying X', ifInterrupted: '' });
      return new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    });
    await jest.advanceTimersByTimeAsync(seconds * 1_000);
    await running;
    const written = write.mock.calls.map(([text]) => text);
    write.mockRestore();
    return written;
  };

  it('long work gets a line every ten seconds', async () => {
    expect(await lines(false, 25)).toEqual(['Applying X: 10 s.\n', 'Applying X: 20 s.\n']);
  });

  it('shorter work, and any with --quiet, gets none', async () => {
    expect(await lines(false, 9)).toEqual([]);
    expect(await lines(true, 25)).toEqual([]);
  });
});
