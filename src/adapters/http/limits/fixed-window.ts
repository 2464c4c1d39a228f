/** The length of a window, in seconds. */
export const WINDOW = 60;

/** The most windows kept at a time. */
const MAX_WINDOWS = 10_000;

/** What is left of a window. */
export interface Left {
  /** How many more there may be. */
  readonly remaining: number;
  /** In how many whole seconds the window ends, 1 or more. */
  readonly seconds: number;
}

interface Window {
  used: number;
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

  /** `limit` is how many there may be in a window; `now` is a clock in milliseconds that never goes back. */
  constructor(
    readonly limit: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** How many windows are kept. */
  get size(): number {
    return this.windows.size;
  }

  /** Counts one more of the name; what remains is below 0 if that was too many. */
  take(name: string): Left {
    let window = this.windows.get(name);
    if (!window || window.end <= this.now()) {
      this.windows.delete(name);
      this.makeRoom();
      window = { used: 0, end: this.now() + 1000 * WINDOW };
      this.windows.set(name, window);
    }
    window.used++;
    return this.leftOf(window);
  }

  /** What is left to the name, without counting. */
  left(name: string): Left {
    const window = this.windows.get(name);
    return window && window.end > this.now() ? this.leftOf(window) : { remaining: this.limit, seconds: WINDOW };
  }

  private leftOf({ used, end }: Window): Left {
    return { remaining: this.limit - used, seconds: Math.ceil((end - this.now()) / 1000) };
  }

  private makeRoom(): void {
    for (const [name, { end }] of this.windows) {
      if (end > this.now() && this.windows.size < MAX_WINDOWS) return;
      this.windows.delete(name);
    }
  }
}
