import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { StoreUnavailable } from '../../../../../src/application/errors.js';
import { GroupCommit } from '../../../../../src/adapters/persistence/typeorm/pets/group-commit.js';

/** A store whose commits end when the test says so, and which takes down what each had. */
class Disk {
  readonly batches: number[][] = [];
  private finish: (() => void)[] = [];

  readonly commit = async (jobs: readonly number[]): Promise<(string | Error)[]> => {
    this.batches.push([...jobs]);
    await new Promise<void>((resolve) => this.finish.push(resolve));
    if (jobs.includes(-2)) throw new StoreUnavailable('disk full');
    if (jobs.includes(-1)) throw new Error('cannot be held');
    return jobs.map((job) => (job === 13 ? new Error('refused') : `stored ${job}`));
  };

  /** Lets the commit that is under way, or the next one, end. */
  async sync(): Promise<void> {
    while (this.finish.length === 0) await new Promise((resolve) => setImmediate(resolve));
    this.finish.shift()?.();
  }
}

describe('a group commit', () => {
  it('commits a job that comes alone by itself', async () => {
    const disk = new Disk();
    const group = new GroupCommit(disk.commit);
    for (const job of [1, 2]) {
      const stored = group.add(job);
      await disk.sync();
      await expect(stored).resolves.toBe(`stored ${job}`);
    }
    expect(disk.batches).toEqual([[1], [2]]);
  });

  it('has the jobs of two turns of the event loop share a commit', async () => {
    const disk = new Disk();
    const group = new GroupCommit(disk.commit);
    const one = group.add(1);
    const two = new Promise((resolve) => setImmediate(() => resolve(group.add(2))));
    await disk.sync();
    await Promise.all([one, two]);
    expect(disk.batches).toEqual([[1, 2]]);
  });

  it('has the jobs of two turns share a commit behind that of one job alone', async () => {
    const disk = new Disk();
    const group = new GroupCommit(disk.commit);
    const alone = group.add(1);
    await disk.sync();
    await alone;
    const one = group.add(2);
    const two = new Promise((resolve) => setImmediate(() => resolve(group.add(3))));
    await disk.sync();
    await Promise.all([one, two]);
    expect(disk.batches).toEqual([[1], [2, 3]]);
  });

  it('waits for no second turn if as many jobs are there as the last time', async () => {
    const disk = new Disk();
    const group = new GroupCommit(disk.commit);
    const commit = async (early: number[], late: number[]) => {
      const stored = early.map((job) => group.add(job));
      const laterStored = new Promise((resolve) =>
        setImmediate(() => resolve(Promise.all(late.map((job) => group.add(job))))),
      );
      await disk.sync();
      await Promise.all(stored);
      if (disk.batches.flat().at(-1) !== late.at(-1)) await disk.sync();
      await laterStored;
    };
    await commit([1], [2]);
    await commit([3, 4], [5]);
    expect(disk.batches).toEqual([[1, 2], [3, 4], [5]]);
  });

  it('lets jobs that arrive while a commit is under way share the next one', async () => {
    const disk = new Disk();
    const group = new GroupCommit(disk.commit);
    const first = group.add(1);
    while (disk.batches.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const others = [2, 3, 4].map((job) => group.add(job));
    await disk.sync();
    await first;
    await disk.sync();
    await expect(Promise.all(others)).resolves.toEqual(['stored 2', 'stored 3', 'stored 4']);
    expect(disk.batches).toEqual([[1], [2, 3, 4]]);
  });

  it('resolves no job before its commit has ended', async () => {
    const disk = new Disk();
    let resolved = false;
    const stored = new GroupCommit(disk.commit).add(1).then(() => (resolved = true));
    while (disk.batches.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(resolved).toBe(false);
    await disk.sync();
    await stored;
  });

  it('rejects a job that is refused, and not its neighbours', async () => {
    const disk = new Disk();
    const group = new GroupCommit(disk.commit);
    const outcomes = Promise.allSettled([12, 13, 14].map((job) => group.add(job)));
    await disk.sync();
    expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('rejects every job of a commit for which the store cannot answer, and goes on with the next', async () => {
    const disk = new Disk();
    const group = new GroupCommit(disk.commit);
    const outcomes = Promise.allSettled([1, -2].map((job) => group.add(job)));
    await disk.sync();
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const next = group.add(3);
    await disk.sync();
    await expect(next).resolves.toBe('stored 3');
  });

  it('rejects the one job that a commit cannot hold, and stores the others once each', async () => {
    const disk = new Disk();
    const group = new GroupCommit(disk.commit);
    const outcomes = Promise.allSettled([1, 2, -1, 4, 5].map((job) => group.add(job)));
    for (let commit = 0; commit < 5; commit++) await disk.sync();
    expect((await outcomes).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(disk.batches).toEqual([[1, 2, -1, 4, 5], [1, 2], [-1, 4, 5], [-1], [4, 5]]);
  });

  it('commits nothing that is not wanted any more', async () => {
    const disk = new Disk();
    const group = new GroupCommit(disk.commit, (job) => {
      if (job === 2) throw new Error('late');
    });
    const outcomes = Promise.allSettled([1, 2, 3].map((job) => group.add(job)));
    await disk.sync();
    expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const late = group.add(2);
    await expect(late).rejects.toThrow('late');
    const next = group.add(3);
    await disk.sync();
    await expect(next).resolves.toBe('stored 3');
  });

  describe('whose commits leave the event loop free', () => {
    const elsewhere = (disk: Disk) => new GroupCommit(disk.commit, () => undefined, true);

    it('commits half of many first, and the others as soon as that has ended', async () => {
      const disk = new Disk();
      const group = elsewhere(disk);
      const all = Array.from({ length: 21 }, (_, i) => group.add(i + 20));
      await disk.sync();
      await disk.sync();
      await Promise.all(all);
      expect(disk.batches.map(({ length }) => length)).toEqual([10, 11]);
      expect(disk.batches.flat()).toEqual(Array.from({ length: 21 }, (_, i) => i + 20));
    });

    it('has one commit under way at a time, and commits few together', async () => {
      const disk = new Disk();
      const group = elsewhere(disk);
      const few = Promise.all([1, 2, 3].map((job) => group.add(job)));
      while (disk.batches.length === 0) await new Promise((resolve) => setImmediate(resolve));
      const later = Promise.all([4, 5].map((job) => group.add(job)));
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
      expect(disk.batches).toEqual([[1, 2, 3]]);
      await disk.sync();
      await few;
      await disk.sync();
      await later;
      expect(disk.batches).toEqual([
        [1, 2, 3],
        [4, 5],
      ]);
    });

    it('goes on with what waits behind a commit for which the store could not answer', async () => {
      const disk = new Disk();
      const group = elsewhere(disk);
      const outcomes = Promise.allSettled([-2, ...Array(20).keys()].map((job) => group.add(job)));
      await disk.sync();
      await disk.sync();
      const refused = (await outcomes).flatMap(({ status }, i) => (status === 'rejected' ? i : []));
      // The ten that shared it, and the job that is refused by itself.
      expect(refused).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14]);
      expect(disk.batches.map(({ length }) => length)).toEqual([10, 11]);
    });

    it('settles every job once, rightly, whatever comes, fails or ends when', async () => {
      const step = fc.oneof(
        { weight: 4, arbitrary: fc.record({ jobs: fc.array(fc.integer({ min: -2, max: 15 }), { maxLength: 30 }) }) },
        { weight: 3, arbitrary: fc.constant('end') },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.boolean(), async (steps, isElsewhere) => {
          const disk = new Disk();
          const group = new GroupCommit(disk.commit, () => undefined, isElsewhere);
          const under: { job: number; outcome: Promise<string> }[] = [];
          let open = 0;
          for (const each of steps) {
            if (each === 'end') {
              if (disk.batches.length > open && ++open) await disk.sync();
            } else for (const job of each.jobs) under.push({ job, outcome: group.add(job) });
            await new Promise((resolve) => setImmediate(resolve));
          }
          const all = Promise.allSettled(under.map(({ outcome }) => outcome));
          let isOver = false;
          void all.then(() => (isOver = true));
          while (!isOver) {
            if (disk.batches.length > open && ++open) await disk.sync();
            else await new Promise((resolve) => setImmediate(resolve));
          }
          for (const [i, outcome] of (await all).entries()) {
            const { job } = under[i]!;
            if (outcome.status === 'fulfilled') expect(outcome.value).toBe(`stored ${job}`);
            else if (!(outcome.reason instanceof StoreUnavailable)) expect([-1, 13]).toContain(job);
          }
        }),
        { numRuns: 200 },
      );
    });
  });
});
