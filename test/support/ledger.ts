import { Agent, IncomingHttpHeaders, request } from 'node:http';
import { newPetJson, petJson } from './fields.js';

/** The API key that the clients send. */
export const KEY = 'key-of-the-ledger-tests';

const STATUSES = ['available', 'pending', 'sold'] as const;

/** How many Idempotency-Keys are in use at a time. */
const KEYS = 300;

/** How many of the latest Idempotency-Keys are sent again in the end. */
const REPEATED = 200;

/** How many of the latest pages each page is compared with. */
const COMPARED = 32;

/** How long a request may take: 8 seconds of waiting for the database and some for a busy machine, in milliseconds. */
const TIME_LIMIT = 12_000;

/** How long to wait for the database once all faults are over; PgBouncer retries a server after 15 seconds; in ms. */
const RECOVERY = 20_000;

/** A pet that a client wants created, noted before its request is sent. Moments are counted by the ledger's `clock`. */
interface Intent {
  readonly name: string;
  readonly status: string;
  readonly fields: Readonly<Record<string, string>>;
  /** With one it is sent until its outcome is known, without one once. */
  readonly key: IdempotencyKey | undefined;
  /** The largest id that was known before it was first sent. */
  readonly floor: bigint;
  readonly sentAt: number;
  /** Whether it has been answered with 422. */
  isRejected: boolean;
  /** Once a response shows that it is stored: the JSON of the pet, its id, and when that response came. */
  json?: string;
  id: bigint;
  knownAt: number;
}

interface IdempotencyKey {
  readonly token: string;
  /** The payloads that were sent with it. */
  readonly intents: Intent[];
  /** Its requests and their responses, for people. */
  readonly trace: string[];
  /** The one that is stored, if that is known. */
  stored?: Intent;
  /** Whether a response was 201 without being a replay. */
  isCreated: boolean;
}

/** A page of a list, with the moments of its request and its response. */
interface Page {
  readonly begun: number;
  readonly ended: number;
  readonly intents: ReadonlySet<Intent>;
  /** Whether the page would have shown this pet if it had existed. */
  readonly covers: (intent: Intent) => boolean;
}

interface Reply {
  /** 0 if the connection ended before the response. */
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Clients of one or more instances on one database. They note what they send and what responses show, and check every
 * response against that: what was acknowledged, or seen once, is in all later reads; an Idempotency-Key creates one
 * pet, of one payload, and replays it; nothing is stored twice; nothing appears that was never sent. A request that
 * failed may have been carried out or not, until a response tells.
 */
export class Ledger {
  /** What went wrong, in sentences. */
  readonly problems: string[] = [];
  /** How many responses there were of each operation and status. */
  readonly responses = new Map<string, number>();
  /** How many creates have been answered. */
  creates = 0;
  /** The longest time that a response took, in milliseconds. */
  slowest = 0;
  /** The API keys that the clients send, all of one owner. */
  keys: readonly string[] = [KEY];
  /** When the last read failed, on the clock of `performance.now()`; 0 if none did. */
  lastFailedRead = 0;
  private readonly byName = new Map<string, Intent>();
  private readonly idempotencyKeys: IdempotencyKey[] = [];
  private readonly keysInUse: IdempotencyKey[] = [];
  /** The pets that are known to be stored, by their ids. */
  private readonly known: Intent[] = [];
  private readonly pages: Page[] = [];
  private readonly lastCreate = new Map<number, number>();
  private readonly agent = new Agent({ keepAlive: true });
  private clock = 0;
  private isOver = true;
  private running: Promise<void>[] = [];

  /**
   * `tolerated` are the statuses besides success that a client must expect: 503, 409 for a request with an
   * Idempotency-Key, and 0 for a lost connection. `timeLimit` is the longest that a response may take, in milliseconds.
   */
  constructor(
    readonly ports: readonly number[],
    private readonly tolerated: readonly number[] = [],
    private readonly timeLimit = TIME_LIMIT,
  ) {}

  /** How many pets are known to be stored. */
  get created(): number {
    return this.known.length;
  }

