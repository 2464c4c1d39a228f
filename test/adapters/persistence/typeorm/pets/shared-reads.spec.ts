import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SharedReads } from '../../../../../src/adapters/persistence/typeorm/pets/shared-reads.js';

const MOST = 4;

interface RoundTrip {
  readonly questions: readonly number[];
  readonly deadline: number;
  /** For whom it is. */
  readonly callers: readonly object[];
  /** Answers each question with its text and the number of the round trip. */
  readonly answer: () => void;
  readonly fail: (error: Error) => void;
}

/** A database whose round trips end when the test says so, in the order in which they began. */
class Server {
  readonly roundTrips: RoundTrip[] = [];
  private now = 0;

  readonly reads = new SharedReads<number, string>(
    MOST,
    (questions, deadline, askers) =>
      new Promise((resolve, reject) => {
        const place = this.roundTrips.length;
        const answer = () => resolve(questions.map((question) => `${question} by ${place}`));
        const callers = askers.flatMap(({ callers = [] }) => callers);
        this.roundTrips.push({ questions, deadline, callers, answer, fail: reject });
      }),
    (question) => question,
    (deadline) => {
      if (deadline <= this.now) throw new Error('late');
    },
    () => this.callers,
  );

  /** Who asks next. */
  callers: readonly object[] | undefined;

  read(question: number, deadline = 100): Promise<string> {
    return this.reads.read(question, deadline);
  }

  passTo(now: number): void {
    this.now = now;
  }

  get asked(): (readonly number[])[] {
    return this.roundTrips.map(({ questions }) => questions);
  }
}

/** Resolves behind all that runs without a wait. */
const tick = () => new Promise<void>((resolve) => process.nextTick(() => process.nextTick(resolve)));

/** A server with two round trips under way, of 1 and of 2, and what was asked. */
async function busyServer(): Promise<{ server: Server; first: Promise<string>[] }> {
  const server = new Server();
  const first: Promise<string>[] = [];
  for (const question of [1, 2]) {
    first.push(server.read(question));
    await tick();
  }
  return { server, first };
}

