import { describe, expect, it } from '@jest/globals';
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
});
