import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Worker } from 'node:cluster';
import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { Distribution, type Offer, type Reply } from '../../src/process/distribution.js';

/** A worker that only notes what it is sent, and replies when told to. */
class NotingWorker extends EventEmitter {
  readonly offered: Socket[] = [];
  readonly sought: number[] = [];
  private latest = 0;

  constructor(private readonly dead = false) {
    super();
  }

  isDead(): boolean {
    return this.dead;
  }

  send({ offered, sought }: Offer, socket?: Socket): void {
    if (offered !== undefined) {
      this.latest = offered;
      this.offered.push(socket as Socket);
    }
    if (sought !== undefined) this.sought.push(sought);
  }

  reply(name: keyof Reply, number = this.latest): void {
    this.emit('message', { [name]: number });
  }
}

describe('connections that are handed to workers', () => {
  let distribution: Distribution;
  let workers: [NotingWorker, NotingWorker];

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    distribution = new Distribution(3);
    workers = [new NotingWorker(), new NotingWorker()];
    for (const worker of workers) distribution.add(worker as unknown as Worker);
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  function hand(count: number): Socket[] {
    const sockets = Array.from({ length: count }, () => new Socket());
    for (const socket of sockets) distribution.hand(socket);
    return sockets;
  }

  const offered = () => workers.map((worker) => worker.offered);

  it('go to each in turn, one at a time, and are closed in the primary when they are taken', () => {
    const [a, b, c, d] = hand(4) as [Socket, Socket, Socket, Socket];
    expect(offered()).toEqual([[a], [b]]);
    workers[1].reply('taken');
    expect(offered()).toEqual([[a], [b, c]]);
    expect([a, b, c, d].map(({ destroyed }) => destroyed)).toEqual([false, true, false, false]);
    workers[0].reply('taken');
    expect(offered()).toEqual([
      [a, d],
      [b, c],
    ]);
  });

  it('are offered to another one if one refuses them, and closed if all do', () => {
    const [a, b] = hand(2) as [Socket, Socket];
    workers[0].reply('refused');
    workers[1].reply('taken');
    expect(offered()).toEqual([[a], [b, a]]);
    expect(a.destroyed).toBe(false);
    workers[1].reply('refused');
    expect(a.destroyed).toBe(true);
    const [c] = hand(1);
    expect(offered()).toEqual([
      [a, c],
      [b, a],
    ]);
  });

  it('are sought if nothing is said of them, and an answer that comes too late counts for no other', () => {
    const [a, b] = hand(1);
    expect(b).toBeUndefined();
    jest.advanceTimersByTime(99);
    expect(workers[0].sought).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(workers[0].sought).toEqual([1]);
    workers[0].reply('refused', 1);
    expect(offered()).toEqual([[a], [a]]);
    workers[0].reply('taken', 2);
    workers[1].reply('taken', 1);
    expect(a?.destroyed).toBe(false);
    workers[1].reply('taken', 2);
    expect(a?.destroyed).toBe(true);
    jest.advanceTimersByTime(1_000);
    expect(workers.map(({ sought }) => sought)).toEqual([[1], []]);
  });

  it('are closed if the worker ends that they are on their way to, and those that wait go to another', () => {
    const [a, b, c] = hand(3) as [Socket, Socket, Socket];
    workers[0].emit('exit');
    expect(a.destroyed).toBe(true);
    workers[1].reply('taken');
    expect(offered()).toEqual([[a], [b, c]]);
    workers[1].emit('exit');
    expect(c.destroyed).toBe(true);
    const [d] = hand(1) as [Socket];
    expect(d.destroyed).toBe(false);
    const next = new NotingWorker();
    distribution.add(next as unknown as Worker);
    expect(next.offered).toEqual([d]);
  });

  it('are never handed to a worker that ended before it was known to be there', () => {
    const gone = new NotingWorker(true);
    distribution.add(gone as unknown as Worker);
    hand(3);
    expect(offered().map(({ length }) => length)).toEqual([1, 1]);
    expect(gone.offered).toEqual([]);
  });

  it('are closed if too many wait', () => {
    const sockets = hand(6);
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false, false, false, false, true]);
  });

  it('are not handed to one that is removed, and what no other one has room for is closed', () => {
    const [a, b, c] = hand(3) as [Socket, Socket, Socket];
    workers[0].reply('refused');
    distribution.remove(workers[0] as unknown as Worker);
    expect(offered()).toEqual([[a, c], [b]]);
    workers[0].reply('taken');
    workers[1].reply('taken');
    expect(offered()).toEqual([
      [a, c],
      [b, a],
    ]);
    workers[1].reply('refused');
    expect(a.destroyed).toBe(true);
  });

  it('are all handed over when none is on its way any more', async () => {
    await distribution.done();
    hand(3);
    let done = false;
    void distribution.done().then(() => (done = true));
    workers[0].reply('taken');
    workers[1].reply('refused');
    workers[0].reply('taken');
    await immediate();
    expect(done).toBe(false);
    workers[0].reply('refused');
    await immediate();
    expect(done).toBe(true);
  });
});