describe('shared reads', () => {
  it('ask at once what comes alone', async () => {
    const server = new Server();
    const answer = server.read(1, 7);
    await tick();
    expect(server.roundTrips).toMatchObject([{ questions: [1], deadline: 7 }]);
    server.roundTrips[0]?.answer();
    await expect(answer).resolves.toBe('1 by 0');
  });

  it('ask together what comes without a wait in between, equal questions once, with the latest deadline', async () => {
    const server = new Server();
    const answers = Promise.all([server.read(1, 5), server.read(2, 6), server.read(3, 6), server.read(1, 7)]);
    await tick();
    expect(server.roundTrips).toMatchObject([{ questions: [1, 2, 3], deadline: 7 }]);
    server.roundTrips[0]?.answer();
    await expect(answers).resolves.toEqual(['1 by 0', '2 by 0', '3 by 0', '1 by 0']);
  });

  it('ask the widest of those that one answer serves', async () => {
    const asked: number[][] = [];
    const reads = new SharedReads<number, number>(
      MOST,
      (questions) => {
        asked.push([...questions]);
        return Promise.resolve(questions);
      },
      (question) => Math.trunc(question / 10),
      () => undefined,
      undefined,
      Math.max,
    );
    const answers = await Promise.all([15, 18, 24, 11, 21].map((question) => reads.read(question, 1)));
    expect(asked).toEqual([[18, 24]]);
    expect(answers).toEqual([18, 18, 24, 18, 24]);
  });

  it('know all that ask what is asked together', async () => {
    const server = new Server();
    const [a, b, c] = [{}, {}, {}];
    for (const [caller, question] of [
      [a, 1],
      [b, 2],
      [c, 1],
    ] as const) {
      server.callers = [caller];
      void server.read(question);
    }
    await tick();
    expect(server.roundTrips[0]?.callers).toHaveLength(3);
    expect(new Set(server.roundTrips[0]?.callers)).toEqual(new Set([a, b, c]));
  });

  it('have a second round trip begin at once, and what comes then share the next one', async () => {
    const { server, first } = await busyServer();
    const others = [3, 4].map((question) => server.read(question));
    await tick();
    expect(server.asked).toEqual([[1], [2]]);
    server.roundTrips[1]?.answer();
    await first[1];
    await tick();
    expect(server.asked).toEqual([[1], [2], [3, 4]]);
    server.roundTrips[2]?.answer();
    await expect(Promise.all(others)).resolves.toEqual(['3 by 2', '4 by 2']);
  });

  it('never answer a question by a round trip that was under way when it came', async () => {
    const { server, first } = await busyServer();
    const again = server.read(1);
    server.roundTrips[0]?.answer();
    await first[0];
    await tick();
    expect(server.asked).toEqual([[1], [2], [1]]);
    server.roundTrips[2]?.answer();
    await expect(again).resolves.toBe('1 by 2');
  });

  it('ask no more at a time than they may, the first to come first', async () => {
    const { server } = await busyServer();
    for (let question = 3; question < 10; question++) void server.read(question);
    server.roundTrips[0]?.answer();
    server.roundTrips[1]?.answer();
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.asked.slice(2)).toEqual([
      [3, 4, 5, 6],
      [7, 8, 9],
    ]);
  });

  it('reject a question by the error of its own query only, and answer those that were asked together with it', async () => {
    const server = new Server();
    const outcomes = Promise.allSettled([1, 2, 3, 4].map((question) => server.read(question)));
    let seen = 0;
    const isOpen = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return seen < server.roundTrips.length;
    };
    while (await isOpen()) {
      const { questions, answer, fail } = server.roundTrips[seen++]!;
      if (questions.includes(3)) fail(new Error(`of ${questions.join(' and ')}`));
      else answer();
    }
    expect(await outcomes).toEqual([
      { status: 'fulfilled', value: '1 by 1' },
      { status: 'fulfilled', value: '2 by 1' },
      { status: 'rejected', reason: new Error('of 3') },
      { status: 'fulfilled', value: '4 by 4' },
    ]);
    expect(server.asked).toEqual([[1, 2, 3, 4], [1, 2], [3, 4], [3], [4]]);
  });

  it('keep no other waiting for what is asked again', async () => {
    const server = new Server();
    const failing = Promise.allSettled([1, 2, 3].map((question) => server.read(question)));
    await tick();
    server.roundTrips[0]?.fail(new Error('broken'));
    await new Promise((resolve) => setImmediate(resolve));
    void server.read(4);
    await tick();
    void server.read(5);
    await tick();
    expect(server.asked).toEqual([[1, 2, 3], [1], [2, 3], [4], [5]]);
    for (const each of server.roundTrips) each.answer();
    await failing;
  });

  it('do not ask, and do not ask again, what is too late', async () => {
    const { server } = await busyServer();
    const outcomes = Promise.allSettled([server.read(3, 100), server.read(4, 200), server.read(5, 300)]);
    server.passTo(100);
    server.roundTrips[0]?.answer();
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.asked.slice(2)).toEqual([[4, 5]]);
    server.passTo(200);
    server.roundTrips[2]?.fail(new Error('broken'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.asked.slice(3)).toEqual([[5]]);
    server.roundTrips[3]?.answer();
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  });

  it('ask on other connections what waits behind round trips that are slow', async () => {
    const { server } = await busyServer();
    const behind = server.read(3);
    for (let i = 0; i < 100 && server.asked.length < 3; i++) await new Promise((resolve) => setTimeout(resolve, 10));
    server.roundTrips[2]?.answer();
    await expect(behind).resolves.toBe('3 by 2');
    // Those that were slow and end at last make no room twice.
    server.roundTrips[0]?.answer();
    server.roundTrips[1]?.answer();
    for (const question of [4, 5, 6]) {
      void server.read(question);
      await tick();
    }
    expect(server.asked.slice(3)).toEqual([[4], [5]]);
  });

  it('answer every question rightly, by a round trip that began behind it, whatever comes, fails or ends when', async () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ read: fc.nat(9) }) },
      { weight: 3, arbitrary: fc.record({ end: fc.nat(5), isBroken: fc.boolean() }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const server = new Server();
        const ended = new Set<number>();
        const isDue = (place: number) => place < server.roundTrips.length && !ended.has(place);
        const end = (place: number, isBroken: boolean) => {
          const { questions, answer, fail } = server.roundTrips[place]!;
          ended.add(place);
          if (isBroken && questions.length > 1) fail(new Error('broken'));
          else answer();
        };
        const reads: { question: number; begun: number; answer: Promise<string> }[] = [];
        for (const each of steps) {
          if ('read' in each)
            reads.push({ question: each.read, begun: server.roundTrips.length, answer: server.read(each.read) });
          else if (isDue(each.end)) end(each.end, each.isBroken);
          if (!('read' in each) || each.read % 2 === 0) await tick();
        }
        for (let place = 0; place < server.roundTrips.length || (await settled(server, place)); place++)
          if (isDue(place)) end(place, false);
        for (const { question, begun, answer } of reads) {
          const [text, , by] = (await answer).split(' ');
          expect(Number(text)).toBe(question);
          expect(Number(by)).toBeGreaterThanOrEqual(begun);
        }
        for (const questions of server.asked) {
          expect(questions.length).toBeLessThanOrEqual(MOST);
          expect(new Set(questions).size).toBe(questions.length);
        }
      }),
    );
  });
});

/** Lets all that can go on do so, and resolves to whether a round trip at this place has begun. */
async function settled(server: Server, place: number): Promise<boolean> {
  await new Promise((resolve) => setImmediate(resolve));
  return place < server.roundTrips.length;
}
