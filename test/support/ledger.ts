import { Agent, request } from 'node:http';
import { newPetJson, petJson } from './fields.js';

/** The API key that the clients send. */
export const KEY = 'key-of-the-ledger-tests';

const STATUSES = ['available', 'pending', 'sold'] as const;

/** How many of the latest pets each page is compared with. */
const LATEST = 200;

/** How many of the requests with an Idempotency-Key are repeated in the end. */
const REPEATED = 200;

/** How long a request may take: 8 seconds of waiting for the database and some for a busy machine, in milliseconds. */
const TIME_LIMIT = 12_000;

/** How long to wait for the database once all faults are over; PgBouncer retries a server after 15 seconds; in ms. */
const RECOVERY = 20_000;

/** A pet that a client wants created, noted before its request is sent. */
interface Intent {
  readonly name: string;
  readonly status: string;
  readonly fields: Readonly<Record<string, string>>;
  /** Its Idempotency-Key: with one it is sent until it is acknowledged, without one once. */
  readonly key: string | undefined;
  /** The largest id that was acknowledged before it was first sent. */
  readonly floor: bigint;
  /** The body of its 201, and the id in it. */
  acknowledged?: string;
  id?: bigint;
}

interface Reply {
  /** 0 if the connection ended before the response. */
  readonly status: number;
  readonly text: string;
  readonly retryAfter?: string | undefined;
  readonly next?: string | undefined;
}

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Clients of one or more instances on one database. They note what they send and what is acknowledged, and check every
 * response: nothing acknowledged may get lost, nothing may be stored twice, and nothing may appear that was never sent.
 */
export class Ledger {
  /** What went wrong, in sentences. */
  readonly problems: string[] = [];
  /** How many responses there were of each operation and status. */
  readonly responses = new Map<string, number>();
  /** The longest time that a response took, in milliseconds. */
  slowest = 0;
  /** When the last read failed, on the clock of `performance.now()`; 0 if none did. */
  lastFailedRead = 0;
  private readonly intents: Intent[] = [];
  private readonly keyed: Intent[] = [];
  private readonly byName = new Map<string, Intent>();
  private readonly acknowledged: Intent[] = [];
  private readonly lastCreate = new Map<number, number>();
  private readonly agent = new Agent({ keepAlive: true });
  private highest = 0n;
  private isOver = true;
  private running: Promise<void>[] = [];

  /**
   * `tolerated` are the statuses besides success that a client must expect: 503, 409 for a request with an
   * Idempotency-Key, and 0 for a lost connection. `timeLimit` is the longest that a response may take, in milliseconds.
   */
  constructor(
    private readonly ports: readonly number[],
    private readonly tolerated: readonly number[] = [],
    private readonly timeLimit = TIME_LIMIT,
  ) {}

  /** How many pets were acknowledged. */
  get created(): number {
    return this.acknowledged.length;
  }

  /** An Idempotency-Key in flight; undefined if there is none. */
  get keyInFlight(): string | undefined {
    return this.keyed.slice(-50).find(({ acknowledged }) => acknowledged === undefined)?.key;
  }

  /** Whether every instance has created a pet since this moment of `performance.now()`. */
  hasCreatedSince(moment: number): boolean {
    return this.ports.every((port) => (this.lastCreate.get(port) ?? 0) > moment);
  }

  /** Has so many clients work, an equal share with each instance, until they are stopped. */
  start(clients = 16): void {
    this.isOver = false;
    const one = async (port: number) => {
      while (!this.isOver) await this.sendSomething(port);
    };
    for (let i = 0; i < clients; i++) this.running.push(one(this.ports[i % this.ports.length] as number));
  }