  /** An Idempotency-Key in flight; undefined if there is none. */
  get keyInFlight(): string | undefined {
    return this.keysInUse.find(({ stored }) => stored === undefined)?.token;
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
    while ((await this.ask(port, '/v1/pets')).status !== 200 && performance.now() < deadline) await pause(100);
    this.isOver = false;
    for (const key of this.idempotencyKeys.filter(
      ({ stored }, i) => !stored || i >= this.idempotencyKeys.length - REPEATED,
    )) {
      await Promise.all(key.intents.map((intent) => this.createWithKey(pick(this.ports), intent)));
      if (!key.stored) this.problems.push(`No payload of ${key.token} is stored: ${key.trace.join()}`);
    }
    this.isOver = true;
    for (const status of [undefined, ...STATUSES])
      if ((await this.list(pick(this.ports), status)) === undefined)
        this.problems.push('After all faults a list failed.');
    this.agent.destroy();
  }

  /** How many pets are stored; undefined if they cannot be listed. */
  count(): Promise<number | undefined> {
    return this.list(this.ports[0] as number);
  }

  /** A line for people. */
  summary(): string {
    const counts = [...this.responses].sort(([a], [b]) => (a < b ? -1 : 1)).map(([what, count]) => `${what}: ${count}`);
    return (
      `${this.creates} creates, ${this.idempotencyKeys.length} Idempotency-Keys, ${this.created} pets, ${this.problems.length} ` +
      `problems, slowest response ${Math.round(this.slowest)} ms; ${counts.join(', ')}\n`
    );
  }

  private get highest(): bigint {
    return this.known.at(-1)?.id ?? 0n;
  }

  /** Notes a pet before it is sent. */
  private intend(key?: IdempotencyKey): Intent {
    const name = `pet-${this.byName.size}`;
    const status = pick(STATUSES);
    const categoryId = (BigInt(integer(2 ** 31)) << 31n) - BigInt(integer(2 ** 31));
    const fields = { name: `"${name}"`, categoryId: String(categoryId), status: `"${status}"` };
    const moments = { sentAt: ++this.clock, knownAt: Infinity };
    const intent = { name, status, fields, key, floor: this.highest, ...moments, isRejected: false, id: 0n };
    key?.intents.push(intent);
    this.byName.set(name, intent);
    return intent;
  }

  private async sendSomething(port: number): Promise<void> {
    const kind = integer(100);
    if (kind < 20) await this.create(port, this.intend());
    else if (kind < 50) {
      const key = this.someKey();
      // Some send it twice at the same time, to any instance, and some with another payload.
      const ports = integer(4) === 0 ? [port, pick(this.ports)] : [port];
      const intents = ports.map(() => (integer(8) === 0 || !key.intents[0] ? this.intend(key) : pick(key.intents)));
      await Promise.all(intents.map((intent, i) => this.createWithKey(ports[i] as number, intent)));
    } else if (kind < 75) await this.find(port);
    else {
      const status = integer(2) === 0 ? pick(STATUSES) : undefined;
      await this.list(port, status, 1 + integer(100), 1 + integer(3));
    }
  }

  /** One of the keys in use, or a new one in its place. */
  private someKey(): IdempotencyKey {
    const place = integer(KEYS);
    const used = this.keysInUse[place];
    if (used && integer(10) > 0) return used;
    const key = { token: `key-${this.idempotencyKeys.length}`, intents: [], trace: [], isCreated: false };
    this.idempotencyKeys.push(key);
    // While there are fewer, the last place is a new one.
    this.keysInUse[Math.min(place, this.keysInUse.length)] = key;
    return key;
  }

