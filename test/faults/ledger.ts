/** A pet that a client wants added, noted before its request is sent. */
export interface Intent {
  readonly name: string;
  readonly status: string;
  readonly body: string;
  /** Its Idempotency-Key: then it is sent until it is acknowledged; else once. */
  readonly key: string | undefined;
  /** The largest id that was acknowledged before it was first sent. */
  readonly floor: bigint;
  /** The body of its 201, and the id in it. */
  acknowledged?: string;
  id?: bigint;
}

/** What a client was answered. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
  /** How long it took, in milliseconds. */
  readonly took: number;
}

/** How many of the latest pets each list is held against. */
const LATEST = 500;

/** The most problems that are told. */
const MAX_PROBLEMS = 20;

/** What was sent and what was answered, and what of that must not be. */
export class Ledger {
  readonly intents: Intent[] = [];
  readonly byName = new Map<string, Intent>();
  /** In the order in which they were acknowledged. */
  readonly acknowledged: Intent[] = [];
  /** How many answers there were of each operation and status. */
  readonly answers: Record<string, number> = {};
  slowest = 0;
  highest = 0n;
  private readonly problems: string[] = [];

  /** `bound` is the most that an answer may take, in milliseconds. */
  constructor(private readonly bound: number) {}

  problem(text: string): void {
    this.problems.push(text);
  }

  /** What must not be, in sentences. */
  get found(): string[] {
    const more = this.problems.length - MAX_PROBLEMS;
    return more > 0 ? [...this.problems.slice(0, MAX_PROBLEMS), `And ${more} more.`] : this.problems;
  }

  intend(name: string, status: string, categoryId: bigint, key: string | undefined): Intent {
    const body = `{"name":"${name}","categoryId":${categoryId},"status":"${status}"}`;
    const intent: Intent = { name, status, body, key, floor: this.highest };
    this.intents.push(intent);
    this.byName.set(name, intent);
    return intent;
  }

  /** Takes down an answer; whether it is one of these statuses, or a 503 or 409 as they must be. */
  count(operation: string, answer: Answer, ...wanted: number[]): boolean {
    const { status, text, headers, took } = answer;
    const name = `${operation} ${status}`;
    this.answers[name] = (this.answers[name] ?? 0) + 1;
    this.slowest = Math.max(this.slowest, took);
    if (took > this.bound) this.problem(`${operation} was answered with ${status} after ${Math.round(took)} ms.`);
    if (wanted.includes(status)) return true;
    const code = { 503: 'service_unavailable', 409: operation === 'create with key' && 'idempotency_in_progress' }[
      status
    ];
    if (typeof code !== 'string' || !text.startsWith(`{"code":"${code}",`) || headers['retry-after'] !== '1')
      this.problem(`${operation} was answered with ${status}: ${text}`);
    return false;
  }

  /** Takes down the 201 of a pet. */
  acknowledge(intent: Intent, text: string): void {
    const id = BigInt(/^\{"id":(\d+),/.exec(text)?.[1] ?? 0);
    if (text !== `{"id":${id},${intent.body.slice(1)}`) this.problem(`${intent.body} came back as ${text}.`);
    if (intent.acknowledged !== undefined) {
      if (intent.acknowledged !== text)
        this.problem(`${intent.name} was acknowledged as ${intent.acknowledged}, and then as ${text}.`);
      return;
    }
    if (id <= intent.floor) this.problem(`${intent.name} has the id ${id}, which is not above ${intent.floor}.`);
    intent.acknowledged = text;
    intent.id = id;
    this.acknowledged.push(intent);
    if (id > this.highest) this.highest = id;
  }

  /** Holds a page of the newest pets against those that were acknowledged before it was asked for, which were so many. */
  checkPage(text: string, limit: number, status: string | undefined, acknowledged: number): void {
    const page = petsIn(text);
    const ids = page.map(idIn);
    const least = page.length === limit ? (ids.at(-1) as bigint) : 0n;
    if (page.length > limit) this.problem(`A list of ${limit} has ${page.length}.`);
    if (!descend(ids)) this.problem(`A list does not descend: ${text}`);
    const there = new Set(page);
    for (const { acknowledged: pet, ...intent } of this.acknowledged.slice(
      Math.max(0, acknowledged - LATEST),
      acknowledged,
    )) {
      const belongs = (intent.id as bigint) >= least && (status === undefined || status === intent.status);
      if (belongs && !there.has(pet as string)) this.problem(`${pet} was acknowledged and is not in a list.`);
    }
    for (const pet of page) this.checkPet(pet, status);
  }

  /** Holds all that is there, and the lists of the statuses, against what was sent. */
  checkAll(all: readonly string[], byStatus: readonly string[]): void {
    const there = new Set(all);
    for (const { acknowledged } of this.acknowledged)
      if (!there.has(acknowledged as string)) this.problem(`${acknowledged} was acknowledged and is not there.`);
    const names = new Set<string>();
    for (const pet of all) {
      this.checkPet(pet, undefined);
      const name = nameIn(pet);
      if (names.has(name)) this.problem(`${name} is there more than once.`);
      names.add(name);
    }
    if (!descend(all.map(idIn))) this.problem('The ids are not unique and descending.');
    if (byStatus.length !== all.length || byStatus.some((pet) => !there.has(pet)))
      this.problem('The lists of the three statuses do not add up to the whole.');
  }

  private checkPet(pet: string, status: string | undefined): void {
    const intent = this.byName.get(nameIn(pet));
    if (!intent || pet !== `{"id":${idIn(pet)},${intent.body.slice(1)}`) this.problem(`${pet} was never sent.`);
    else if (intent.acknowledged !== undefined && intent.acknowledged !== pet)
      this.problem(`${intent.acknowledged} is there as ${pet}.`);
    if (status !== undefined && intent?.status !== status) this.problem(`${pet} is in the list of ${status}.`);
  }
}

/** The texts of the pets in a list. */
export function petsIn(text: string): string[] {
  return text.match(/\{[^}]*\}/g) ?? [];
}

function nameIn(pet: string): string {
  return /"name":"([^"]*)"/.exec(pet)?.[1] ?? '';
}

function idIn(pet: string): bigint {
  return BigInt(/"id":(\d+)/.exec(pet)?.[1] ?? 0);
}

function descend(ids: readonly bigint[]): boolean {
  return ids.every((id, i) => i === 0 || id < (ids[i - 1] as bigint));
}
