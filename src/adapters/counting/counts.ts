/** The length of a window, in seconds. */
export const WINDOW = 60;

/** What is counted: the requests of a key, and how often keys of an address were looked at that had not been accepted before. */
export const COUNTED = ['requests', 'guesses'] as const;
export type Counted = (typeof COUNTED)[number];

/** What came of one that was counted: it should not have been, or it has failed. */
export type Settlement = 'giveBack' | 'fail';

/** One that was counted, and what its window has with it. */
export interface Taken {
  /** How many there are, less those that were given back. */
  readonly used: number;
  /** How many of them have failed. */
  readonly failed: number;
  /** In how many whole seconds the window ends, 1 or more. */
  readonly seconds: number;
  /** Says that it should not have been counted; of no effect once the window has ended. */
  giveBack(): void;
  /** Says that it has failed; of no effect once the window has ended. */
  fail(): void;
}

/** Counts by name, in windows of a minute that begin with the first of each name. */
export abstract class Counts {
  /** Counts one more; a promise only if others are asked for the count. It never fails and is never late. */
  abstract take(what: Counted, name: string): Taken | Promise<Taken>;
  /** Ends what it needs for that. */
  abstract close(): void;
}
