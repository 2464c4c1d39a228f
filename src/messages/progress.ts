import { setImmediate } from 'node:timers/promises';

/** What is counted, and how much there is of it. */
export interface Amount {
  readonly unit: 'rows' | 'pets' | 'MiB';
  readonly total: number;
  readonly isEstimate?: boolean;
}

/** A part of long work. */
export interface Part {
  /** Such as "Copying". */
  readonly name: string;
  /** Absent if nothing can be counted. */
  readonly amount?: Amount;
  /** Which state an interruption leaves the database in, and what to run then. */
  readonly ifInterrupted: string;
}

/** How often long work gets a line where there is no terminal, in milliseconds. */
export const PAUSE = 10_000;

/** After how long work lets timers and signals run, in milliseconds: statements of SQLite let none pass. */
const TURN = 50;

/** How far long work is, by what the work tells. Those who show it read it whenever they like. */
export class Progress {
  private part: Part = { name: '', ifInterrupted: '' };
  private amount: Amount | undefined;
  private startedAt = 0;
  private turnedAt = 0;
  private done = 0;
  /** What a database server itself says of its statement. */
  note = '';

  begin(part: Part): void {
    this.part = part;
    this.count(part.amount);
  }

  /** Begins to count in the part that has begun. */
  count(amount: Amount | undefined): void {
    this.amount = amount;
    this.startedAt = performance.now();
    this.done = 0;
    this.note = '';
  }

  /** So much more is done. */
  async advance(amount: number): Promise<void> {
    this.done += amount;
    if (performance.now() - this.turnedAt < TURN) return;
    await setImmediate();
    this.turnedAt = performance.now();
  }

  get name(): string {
    return this.part.name;
  }

  get ifInterrupted(): string {
    return this.part.ifInterrupted;
  }

  /** From 0 to 1; undefined if the total is unknown, or was estimated too low. */
  get share(): number | undefined {
    const { total = 0 } = this.amount ?? {};
    return total > 0 && this.done <= total ? this.done / total : undefined;
  }

  /** The most important first, such as "45 %", "900 of about 2,000 rows", "27 s left" and "41/s". */
  get details(): string[] {
    const { amount, done, share, note } = this;
    const seconds = (performance.now() - this.startedAt) / 1_000;
    if (!amount) return [duration(seconds), ...(note ? [note] : [])];
    const { unit, total, isEstimate } = amount;
    const rate = `${text(done / seconds)}/s`;
    if (share === undefined) return [`${text(done)} ${unit}`, rate];
    const count = `${text(done)} of ${isEstimate ? 'about ' : ''}${text(total)} ${unit}`;
    const left = done > 0 ? [`${duration(seconds / share - seconds)} left`] : [];
    return [`${Math.floor(share * 100)} %`, count, ...left, rate];
  }

  /** Empty before the first part. */
  toString(): string {
    return this.name && `${this.name}: ${this.details.join(', ')}.`;
  }
}

function duration(seconds: number): string {
  return seconds < 120 ? `${Math.floor(seconds)} s` : `${Math.floor(seconds / 60)} min`;
}

function text(amount: number): string {
  return Math.round(amount).toLocaleString('en');
}
