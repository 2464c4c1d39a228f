/** What a command writes: its result on standard output, everything else on standard error. */
export interface Output {
  /** Writes a line of the result. Rejects with `OutputFailed` if it cannot be written. */
  readonly print: (line: string) => Promise<void>;
  /** The same for what cannot be shown again: rejects also if standard output is closed, or discards what it gets. */
  readonly printSecret: (line: string) => Promise<void>;
  /** Writes a line on standard error. */
  readonly note: (line: string) => void;
}

/** Standard output could not be written. Whoever wrote to it has said why. */
export class OutputFailed extends Error {}
