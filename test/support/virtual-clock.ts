interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
  /** Of an interval. */
  readonly every?: number;
}

const real = {
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  now: performance.now.bind(performance),
};

/** Settles all promises that need no timer: a tick comes when no microtask is left. A turn of the event loop costs more. */
const settle = () => new Promise<void>((resolve) => process.nextTick(resolve));

/**
 * Timers and a monotonic clock that stand still until `pass`. Not Jest's, which do not fake `node:timers/promises`, and
 * take a hundred times as long for a step.
 */
export class VirtualClock {
  /** In milliseconds. */
  now = 0;
  private timers: Timer[] = [];
  private order = 0;

  /** What replaces `node:timers/promises`. */
  readonly promises = {
    setTimeout: (time: number) => new Promise<void>((resolve) => this.add(resolve, time)),
    setImmediate: () => new Promise<void>((resolve) => this.add(resolve, 0)),
  };

  /** Replaces the global timers and `performance.now()`. */
  install(): void {
    const add = (run: () => void, time = 0) => this.handle(this.add(run, time));
    const addInterval = (run: () => void, time = 0) => this.handle(this.add(run, time, time));
    const clear = (handle?: { timer?: Timer }) => {
      this.timers = this.timers.filter((timer) => timer.order !== handle?.timer?.order);
    };
    Object.assign(globalThis, { setTimeout: add, clearTimeout: clear, setInterval: addInterval, clearInterval: clear });
    performance.now = () => this.now;
  }

  uninstall(): void {
    const { now, ...timers } = real;
    Object.assign(globalThis, timers);
    performance.now = now;
  }

  /** Forgets all timers; it is 0 again. */
  reset(): void {
    this.timers = [];
    this.now = 0;
  }

  /** Lets so many milliseconds pass, timer by timer. */
  async pass(time: number): Promise<void> {
    const end = this.now + time;
    await settle();
    for (let timer = this.first(end); timer; timer = this.first(end)) {
      this.timers.splice(this.timers.indexOf(timer), 1);
      this.now = timer.at;
      if (timer.every !== undefined) this.insert({ ...timer, at: this.now + timer.every });
      timer.run();
      await settle();
    }
    this.now = end;
  }

  private first(end: number): Timer | undefined {
    const [timer] = this.timers;
    return timer && timer.at <= end ? timer : undefined;
  }

  private add(run: () => void, time: number, every?: number): Timer {
    const timer = { at: this.now + Math.max(0, time), order: this.order++, run, ...(every !== undefined && { every }) };
    this.insert(timer);
    return timer;
  }

  /** Keeps the timers in the order in which they end. */
  private insert(timer: Timer): void {
    const behind = this.timers.findIndex(({ at }) => at > timer.at);
    this.timers.splice(behind < 0 ? this.timers.length : behind, 0, timer);
  }

  private handle(timer: Timer) {
    const handle = { timer, unref: () => handle };
    return handle;
  }
}
