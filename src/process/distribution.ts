import type { Worker } from 'node:cluster';
import type { Serializable } from 'node:child_process';
import type { Socket } from 'node:net';

/** After what time a worker is asked whether a connection has reached it, in milliseconds. */
const PATIENCE = 100;

/** What comes with a connection, and is asked if nothing is said of it. */
export interface Offer {
  /** The number of the connection that this brings. */
  readonly offered?: number;
  /** The number of the connection that should have come. */
  readonly sought?: number;
}

/** What a worker says to that. */
export interface Reply {
  /** The number of the connection that it takes. */
  readonly taken?: number;
  /** The number of the connection that it has no room for, or that has not reached it. */
  readonly refused?: number;
}

interface Connection {
  readonly socket: Socket;
  readonly refusedBy: Set<Worker>;
}

interface Handing {
  readonly number: number;
  readonly connection: Connection;
  readonly timer: NodeJS.Timeout;
}

/**
 * Hands the connections of a primary to its workers, in turn, and to each one at a time: none waits behind a worker that is busy while another is not.
 * One that a worker does not take is offered to the others, and closed when none takes it. Node's own way of handing over never offers a worker another
 * connection once one was lost on the way, which is how it tells that a worker had no descriptor left.
 */
export class Distribution {
  private readonly waiting: Connection[] = [];
  private readonly workers = new Set<Worker>();

  /** Those that are handed nothing at the moment, the one that was so first being the next. */
  private readonly free = new Set<Worker>();
  private readonly handings = new Map<Worker, Handing>();
  private count = 0;
  private whenDone: (() => void) | undefined;

  /** At most so many connections wait for a worker; one more is closed. */
  constructor(private readonly most: number) {}

  get hasWorkers(): boolean {
    return this.workers.size > 0;
  }

  add(worker: Worker): void {
    if (worker.isDead()) return;
    this.workers.add(worker);
    this.free.add(worker);
    worker.on('message', ({ taken, refused }: Reply) => {
      const handing = this.handings.get(worker);
      if (handing && handing.number === (taken ?? refused)) this.replied(worker, handing, taken !== undefined);
    });
    worker.once('exit', () => this.left(worker));
    this.next();
  }

  /** Hands a worker no more. */
  remove(worker: Worker): void {
    this.workers.delete(worker);
    this.free.delete(worker);
    for (const connection of this.waiting.splice(0))
      if (!this.closeIfRefused(connection)) this.waiting.push(connection);
  }

  hand(socket: Socket): void {
    if (this.waiting.length >= this.most) return void socket.destroy();
    this.waiting.push({ socket, refusedBy: new Set() });
    this.next();
  }

  /** Resolves once no connection waits for a worker any more. */
  async done(): Promise<void> {
    if (this.waiting.length + this.handings.size > 0) await new Promise<void>((resolve) => (this.whenDone = resolve));
  }

  private next(): void {
    for (const worker of this.free) {
      const index = this.waiting.findIndex(({ refusedBy }) => !refusedBy.has(worker));
      if (index >= 0) this.offer(worker, ...(this.waiting.splice(index, 1) as [Connection]));
    }
    if (this.waiting.length + this.handings.size === 0) this.whenDone?.();
  }

  private offer(worker: Worker, connection: Connection): void {
    const number = ++this.count;
    const timer = setTimeout(() => tell(worker, { sought: number }), PATIENCE);
    this.free.delete(worker);
    this.handings.set(worker, { number, connection, timer });
    // It stays open here until it is known that it is there.
    worker.send({ offered: number }, connection.socket, { keepOpen: true }, () => undefined);
  }

  private replied(worker: Worker, { connection, timer }: Handing, isTaken: boolean): void {
    clearTimeout(timer);
    this.handings.delete(worker);
    if (this.workers.has(worker)) this.free.add(worker);
    connection.refusedBy.add(worker);
    if (isTaken) connection.socket.destroy();
    else if (!this.closeIfRefused(connection)) this.waiting.unshift(connection);
    this.next();
  }

  /** Closes a connection that all workers have refused; if there are none, it waits for the next one. */
  private closeIfRefused({ socket, refusedBy }: Connection): boolean {
    const isRefused = this.workers.size > 0 && [...this.workers].every((worker) => refusedBy.has(worker));
    if (isRefused) socket.destroy();
    return isRefused;
  }

  private left(worker: Worker): void {
    this.remove(worker);
    const handing = this.handings.get(worker);
    if (!handing) return;
    clearTimeout(handing.timer);
    this.handings.delete(worker);
    // What was sent on it may have been read.
    handing.connection.socket.destroy();
    this.next();
  }
}

/** Sends a message. If the other side has ended, it gets lost, and the `exit` event tells of that end. */
export function tell(worker: Worker, message: Serializable): void {
  worker.send(message, () => undefined);
}
