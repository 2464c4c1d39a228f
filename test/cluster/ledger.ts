import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';

/** The key that the instances accept. */
export const KEY = 'key-of-the-cluster-test';

/** How many clients ask each instance. */
const CLIENTS = 8;

/** How long a request may wait in all, and some time for a busy machine, in milliseconds. */
const BOUND = 12_000;

/** How long to wait for a page after all faults, in milliseconds: PgBouncer by itself tries a server that was away after 15 seconds. */
const PATIENCE = 20_000;

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** What clients of several instances asked for, what they were answered, and whether that was right. */
export class Ledger {
  /** The JSON texts of the pets that were acknowledged, by the names that are unique to them. */
  readonly added = new Map<string, string>();
  /** Names of pets whose outcome is not known: sent without a key, and not acknowledged. */
  readonly unknown = new Set<string>();
  readonly statuses = new Map<string, number>();
  readonly problems: string[] = [];
  /** When each port has answered a read with 503, and a create with 201, for the last time, on the clock of `performance.now()`. */
  readonly failedReads = new Map<number, number>();
  readonly creates = new Map<number, number>();
  private readonly agent = new Agent({ keepAlive: true });
  private stopped = false;
  private running: Promise<void>[] = [];

  constructor(private readonly ports: readonly number[]) {}

  /** When the last read was answered with 503; 0 if none was. */
  get lastFailedRead(): number {
    return Math.max(0, ...this.failedReads.values());
  }

  /** When the last create was answered with 201; 0 if none was. */
  get lastAdded(): number {
    return Math.max(0, ...this.creates.values());
  }

  /** Has clients ask, until they are stopped. */
  start(): void {
    for (const port of this.ports) {
      for (let i = 0; i < CLIENTS; i++) this.running.push(i % 2 === 0 ? this.write(port) : this.read(port));
    }
  }

  /** Resolves once no client waits for an answer. */
  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.running);
  }

  /** Holds what is stored, as one instance tells it, against what was acknowledged. */
  async check(): Promise<void> {
    const stored = new Map<string, string>();
    let target = '/v1/pets?limit=100';
    const deadline = performance.now() + PATIENCE;
    for (;;) {
      const { status, text, next } = await this.page(target);
      if (status === 503 && performance.now() < deadline) {
        await pause(100);
        continue;
      }
      if (status !== 200) this.problems.push(`${target} was answered with ${status} ${text}`);
      for (const pet of text.slice(1, -1).split(/(?<=\}),/)) {
        const name = nameIn(pet);
        if (stored.has(name)) this.problems.push(`${name} is there twice`);
        stored.set(name, pet);
      }
      if (next === undefined) break;
      target = next;
    }
    for (const [name, pet] of this.added) {
      if (stored.get(name) !== pet) this.problems.push(`${pet} was acknowledged, ${stored.get(name)} is stored`);
    }
    for (const name of stored.keys()) {
      if (name !== '' && !this.added.has(name) && !this.unknown.has(name)) this.problems.push(`${name} was never sent`);
    }
    this.agent.destroy();
  }

  /** A line for people. */
  summary(): string {
    const statuses = [...this.statuses].sort().map(([what, count]) => `${what} ${count}`);
    return `${this.added.size} pets added, ${this.unknown.size} unknown, answers: ${statuses.join(', ')}`;
  }

  private async write(port: number): Promise<void> {
    for (let i = 0; !this.stopped; i++) {
      const name = `${port}-${randomUUID()}`;
      const key = i % 2 === 0 ? name : undefined;
      const body = `{"name":"${name}","categoryId":${i}}`;
      for (;;) {
        const { status, text } = await this.ask(port, 'POST', '/v1/pets', body, key);
        if (status === 201) {
          this.creates.set(port, performance.now());
          if (nameIn(text) !== name) this.problems.push(`${name} was answered with ${text}`);
          this.added.set(name, text);
          await this.find(port, text);
        } else if (key === undefined || this.stopped) this.unknown.add(name);
        else if (status === 503 || status === 409 || status === 0) {
          await pause(50);
          continue;
        }
        break;
      }
    }
  }

  private async read(port: number): Promise<void> {
    for (let i = 1; !this.stopped; i++) {
      const latest = [...this.added.values()].at(-1);
      const { status } =
        latest && i % 2 === 0
          ? await this.find(port, latest)
          : await this.ask(port, 'GET', `/v1/pets?limit=${1 + (i % 100)}`);
      if (status !== 200) await pause(20);
    }
  }

  /** Asks for a pet that was acknowledged. */
  private async find(port: number, pet: string): Promise<Answer> {
    const answer = await this.ask(port, 'GET', `/v1/pets/${/\d+/.exec(pet)?.[0]}`);
    if (answer.status === 404 || (answer.status === 200 && answer.text !== pet))
      this.problems.push(`${pet} was acknowledged, and then found as ${answer.status} ${answer.text}`);
    return answer;
  }

  private async ask(port: number, method: string, path: string, body?: string, key?: string): Promise<Answer> {
    const begun = performance.now();
    const answer = await new Promise<Answer>((resolve) => {
      const headers = {
        Authorization: `Bearer ${KEY}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(key !== undefined && { 'Idempotency-Key': key }),
      };
      request({ host: '127.0.0.1', port, method, path, agent: this.agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
        response.on('error', () => resolve({ status: 0, text: '' }));
      })
        .on('error', () => resolve({ status: 0, text: '' }))
        .end(body);
    });
    const what = `${method} ${answer.status}`;
    this.statuses.set(what, (this.statuses.get(what) ?? 0) + 1);
    if (method === 'GET' && answer.status === 503) this.failedReads.set(port, performance.now());
    if (![0, 200, 201, 404, 409, 503].includes(answer.status))
      this.problems.push(`${method} ${path} was answered with ${answer.status} ${answer.text}`);
    if (performance.now() - begun > BOUND) this.problems.push(`${method} ${path} took ${performance.now() - begun} ms`);
    return answer;
  }

  private async page(target: string): Promise<{ status: number; text: string; next: string | undefined }> {
    const response = await fetch(`http://127.0.0.1:${this.ports[0]}${target}`, {
      headers: { Authorization: `Bearer ${KEY}` },
    });
    return {
      status: response.status,
      text: await response.text(),
      next: /<([^>]+)>/.exec(response.headers.get('Link') ?? '')?.[1],
    };
  }
}

function nameIn(pet: string): string {
  return /"name":"([^"]*)"/.exec(pet)?.[1] ?? '';
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