  /** Sends it once. */
  private async create(port: number, intent: Intent): Promise<number> {
    const { key } = intent;
    const begun = ++this.clock;
    const { status, text, headers } = await this.ask(port, '/v1/pets', key ? [201, 422] : [201], intent);
    const isReplay = headers['idempotent-replayed'] === 'true';
    this.creates++;
    key?.trace.push(`${begun} to ${++this.clock}: ${port} ${intent.name} ${status}${isReplay ? ' replayed' : ''}`);
    if (status === 422) {
      intent.isRejected = true;
      if (intent.json !== undefined || key?.intents.length === 1) this.blame(intent, 'was answered with 422');
    }
    if (status !== 201) return status;
    this.lastCreate.set(port, performance.now());
    if (isReplay && !key) this.blame(intent, 'was replayed without a key');
    if (!isReplay && (key?.isCreated || intent.knownAt < begun)) this.blame(intent, 'was created a second time');
    if (headers.location !== `/v1/pets/${idIn(text)}`) this.blame(intent, `is at ${headers.location}`);
    if (key && !isReplay) key.isCreated = true;
    this.learn(intent, text);
    return status;
  }

  /** Sends it until its outcome is known, or the client is stopped. */
  private async createWithKey(port: number, intent: Intent): Promise<void> {
    while (this.tolerated.includes(await this.create(port, intent)) && !this.isOver);
  }

  /** Notes that a pet is stored, which a response has shown. */
  private learn(intent: Intent, json: string): void {
    const { key } = intent;
    if (intent.json !== undefined) {
      if (intent.json !== json) this.blame(intent, `was ${intent.json}, and then ${json}`);
      return;
    }
    const id = idIn(json);
    if (json !== petJson(id, intent.fields)) this.blame(intent, `became ${json}`);
    if (id <= intent.floor) this.blame(intent, `has the id ${id}, not above ${intent.floor}`);
    if (intent.isRejected) this.blame(intent, 'was answered with 422, and is stored');
    if (key?.stored) this.blame(intent, `is stored besides ${key.stored.name}`);
    if (key) key.stored = intent;
    Object.assign(intent, { json, id, knownAt: ++this.clock });
    let place = this.known.length;
    while (place > 0 && (this.known[place - 1] as Intent).id > id) place--;
    this.known.splice(place, 0, intent);
  }

  /** Finds a pet that is known, often one of the newest, or perhaps one that is being created. */
  private async find(port: number): Promise<void> {
    const most = integer(2) === 0 ? Math.min(20, this.created) : this.created;
    const known = integer(8) === 0 ? undefined : this.known.at(-1 - integer(most));
    const id = known?.id ?? this.highest + 1n;
    const { status, text } = await this.ask(port, `/v1/pets/${id}`, known ? [200] : [200, 404]);
    if (status === 200 && this.intentOf(text)?.id !== id) this.problems.push(`${id} was found as ${text}.`);
  }

  /** Reads so many pages, and checks them; resolves to how many pets they show, or to undefined if one failed. */
  private async list(port: number, status?: string, limit = 100, pages = Infinity): Promise<number | undefined> {
    let [path, count]: [string | undefined, number] = [`/v1/pets?limit=${limit}`, 0];
    if (status !== undefined) path += `&status=${status}`;
    for (let below: bigint | undefined; path !== undefined && pages > 0; pages--) {
      const begun = ++this.clock;
      const reply: Reply = await this.ask(port, path);
      if (reply.status !== 200) return undefined;
      const pets = petsIn(reply.text);
      const ids = [...(below === undefined ? [] : [below]), ...pets.map(idIn)];
      if (ids.some((id, i) => i > 0 && id >= (ids[i - 1] as bigint))) this.problems.push(`No order: ${reply.text}`);
      path = /<([^>]*)>; rel="next"/.exec(String(reply.headers.link))?.[1];
      if (pets.length > limit || (path !== undefined && pets.length < limit))
        this.problems.push(`A page of ${limit} has ${pets.length}.`);
      this.checkPage(begun, pets, status, below, path === undefined ? 0n : ids.at(-1));
      below = ids.at(-1);
      count += pets.length;
    }
    return count;
  }