  /** Resolves once no client waits for a response. */
  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.running.splice(0));
  }

  /** Repeats what has an Idempotency-Key, and compares everything that is stored with what was sent. */
  async check(): Promise<void> {
    const port = this.ports[0] as number;
    const deadline = performance.now() + RECOVERY;
    while ((await this.ask(port, 'GET', '/v1/pets')).status !== 200 && performance.now() < deadline) await pause(100);
    const repeated = this.keyed.filter((intent, i) => !intent.acknowledged || i >= this.keyed.length - REPEATED);
    this.isOver = false;
    for (const intent of repeated) await this.createWithKey(port, intent);
    this.isOver = true;
    const all = await this.listAll(port, '');
    const byStatus = [];
    for (const status of STATUSES) byStatus.push(...(await this.listAll(port, `&status=${status}`)));
    this.compare(all, byStatus);
    this.agent.destroy();
  }

  /** How many pets are stored. */
  async count(): Promise<number> {
    return (await this.listAll(this.ports[0] as number, '')).length;
  }

  /** A line for people. */
  summary(): string {
    const counts = [...this.responses].sort(([a], [b]) => (a < b ? -1 : 1)).map(([what, count]) => `${what}: ${count}`);
    const lost = this.intents.length - this.created;
    return (
      `${this.created} pets acknowledged, ${lost} unknown, ${this.problems.length} problems, slowest response ` +
      `${Math.round(this.slowest)} ms; ${counts.join(', ')}\n`
    );
  }

  /** Notes a pet before it is sent. */
  private intend(hasKey: boolean): Intent {
    const name = `pet-${this.intents.length}`;
    const status = pick(STATUSES);
    const categoryId = (BigInt(integer(2 ** 31)) << 31n) - BigInt(integer(2 ** 31));
    const fields = { name: `"${name}"`, categoryId: String(categoryId), status: `"${status}"` };
    const intent: Intent = { name, status, fields, key: hasKey ? `key-${name}` : undefined, floor: this.highest };
    this.intents.push(intent);
    if (hasKey) this.keyed.push(intent);
    this.byName.set(name, intent);
    return intent;
  }

  private async sendSomething(port: number): Promise<void> {
    const kind = integer(100);
    if (kind < 20) await this.create(port, this.intend(false));
    else if (kind < 45) {
      const intent = this.intend(true);
      // Some send it twice at the same time.
      await Promise.all(Array.from({ length: kind < 25 ? 2 : 1 }, () => this.createWithKey(port, intent)));
    } else if (kind < 50 && this.keyed.length > 0) await this.createWithKey(port, pick(this.keyed));
    else if (kind < 75 && this.created > 0) await this.find(port);
    else await this.list(port);
  }

  /** Sends it once. */
  private async create(port: number, intent: Intent): Promise<number> {
    const { status, text } = await this.ask(port, 'POST', '/v1/pets', newPetJson(intent.fields), intent.key);
    if (status === 201) this.acknowledge(port, intent, text);
    return status;
  }

  /** Sends it until it is acknowledged, or the client is stopped. */
  private async createWithKey(port: number, intent: Intent): Promise<void> {
    for (;;) {
      const status = await this.create(port, intent);
      if (status === 201 || !this.tolerated.includes(status) || this.isOver) return;
    }
  }

  private acknowledge(port: number, intent: Intent, text: string): void {
    const id = idIn(text);
    this.lastCreate.set(port, performance.now());
    if (text !== petJson(id, intent.fields)) this.problems.push(`${intent.name} came back as ${text}.`);
    if (intent.acknowledged !== undefined) {
      if (intent.acknowledged !== text)
        this.problems.push(`${intent.acknowledged} was acknowledged, and then as ${text}.`);
      return;
    }
    if (id <= intent.floor) this.problems.push(`${intent.name} has the id ${id}, not above ${intent.floor}.`);
    intent.acknowledged = text;
    intent.id = id;
    this.acknowledged.push(intent);
    if (id > this.highest) this.highest = id;
  }

  private async find(port: number): Promise<void> {
    const { id, acknowledged } = pick(this.acknowledged.slice(integer(2) * -20));
    const { status, text } = await this.ask(port, 'GET', `/v1/pets/${id}`);
    if (status === 200 && text !== acknowledged) this.problems.push(`${acknowledged} was found as ${text}.`);
  }

  private async list(port: number): Promise<void> {
    const status = integer(2) === 0 ? pick(STATUSES) : undefined;
    const limit = 1 + integer(100);
    const before = this.acknowledged.slice(-LATEST);
    const filter = status === undefined ? '' : `&status=${status}`;
    const reply = await this.ask(port, 'GET', `/v1/pets?limit=${limit}${filter}`);
    if (reply.status === 200) this.checkPage(petsIn(reply.text), limit, status, before);
  }

  /** Compares a page of the newest pets with those that had been acknowledged before it was requested. */
  private checkPage(page: string[], limit: number, status: string | undefined, before: readonly Intent[]): void {
    const least = page.length === limit ? idIn(page.at(-1) as string) : 0n;
    const found = new Set(page);
    if (page.length > limit) this.problems.push(`A list of ${limit} has ${page.length}.`);
    if (!descend(page)) this.problems.push(`A list does not descend: ${page.join()}`);
    for (const { acknowledged = '', id = 0n, ...intent } of before) {
      const belongs = id >= least && (status === undefined || status === intent.status);
      if (belongs && !found.has(acknowledged)) this.problems.push(`${acknowledged} was acknowledged, not listed.`);
    }
    for (const pet of page) this.checkPet(pet, status);
  }

  private compare(all: readonly string[], byStatus: readonly string[]): void {
    const found = new Set(all);
    for (const { acknowledged = '' } of this.acknowledged)
      if (!found.has(acknowledged)) this.problems.push(`${acknowledged} was acknowledged and is not stored.`);
    const names = new Set(all.map(nameIn));
    if (names.size !== all.length) this.problems.push(`${all.length - names.size} pets are stored twice.`);
    for (const pet of all) this.checkPet(pet, undefined);
    if (!descend(all)) this.problems.push('The ids are not unique and descending.');
    if (byStatus.length !== all.length || byStatus.some((pet) => !found.has(pet)))
      this.problems.push('The lists of the three statuses do not add up to the whole.');
  }

  private checkPet(pet: string, status: string | undefined): void {
    const intent = this.byName.get(nameIn(pet));
    if (!intent || pet !== petJson(idIn(pet), intent.fields)) this.problems.push(`${pet} was never sent.`);
    else if (intent.acknowledged !== undefined && intent.acknowledged !== pet)
      this.problems.push(`${intent.acknowledged} is stored as ${pet}.`);
    if (status !== undefined && intent?.status !== status) this.problems.push(`${pet} is in the list of ${status}.`);
  }

  /** The texts of all pets that match, newest first, page by page. */
  private async listAll(port: number, filter: string): Promise<string[]> {
    const found: string[] = [];
    for (let path: string | undefined = `/v1/pets?limit=100${filter}`; path !== undefined;) {
      const { status, text, next }: Reply = await this.ask(port, 'GET', path);
      if (status !== 200) this.problems.push(`After all faults ${path} was answered with ${status} ${text}.`);
      found.push(...petsIn(text));
      path = next;
    }
    return found;
  }

  private async ask(port: number, method: 'GET' | 'POST', path: string, body?: string, key?: string): Promise<Reply> {
    const begun = performance.now();
    const reply = await this.send(port, method, path, body, key);
    const { status, text, retryAfter } = reply;
    const took = performance.now() - begun;
    const what = `${method} ${status}`;
    this.responses.set(what, (this.responses.get(what) ?? 0) + 1);
    this.slowest = Math.max(this.slowest, took);
    if (took > this.timeLimit) this.problems.push(`${method} ${path} took ${Math.round(took)} ms.`);
    if (status === (method === 'GET' ? 200 : 201)) return reply;
    if (method === 'GET') this.lastFailedRead = performance.now();
    const code = status === 503 ? 'service_unavailable' : 'idempotency_in_progress';
    const isError = retryAfter !== undefined && text.startsWith(`{"code":"${code}",`);
    const isRight = status === 0 || (isError && (status === 503 || key !== undefined));
    if (!this.tolerated.includes(status) || !isRight)
      this.problems.push(`${method} ${path} was answered with ${status} ${text}.`);
    await pause(20 + integer(40));
    return reply;
  }

  private send(port: number, method: string, path: string, body?: string, key?: string): Promise<Reply> {
    const headers = {
      Authorization: `Bearer ${KEY}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(key !== undefined && { 'Idempotency-Key': key }),
    };
    return new Promise((resolve) => {
      const lost = () => resolve({ status: 0, text: '' });
      const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: this.agent });
      sent.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('error', lost);
        response.on('end', () => {
          const { 'retry-after': retryAfter, link } = response.headers;
          const next = /<([^>]*)>; rel="next"/.exec(String(link))?.[1];
          resolve({ status: response.statusCode ?? 0, text, retryAfter, next });
        });
      });
      sent.on('error', lost);
      sent.setTimeout(30_000, () => sent.destroy());
      sent.end(body);
    });
  }
}

const integer = (below: number): number => Math.floor(below * Math.random());

const pick = <T>(choices: readonly T[]): T => choices[integer(choices.length)] as T;

/** The JSON texts of the pets in a list. */
export const petsIn = (text: string): string[] => text.match(/\{[^}]*\}/g) ?? [];

const nameIn = (pet: string): string => /"name":"([^"]*)"/.exec(pet)?.[1] ?? '';

const idIn = (pet: string): bigint => BigInt(/^\{"id":(\d+)/.exec(pet)?.[1] ?? 0);

function descend(pets: readonly string[]): boolean {
  const ids = pets.map(idIn);
  return ids.every((id, i) => i === 0 || id < (ids[i - 1] as bigint));
}
