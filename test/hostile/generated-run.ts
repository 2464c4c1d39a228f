import { petsIn } from '../support/ledger.js';
import { Conversation, Delivery } from './generated-conversation.js';
import { Choice, CHOICES, HostileRequest, KnownPet, makeRequest, Random } from './generated-requests.js';

/** How many connections are open at a time. */
const CONNECTIONS = 200;

/** How many connections there are before what is stored is checked. */
const ROUND = 1_000;

/** After how many breaches a run ends. */
const ENOUGH = 20;

/** How many of the stored pets are asked for. */
const KNOWN = 1_000;

/** How many well-formed requests there are at most before and behind one that is not. */
const AROUND = 4;

const DELIVERIES: readonly Delivery[] = ['alone', 'pipelined', 'in turn', 'split', 'half-closed', 'reset'];

/** What is attacked, and for how long. */
export interface Attack {
  readonly port: number;
  readonly key: string;
  readonly seed: number;
  /** How many requests are sent at least. */
  readonly requests: number;
  /** The port to which the requests are sent, if that is not the service's but a proxy's. */
  readonly proxy?: number;
  readonly choices?: readonly Choice[];
  readonly deliveries?: readonly Delivery[];
}

/** Sends generated requests, and checks the responses and what is stored; nothing else may write to the database. */
export class Run {
  requests = 0;
  connections = 0;
  /** How many pets were stored. */
  stored = 0;
  /** What was wrong, with the bytes that show it. */
  readonly breaches: string[] = [];
  private readonly counts = new Map<number, number>();
  /** The ids of the pets that were acknowledged and not yet seen stored, by their names. */
  private readonly acknowledged = new Map<string, string>();
  /** The names of the pets that may be stored, because the response was lost. */
  private readonly possible = new Set<string>();
  private readonly known: KnownPet[] = [];
  private names = 0;
  private newest = 0n;

  constructor(private readonly attack: Attack) {}

  /** Resolves once enough requests were sent, or enough was wrong. */
  async run(): Promise<void> {
    const { requests, seed } = this.attack;
    await this.walk(() => undefined);
    const random = new Random(seed);
    const first = makeRequest(this.source(random), { framing: 'length', kind: 'create' });
    await this.converse('alone', [first], random);
    do await this.round();
    while (this.breaches.length < ENOUGH && this.requests < requests);
    // Everything once more, from the first page to the last.
    const before = this.stored;
    const names = new Set<string>();
    this.newest = 0n;
    await this.walk((name) => names.add(name));
    if (names.size < before) this.breaches.push(`${before} pets were stored, ${names.size} are left.`);
  }

  summary(): string {
    const statuses = [...this.counts].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
    return (
      `seed ${this.attack.seed}: ${this.requests} requests on ${this.connections} connections, ${this.stored} pets ` +
      `stored, ${this.breaches.length} breaches; ${statuses.join(', ')}\n`
    );
  }

  /** Has a thousand connections, and checks what is stored when all of them are over. */
  private async round(): Promise<void> {
    const end = this.connections + ROUND;
    const { seed, deliveries = DELIVERIES } = this.attack;
    const loop = async () => {
      while (this.connections < end && this.breaches.length < ENOUGH) {
        const random = new Random(Math.imul(seed + this.connections, 0x9e3779b1));
        const delivery = random.pick(deliveries);
        await this.converse(delivery, this.requestsFor(delivery, random), random);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, loop));
    await this.compareNew();
  }

  private async converse(delivery: Delivery, requests: HostileRequest[], random: Random): Promise<void> {
    const number = this.connections++;
    this.requests += requests.length;
    const { port, proxy = port } = this.attack;
    const conversation = new Conversation(proxy, requests, delivery, random);
    const breach = await conversation.hold();
    for (const status of conversation.statuses) this.counts.set(status, (this.counts.get(status) ?? 0) + 1);
    for (const [name, pet] of conversation.created) this.noteCreated(name, pet);
    for (const name of conversation.perhapsCreated()) this.possible.add(name);
    if (breach !== undefined) this.breaches.push(`Connection ${number}: ${breach}\n${conversation.transcript()}`);
  }

  private requestsFor(delivery: Delivery, random: Random): HostileRequest[] {
    const source = this.source(random);
    const wellFormed = () =>
      Array.from({ length: random.int(AROUND + 1) }, () =>
        makeRequest(source, { framing: random.pick(['none', 'length', 'chunked'] as const) }),
      );
    const mutated = () => makeRequest(source, random.pick(this.attack.choices ?? CHOICES));
    if (delivery === 'alone') return [mutated()];
    const requests = [...wellFormed(), mutated()];
    const isOpen = () => !requests.at(-1)?.unfinished;
    if (isOpen()) requests.push(...wellFormed());
    if (isOpen() && random.chance(0.3)) requests.push(mutated());
    return requests;
  }

  private source(random: Random) {
    const uniqueName = () => `h-${this.attack.seed}-${this.names++}`;
    return { random, key: this.attack.key, known: this.known, uniqueName };
  }

  private noteCreated(name: string, pet: KnownPet): void {
    if (this.acknowledged.has(name)) this.breaches.push(`${name} was acknowledged twice.`);
    this.acknowledged.set(name, pet.id);
    this.known[this.known.length < KNOWN ? this.known.length : Number(pet.id) % KNOWN] = pet;
  }

  private async compareNew(): Promise<void> {
    await this.walk((name, id) => {
      this.stored++;
      const given = this.acknowledged.get(name);
      if (given !== undefined && given !== id) this.breaches.push(`${name} was acknowledged as ${given} and is ${id}.`);
      if (!this.acknowledged.delete(name) && !this.possible.delete(name))
        this.breaches.push(`${name} is stored, though it must not be, or a second time.`);
    });
    for (const name of this.acknowledged.keys()) this.breaches.push(`${name} was acknowledged and is not stored.`);
    this.acknowledged.clear();
  }

  /** Calls `see` with each pet that is newer than all at the last walk. */
  private async walk(see: (name: string, id: string) => void): Promise<void> {
    const { port, key } = this.attack;
    const until = this.newest;
    for (let path: string | undefined = '/v1/pets?limit=100'; path !== undefined;) {
      const headers = { Authorization: `Bearer ${key}` };
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
      if (response.status !== 200) throw new Error(`The list is answered with ${response.status}.`);
      for (const pet of petsIn(await response.text())) {
        const [, id = '', name = ''] = /"id":([0-9]+),"name":"([^"]*)"/.exec(pet) ?? [];
        if (BigInt(id) <= until) return;
        if (BigInt(id) > this.newest) this.newest = BigInt(id);
        see(name, id);
      }
      path = /<([^>]*)>; rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
    }
  }
}