  /** `below` and `least` are the bounds of the ids. */
  private checkPage(begun: number, pets: string[], status: string | undefined, below = 1n << 63n, least = 0n): void {
    const intents = new Set(pets.flatMap((pet) => this.intentOf(pet) ?? []));
    const covers = (each: Intent) =>
      each.id >= least && each.id < below && (status === undefined || status === each.status);
    const page: Page = { begun, ended: ++this.clock, intents, covers };
    for (const each of intents) if (!covers(each)) this.blame(each, `is in a list of ${status} below ${below}`);
    // A page that shows a pet shows what was known before that pet was sent, too.
    const since = Math.max(begun, ...[...intents].map(({ sentAt }) => sentAt));
    for (let i = this.known.length - 1; i >= 0; i--) {
      const each = this.known[i] as Intent;
      if (each.id < least) break;
      if (each.knownAt < since && covers(each) && !intents.has(each)) this.blame(each, 'was known, and is not listed');
    }
    const lacks = (one: Page, other: Page) =>
      [...other.intents].some((each) => one.covers(each) && !one.intents.has(each));
    for (const other of this.pages)
      if (other.ended > begun && lacks(page, other) && lacks(other, page))
        this.problems.push(`Each of two pages at ${begun} lacks a pet of the other.`);
    this.pages.push(page);
    if (this.pages.length > COMPARED) this.pages.shift();
  }

  /** What a pet of a response was sent as; undefined if it never was. */
  private intentOf(pet: string): Intent | undefined {
    const intent = this.byName.get(/"name":"([^"]*)"/.exec(pet)?.[1] ?? '');
    if (intent) this.learn(intent, pet);
    else this.problems.push(`${pet} was never sent.`);
    return intent;
  }

  private blame({ name, key }: Intent, what: string): void {
    this.problems.push(`${name} ${what}.${key ? ` ${key.token}: ${key.trace.join('; ')}` : ''}`);
  }

  /** Sends a create of a pet, or else a GET; pauses after a response with a status that was not expected. */
  private async ask(port: number, path: string, expected: readonly number[] = [200], pet?: Intent): Promise<Reply> {
    const method = pet ? 'POST' : 'GET';
    const begun = performance.now();
    const reply = await this.send(port, method, path, pet);
    const { status, text, headers } = reply;
    const took = performance.now() - begun;
    const what = `${method} ${status}`;
    this.responses.set(what, (this.responses.get(what) ?? 0) + 1);
    this.slowest = Math.max(this.slowest, took);
    if (took > this.timeLimit) this.problems.push(`${method} ${path} took ${Math.round(took)} ms.`);
    if (expected.includes(status)) return reply;
    if (!pet) this.lastFailedRead = performance.now();
    const code = status === 503 ? 'service_unavailable' : 'idempotency_in_progress';
    const isError = headers['retry-after'] !== undefined && text.startsWith(`{"code":"${code}",`);
    const isRight = status === 0 || (isError && (status === 503 || pet?.key));
    if (!this.tolerated.includes(status) || !isRight)
      this.problems.push(`${method} ${path} was answered with ${status} ${text}.`);
    await pause(20 + integer(40));
    return reply;
  }

  private send(port: number, method: string, path: string, pet?: Intent): Promise<Reply> {
    const headers = {
      Authorization: `Bearer ${pick(this.keys)}`,
      ...(pet && { 'Content-Type': 'application/json' }),
      ...(pet?.key && { 'Idempotency-Key': pet.key.token }),
    };
    return new Promise((resolve) => {
      const lost = () => resolve({ status: 0, text: '', headers: {} });
      const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: this.agent });
      sent.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('error', lost);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }));
      });
      sent.on('error', lost);
      sent.setTimeout(30_000, () => sent.destroy());
      sent.end(pet && newPetJson(pet.fields));
    });
  }
}

export const integer = (below: number): number => Math.floor(below * Math.random());

const pick = <T>(choices: readonly T[]): T => choices[integer(choices.length)] as T;

/** The JSON texts of the pets in a list. */
const petsIn = (text: string): string[] => text.match(/\{[^}]*\}/g) ?? [];

const idIn = (pet: string): bigint => BigInt(/^\{"id":(\d+)/.exec(pet)?.[1] ?? 0);
