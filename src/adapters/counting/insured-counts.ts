import { Counted, Counts, Taken } from './counts.js';

/** How long after it failed it is tried whether the count can be shared again, and so on, in milliseconds. */
const TRIAL_INTERVAL = 500;

/** A count that is shared with other processes, and may be out of reach. */
export interface SharedCounts {
  /** How long a request waits for it, in milliseconds; longer only if this process itself is busy. */
  readonly patience: number;
  /** Counts one more; rejects if it cannot. */
  take(what: Counted, name: string): Promise<Taken>;
  /** Rejects if it could not count now. */
  try(): Promise<void>;
  /** Why it could not, in some words without anything secret. */
  reasonOf(error: unknown): string;
  close(): void;
}

/** Is told when the count is not shared any more, and why, and when it is again. */
export type TellShared = (isShared: boolean, reason?: string) => void;

/** Counts that are shared; for as long as those cannot be reached, and without a request that waits for them, counts of its own. */
export class InsuredCounts implements Counts {
  private isShared = true;
  private trial: NodeJS.Timeout | undefined;

  constructor(
    private readonly shared: SharedCounts,
    private readonly own: Counts,
    private readonly tell: TellShared,
  ) {}

  /** Resolves once it is known whether the count can be shared. */
  async open(): Promise<this> {
    try {
      await inTime(this.shared.try(), this.shared.patience);
      this.tell(true);
    } catch (error) {
      this.goAlone(error);
    }
    return this;
  }

  take(what: Counted, name: string): Taken | Promise<Taken> {
    return this.isShared ? this.takeShared(what, name) : this.own.take(what, name);
  }

  close(): void {
    clearTimeout(this.trial);
    this.isShared = false;
    this.shared.close();
    this.own.close();
  }

  private async takeShared(what: Counted, name: string): Promise<Taken> {
    try {
      return await inTime(this.shared.take(what, name), this.shared.patience);
    } catch (error) {
      if (this.isShared) this.goAlone(error);
      return this.own.take(what, name);
    }
  }

  private goAlone(error: unknown): void {
    this.isShared = false;
    this.tell(false, this.shared.reasonOf(error));
    this.trial = setTimeout(() => void this.tryAgain(), TRIAL_INTERVAL).unref();
  }

  private async tryAgain(): Promise<void> {
    try {
      await inTime(this.shared.try(), this.shared.patience);
      this.isShared = true;
      this.tell(true);
    } catch {
      this.trial = setTimeout(() => void this.tryAgain(), TRIAL_INTERVAL).unref();
    }
  }
}

/** What the promise comes to, unless nothing came for so long. What has come while this process was busy with something else counts. */
function inTime<T>(promise: Promise<T>, patience: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`no answer within ${patience} ms`));
    // Timers are before what the network brings, and immediates behind it.
    const timer = setTimeout(() => setImmediate(late), patience);
    void promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
