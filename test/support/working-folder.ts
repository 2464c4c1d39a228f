import { ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from '@jest/globals';

/** What a command left when it ended. */
export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

type Variables = Readonly<Record<string, string>>;

/** A line of the log in production. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A working folder in which commands of the built program run. */
export class WorkingFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'petstore-'));
  /** The `DATABASE_URL` of the default, from anywhere. */
  readonly database = `sqlite:${join(this.path, 'data/petstore.sqlite')}`;
  private readonly running: RunningService[] = [];

  /** `program` is the folder of the built program. */
  constructor(readonly program: string) {}

  /** Runs a command to its end, with these variables in its environment and no others. */
  async run(args: readonly string[], variables: Variables = {}, output: 'pipe' | number = 'pipe'): Promise<Outcome> {
    return outcomeOf(this.spawn(args, variables, output));
  }

  /** Runs a command until a condition holds, and ends it by a signal, as Ctrl-C does. */
  async interrupt(
    args: readonly string[],
    condition: () => boolean | Promise<boolean>,
    variables: Variables = {},
    signal: NodeJS.Signals = 'SIGINT',
  ): Promise<Outcome> {
    const child = this.spawn(args, variables, 'pipe');
    const outcome = outcomeOf(child);
    await until(condition);
    child.kill(signal);
    return outcome;
  }

  /**
   * Runs a command on a terminal of 80 columns, and resolves to what that got. Presses Ctrl-C once a condition holds of
   * what it has got so far.
   */
  async onTerminal(args: readonly string[], isEnough: (got: string) => boolean = () => false) {
    const line = [process.execPath, join(this.program, 'src', 'main.js'), ...args].map((each) => `'${each}'`).join(' ');
    const child = spawn('script', ['-qec', `stty cols 80; exec ${line}`, '/dev/null'], {
      cwd: this.path,
      env: { PATH: process.env.PATH, TERM: 'xterm' },
    });
    const got = textOf(child.stdout);
    const press = () => {
      if (!isEnough(got())) return;
      child.stdout.off('data', press);
      child.stdin.write('\u0003');
    };
    child.stdout.on('data', press);
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, got: got() };
  }

  /** What a command prints; throws if it fails, or writes to standard error more than which database it may change. */
  async output(...args: string[]): Promise<string> {
    const { code, out, err } = await this.run(args);
    expect({ code, err: withoutDatabase(err) }).toEqual({ code: 0, err: '' });
    return out;
  }

  /** What a command that fails writes: one line, and which database it was to change. */
  async error(args: readonly string[], variables?: Variables): Promise<string> {
    const { code, out, err: all } = await this.run(args, variables);
    const err = withoutDatabase(all);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^[^\n]{20,500}\.\n$/);
    return err.trimEnd();
  }

  /** Starts the service on a free port, and resolves once its greeting is there. */
  async serve(variables: Variables = {}): Promise<RunningService> {
    const service = this.start(variables);
    await service.greeted(variables.NODE_ENV === 'production' ? /"The pet store is open\."\}\n/ : /^(Try|Keys): .*\n/m);
    return service;
  }

  /** Starts the service on a free port; its standard output goes to this descriptor, or to a pipe. */
  start(variables: Variables = {}, output: 'pipe' | number = 'pipe'): RunningService {
    const service = new RunningService(this.spawn(['serve'], { PORT: '0', ...variables }, output));
    this.running.push(service);
    return service;
  }

  /** Every file below the folder, with what is in it. */
  files(): { path: string; text: string }[] {
    return readdirSync(this.path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => ({ path, text: readFileSync(path, 'latin1') }));
  }

  /** Ends what still runs, and removes the folder. */
  async remove(): Promise<void> {
    for (const service of this.running) await service.end('SIGKILL');
    rmSync(this.path, { recursive: true, force: true });
  }

  private spawn(args: readonly string[], variables: Variables, output: 'pipe' | number): ChildProcess {
    return spawn(process.execPath, [join(this.program, 'src', 'main.js'), ...args], {
      cwd: this.path,
      env: { PATH: process.env.PATH, ...variables },
      stdio: ['ignore', output, 'pipe'],
    });
  }
}

