import cluster, { Worker } from 'node:cluster';
import { Counted, Settlement, Taken } from './counts.js';
import type { SharedCounts } from './insured-counts.js';
import { MemoryCounts } from './memory-counts.js';

/** What a worker tells the primary of one turn of its event loop. */
interface Questions {
  /** The number of the first of `take`. */
  readonly first: number;
  readonly take: (readonly [what: Counted, name: string])[];
  readonly settle: (readonly [what: Counted, name: string, end: number, how: Settlement])[];
}

type Answer = readonly [used: number, failed: number, seconds: number, end: number];

/** What the primary answers to it. */
interface Answers {
  readonly first: number;
  readonly taken: readonly Answer[];
}

interface Asker {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: Error) => void;
}

/** Counts for a worker, in the primary, as long as it lives. */
export function countFor(worker: Worker, counts: MemoryCounts): void {
  worker.on('message', (message: { counts?: Questions }) => {
    if (!message.counts) return;
    const { first, take, settle } = message.counts;
    for (const each of settle) counts.settle(...each);
    const taken = take.map((each): Answer => {
      const { used, failed, seconds, end } = counts.take(...each);
      return [used, failed, seconds, end];
    });
    const answers: Answers = { first, taken };
    worker.send({ counts: answers }, () => undefined);
  });
}

/**
 * Counts in the primary, shared by its workers. What is counted in one turn of the event loop is one message: a message costs more than
 * all else of a count.
 */
export class PrimaryCounts implements SharedCounts {
  /** Long: it is out of reach only if it has ended, which is told, or stands still. */
  readonly patience = 1_000;
  private readonly worker = cluster.worker as Worker;
  private readonly askers = new Map<number, Asker>();
  private asked = 0;
  private questions: Questions | undefined;

  constructor() {
    this.worker.on('message', (message: { counts?: Answers }) => message.counts && this.answered(message.counts));
  }

  async take(what: Counted, name: string): Promise<Taken> {
    const answer = new Promise<Answer>((resolve, reject) => {
      this.questionsOfTurn().take.push([what, name]);
      this.askers.set(this.asked++, { resolve, reject });
    });
    const [used, failed, seconds, end] = await answer;
    const settle = (how: Settlement) => void this.questionsOfTurn().settle.push([what, name, end, how]);
    return { used, failed, seconds, giveBack: () => settle('giveBack'), fail: () => settle('fail') };
  }

  async try(): Promise<void> {
    await this.take('requests', 'trial');
  }

  reasonOf(error: unknown): string {
    return (error as Error).message;
  }

  close(): void {
    // The channel is that of the process.
  }

  private questionsOfTurn(): Questions {
    if (!this.questions) {
      this.questions = { first: this.asked, take: [], settle: [] };
      process.nextTick(() => this.send());
    }
    return this.questions;
  }

  private send(): void {
    const { first, take } = this.questions as Questions;
    this.worker.send({ counts: this.questions }, (error) => {
      if (!error) return;
      for (const [i] of take.entries()) this.asker(first + i)?.reject(error);
    });
    this.questions = undefined;
  }

  private answered({ first, taken }: Answers): void {
    for (const [i, answer] of taken.entries()) this.asker(first + i)?.resolve(answer);
  }

  private asker(number: number): Asker | undefined {
    const asker = this.askers.get(number);
    this.askers.delete(number);
    return asker;
  }
}
