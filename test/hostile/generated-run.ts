import { Conversation, CreatedPet, Delivery } from './generated-conversation.js';
import { CHOICES, HostileRequest, Kind, KnownPet, makeRequests, Random } from './generated-requests.js';

/** How many connections are open at a time. */
const CONNECTIONS = 200;

/** How many connections there are before the store is looked at. */
const ROUND = 1_000;

/** At how many breaches a run ends. */
const ENOUGH = 20;

/** How many of the pets that are stored are asked for. */
const KNOWN = 1_000;

/** How many good requests there are at most before and behind one that is wrong. */
const AROUND = { pipelined: 8, 'in turn': 3, split: 3, 'byte by byte': 1, 'half-closed': 4, reset: 4 };

/** What is attacked, and for how long. */
export interface Attack {
  readonly port: number;
  readonly key: string;
  readonly seed: number;
  readonly seconds: number;
  /** How many requests are sent at least; if it is given, the time does not count. */
  readonly requests?: number | undefined;
}

/** What a run saw. */
export class AttackReport {
  requests = 0;
  connections = 0;
  /** How many pets were stored. */
  stored = 0;
  /** What must not be, with the bytes that show it. */
  readonly breaches: string[] = [];
  /** How often each was there. */
  readonly counts: Readonly<Record<'mutations' | 'framings' | 'deliveries' | 'answers', Map<string, number>>> = {
    mutations: new Map(),
    framings: new Map(),
    deliveries: new Map(),
    answers: new Map(),
  };
  private readonly combinations = new Set<string>();

  /** Counts what is sent on a connection. */
  note(requests: readonly HostileRequest[], delivery: Delivery): void {
    this.requests += requests.length;
    for (const { mutation, framing } of requests) {
      count(this.counts.mutations, mutation);
      count(this.counts.framings, framing);
      count(this.counts.deliveries, delivery);
      this.combinations.add(`${mutation}, ${framing}, ${delivery}`);
    }
  }

  /** The counts, for a person. */
  summary(): string {
    const lines = Object.entries(this.counts).map(([what, counts]) => {
      const sorted = [...counts].sort(([, one], [, other]) => other - one);
      return `${what}: ${sorted.map(([name, times]) => `${name} ${times}`).join(', ')}`;
    });
    return [
      `${this.requests} requests on ${this.connections} connections, ${this.stored} pets stored, ${this.breaches.length} breaches`,
      `combinations of mutation, framing and delivery: ${this.combinations.size}`,
      ...lines,
    ].join('\n');
  }
}

/** Sends generated requests, and holds the answers and the store against what is right. Nothing else may write to the store. */
export async function attack({ port, key, seed, seconds, requests }: Attack): Promise<AttackReport> {
  const run = new Run(port, key, seed);
  const { report } = run;
  const end = performance.now() + seconds * 1_000;
  try {
    await run.begin();
    do await run.round();
    while (
      report.breaches.length < ENOUGH &&
      (requests === undefined ? performance.now() < end : report.requests < requests)
    );
    await run.compareAll();
  } catch (error) {
    report.breaches.push(`The store cannot be read: ${(error as Error).message}`);
  }
  return report;
}

class Run {
  readonly report = new AttackReport();
  /** The ids of the pets that were acknowledged and not yet seen in the store, by their names. */
  private readonly acknowledged = new Map<string, string>();
  /** The names of the pets that may be stored, as the answer was lost. */
  private readonly possible = new Set<string>();
  private readonly known: KnownPet[] = [];
  private names = 0;
  private newest = 0n;
  private before = 0;

  constructor(
    private readonly port: number,
    private readonly key: string,
    private readonly seed: number,
  ) {}

  /** Looks at what is stored already, and has a pet created that can be asked for. */
  async begin(): Promise<void> {
    this.before = await this.walk(() => undefined);
    const random = new Random(this.seed);
    await this.converse('alone', makeRequests(this.source(random), { framing: 'length', kinds: ['create'] }), random);
  }

  /** Has a thousand connections, and looks at the store when all of them are over. */
  async round(): Promise<void> {
    const end = this.report.connections + ROUND;
    const loop = async () => {
      while (this.report.connections < end && this.report.breaches.length < ENOUGH) {
        const random = new Random(Math.imul(this.seed + this.report.connections, 0x9e3779b1));
        const delivery = pickDelivery(random);
        await this.converse(delivery, this.requestsFor(delivery, random), random);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, loop));
    await this.compareNew();
  }