/** What a command writes to standard error without the line that says which database it may change. */
export function withoutDatabase(err: string): string {
  return err.replace(/^(?:New d|D)atabase: .*\n/m, '');
}

async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  const [out, err] = [textOf(child.stdout), textOf(child.stderr)];
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out: out(), err: err() };
}

/** The service in a process of its own. */
export class RunningService {
  private readonly out: () => string;
  private readonly err: () => string;
  private readonly closed: Promise<unknown>;

  constructor(readonly process: ChildProcess) {
    this.closed = once(process, 'close');
    this.out = textOf(process.stdout);
    this.err = textOf(process.stderr);
  }

  /** Everything that it has written so far, to both of its outputs. */
  get log(): string {
    return this.out() + this.err();
  }

  /** The lines of its standard output, each of which must be JSON. */
  get lines(): LogLine[] {
    return linesOf(this.out());
  }

  /** The id of the process. */
  get pid(): number {
    return this.process.pid as number;
  }

  /** The ids of the processes that it has started and that have not ended. */
  get workers(): number[] {
    try {
      const children = readFileSync(`/proc/${this.pid}/task/${this.pid}/children`, 'utf8');
      return children.trim().split(' ').filter(Boolean).map(Number);
    } catch {
      return [];
    }
  }

  /** The base address that the greeting names. */
  get address(): string {
    return /(?:open at |"address":")(http:[^\s"]+)/.exec(this.log)?.[1] as string;
  }

  /** The port that the greeting names. */
  get port(): number {
    return Number(new URL(this.address).port);
  }

  /** The key that the greeting shows; undefined if it shows none. */
  get key(): string | undefined {
    return /^Key: +(\S+)/m.exec(this.log)?.[1];
  }

  /** Resolves once the output matches; rejects if the process ends before. */
  async greeted(greeting: RegExp): Promise<void> {
    while (!greeting.test(this.out())) {
      const ended = once(this.process, 'close').then(() => {
        throw new Error(`The service ended: ${this.log}`);
      });
      await Promise.race([once(this.process.stdout as NodeJS.ReadableStream, 'data'), ended]);
    }
  }

  /** Sends a signal, and resolves to the exit code once the process has ended; null if the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null> {
    this.process.kill(signal);
    return this.ended();
  }

  /**
   * Resolves to the exit code once the process, and all that write to its outputs, have ended; null if a signal ended
   * it.
   */
  async ended(): Promise<number | null> {
    await this.closed;
    return this.process.exitCode;
  }

  /** Sends a request with a key. */
  send(key: string, path = '/pets', init: RequestInit = {}): Promise<Response> {
    return fetch(this.address + path, { ...init, headers: { Authorization: `Bearer ${key}`, ...init.headers } });
  }

  /** Adds a pet, and resolves to its JSON text. */
  async add(key: string, pet: object): Promise<string> {
    const headers = { 'Content-Type': 'application/json' };
    const answer = await this.send(key, '/pets', { method: 'POST', headers, body: JSON.stringify(pet) });
    if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
    return answer.text();
  }
}

/** Resolves once the condition holds; rejects after so many milliseconds. */
export async function until(condition: () => boolean | Promise<boolean>, timeout = 60_000): Promise<void> {
  const end = performance.now() + timeout;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`Not within ${timeout} ms: ${condition.toString()}`);
    await delay(20);
  }
}

/** Whether there is a process with this id. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The lines of a log, each of which must be JSON. */
export function linesOf(log: string): LogLine[] {
  const lines = log.split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as LogLine);
}

/** The text that a stream has given so far, whenever it is asked for. */
function textOf(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return () => text;
}
