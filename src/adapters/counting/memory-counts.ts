import { Counted, Counts, Settlement } from './counts.js';
import { FixedWindows, TakenHere } from './fixed-windows.js';

/** Counts in this process alone, at most 10,000 names of each kind. */
export class MemoryCounts implements Counts {
  private readonly windows: Readonly<Record<Counted, FixedWindows>> = {
    requests: new FixedWindows(),
    guesses: new FixedWindows(),
  };

  take(what: Counted, name: string): TakenHere {
    return this.windows[what].take(name);
  }

  /** Settles one whose window has this `end`; of no effect once that has ended. */
  settle(what: Counted, name: string, end: number, how: Settlement): void {
    this.windows[what].settle(name, end, how);
  }

  close(): void {
    // It needs nothing.
  }
}
