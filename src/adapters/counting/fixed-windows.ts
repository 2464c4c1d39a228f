import { Settlement, Taken, WINDOW } from './counts.js';

/** The most windows kept at a time. */
const MAX_WINDOWS = 10_000;

/** What was counted since the first. */
interface Window {
  used: number;
  failed: number;
  /** When it ends, by the clock of the windows. */
  readonly end: number;
}

/**
 * Counts by name, in windows of a minute that begin with the first of each name. There are at most 10,000 of them: the oldest
 * goes if another is needed, so that a flood of names costs no more memory. Written here because the libraries for it keep a
 * timer for each name, and as many names as come.
 */
export class FixedWindows {
  /** The oldest first. */
  private readonly windows = new Map<string, Window>();

  /** `now` is a clock in milliseconds that never goes back. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** How many windows are kept. */
  get size(): number {
    return this.windows.size;
  }

  /** Counts one more of the name. */
  take(name: string): TakenHere {
    // Whole milliseconds: a minute more than a fraction may be more than a minute, as computers add.
    const now = Math.floor(this.now());
    let window = this.windows.get(name);
    if (!window || window.end <= now) {
      this.windows.delete(name);
      this.makeRoom(now);
      window = { used: 0, failed: 0, end: now + 1000 * WINDOW };
      this.windows.set(name, window);
    }
    window.used++;
    return new TakenHere(window, Math.ceil((window.end - now) / 1000));
  }

  /** Gives back one of the name, or says that it has failed, if its window, which tells its `end`, has not ended. */
  settle(name: string, end: number, how: Settlement): void {
    const window = this.windows.get(name);
    if (window?.end === end) settle(window, how);
  }

  private makeRoom(now: number): void {
    for (const [name, { end }] of this.windows) {
      if (end > now && this.windows.size < MAX_WINDOWS) return;
      this.windows.delete(name);
    }
  }
}

/** One that was counted in this process. */
export class TakenHere implements Taken {
  readonly used: number;
  readonly failed: number;
  /** When its window ends: no two windows of a name have the same. */
  readonly end: number;

  constructor(
    private readonly window: Window,
    readonly seconds: number,
  ) {
    ({ used: this.used, failed: this.failed, end: this.end } = window);
  }

  giveBack(): void {
    settle(this.window, 'giveBack');
  }

  fail(): void {
    settle(this.window, 'fail');
  }
}

function settle(window: Window, how: Settlement): void {
  if (how === 'fail') window.failed++;
  else window.used--;
}