  /** Holds the number of all pets against that of those that were seen round by round. */
  async compareAll(): Promise<void> {
    this.newest = 0n;
    const all = await this.walk(() => undefined);
    const expected = this.before + this.report.stored;
    if (all !== expected) this.report.breaches.push(`The store has ${all} pets, not ${expected}.`);
  }

  private async converse(delivery: Delivery, requests: readonly HostileRequest[], random: Random): Promise<void> {
    const { report } = this;
    const number = report.connections++;
    report.note(requests, delivery);
    const conversation = new Conversation(this.port, requests, delivery, random);
    const breach = await conversation.hold();
    for (const status of conversation.statuses) count(report.counts.answers, String(status));
    for (const pet of conversation.created) this.noteCreated(pet);
    for (const name of conversation.perhapsCreated()) this.possible.add(name);
    if (breach !== undefined) report.breaches.push(`Connection ${number}: ${breach}\n${conversation.transcript()}`);
  }

  private requestsFor(delivery: Delivery, random: Random): HostileRequest[] {
    const source = this.source(random);
    const good = (most: number, kinds?: readonly Kind[]) =>
      Array.from({ length: random.int(most + 1) }, () =>
        makeRequests(source, { framing: random.pick(['none', 'length', 'chunked'] as const), ...(kinds && { kinds }) }),
      ).flat();
    const wrong = () => makeRequests(source, random.pick(CHOICES));
    if (delivery === 'alone') return wrong();
    if (delivery === 'unread') return good(2_000, ['page']);
    const requests = [...good(AROUND[delivery]), ...wrong()];
    const isOpen = () => !requests.at(-1)?.unfinished;
    if (isOpen()) requests.push(...good(AROUND[delivery]));
    // Now and then a second one that is wrong.
    if (isOpen() && random.chance(0.3)) requests.push(...wrong());
    return requests;
  }

  private source(random: Random) {
    return { random, key: this.key, known: this.known, uniqueName: () => `h-${this.seed}-${this.names++}` };
  }

  private noteCreated({ name, id, text }: CreatedPet): void {
    if (this.acknowledged.has(name)) this.report.breaches.push(`${name} was acknowledged twice.`);
    this.acknowledged.set(name, id);
    if (this.known.length < KNOWN) this.known.push({ id, text });
    else this.known[Number(id) % KNOWN] = { id, text };
  }

  private async compareNew(): Promise<void> {
    const { breaches } = this.report;
    this.report.stored += await this.walk((name, id) => {
      const given = this.acknowledged.get(name);
      if (given !== undefined && given !== id) breaches.push(`${name} was acknowledged as ${given} and is ${id}.`);
      if (!this.acknowledged.delete(name) && !this.possible.delete(name)) {
        breaches.push(`${name} is stored, though it was not to be, or a second time.`);
      }
    });
    for (const name of this.acknowledged.keys()) breaches.push(`${name} was acknowledged and is not stored.`);
    this.acknowledged.clear();
  }

  /** Calls `see` with each pet that is newer than all at the last walk; resolves to how many there are. */
  private async walk(see: (name: string, id: string) => void): Promise<number> {
    const headers = { Authorization: `Bearer ${this.key}` };
    const until = this.newest;
    let seen = 0;
    for (let path: string | undefined = '/v1/pets?limit=100'; path !== undefined;) {
      const answer = await fetch(`http://127.0.0.1:${this.port}${path}`, { headers });
      if (answer.status !== 200) throw new Error(`it answers ${answer.status}`);
      for (const [, id = '', name = ''] of (await answer.text()).matchAll(/"id":([0-9]+),"name":"([^"]*)"/g)) {
        if (BigInt(id) <= until) return seen;
        if (BigInt(id) > this.newest) this.newest = BigInt(id);
        seen++;
        see(name, id);
      }
      path = /<([^>]*)>; rel="next"/.exec(answer.headers.get('Link') ?? '')?.[1];
    }
    return seen;
  }
}

function pickDelivery(random: Random): Delivery {
  // Those that take long are rare.
  if (random.chance(0.02)) return random.chance(0.1) ? 'unread' : 'byte by byte';
  return random.pick(['alone', 'pipelined', 'in turn', 'split', 'half-closed', 'reset']);
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
