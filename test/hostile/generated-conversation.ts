import { Connection, WireAnswer } from '../support/connection.js';
import { petJson } from '../support/fields.js';
import { pause } from '../support/ledger.js';
import { HostileRequest, KnownPet, Random } from './generated-requests.js';

/** How the bytes of a connection are sent. */
export type Delivery = 'alone' | 'pipelined' | 'in turn' | 'split' | 'half-closed' | 'reset';

/** How long the end of a connection may take, in milliseconds. */
const TIME_LIMIT = 60_000;

/** What may be answered to a request of which so much was sent. */
interface Expected {
  readonly request: HostileRequest;
  readonly whole: boolean;
  readonly statuses: readonly number[];
  readonly last: boolean | undefined;
  readonly bodiless: boolean;
}

/** One connection, from its first byte to its end: checks that the responses are right and in order. */
export class Conversation {
  /** The statuses of the responses. */
  readonly statuses: number[] = [];
  /** The pets that a 201 has acknowledged, by name. */
  readonly created = new Map<string, KnownPet>();
  private readonly expected: readonly Expected[];
  private readonly sent: Buffer;
  private readonly endsHalf: boolean;
  /** Whether the service has said that it has given its last response. */
  private closing = false;
  /** Whether no response is awaited any more. */
  private ended = false;
  private breach: string | undefined;
  private wake: () => void = () => undefined;

  constructor(
    private readonly port: number,
    requests: readonly HostileRequest[],
    private readonly delivery: Delivery,
    private readonly random: Random,
  ) {
    const all = Buffer.concat(requests.map(({ bytes }) => bytes));
    const isCut = delivery === 'half-closed' || delivery === 'reset';
    this.sent = isCut ? all.subarray(0, random.int(all.length + 1)) : all;
    this.endsHalf = delivery === 'half-closed' || requests.at(-1)?.unfinished === true;
    this.expected = expectedFor(requests, this.sent.length);
  }

  /** Sends and receives all; resolves to what was wrong, if anything was. */
  async hold(): Promise<string | undefined> {
    const connection = await Connection.open(this.port);
    const timer = setTimeout(() => {
      this.breach ??= 'It is not answered, or not closed, in time.';
      connection.destroy();
    }, TIME_LIMIT);
    const reading = this.read(connection).catch((error: Error) => {
      if (this.delivery !== 'reset' || !this.ended) this.breach ??= error.message;
      connection.destroy();
    });
    await this.send(connection);
    if (this.delivery === 'reset') {
      this.ended = true;
      connection.socket.resetAndDestroy();
    }
    await reading;
    await connection.closed;
    clearTimeout(timer);
    if (connection.rest !== '' && this.delivery !== 'reset')
      this.breach ??= `Behind the last response comes ${JSON.stringify(connection.rest.slice(0, 1_000))}.`;
    return this.breach;
  }

  /** The names of the pets that are perhaps stored, though no response said so. */
  perhapsCreated(): string[] {
    const names: string[] = [];
    for (const { request, whole, statuses, last } of this.closing ? [] : this.expected.slice(this.statuses.length)) {
      if (whole && request.name !== undefined && statuses.includes(201)) names.push(request.name);
      if (last) break;
    }
    return names;
  }

  /** What was sent and received, for people. */
  transcript(): string {
    const requests = this.expected.map(
      ({ request: { kind, mutation }, statuses }) => `${kind} (${mutation}) ${statuses.join(' or ')}`,
    );
    return [
      `  delivery:  ${this.delivery}${this.endsHalf ? ', with a half-close' : ''}`,
      `  requests:  ${requests.join('; ')}`,
      `  responses: ${this.statuses.join(', ')}`,
      `  sent:      ${JSON.stringify(this.sent.toString('latin1')).slice(0, 2_000)}`,
    ].join('\n');
  }

  private async send({ socket }: Connection): Promise<void> {
    const { delivery, random, expected } = this;
    for (const [index, piece] of this.pieces().entries()) {
      if (this.ended) return;
      socket.write(piece);
      if (delivery === 'in turn' && !expected[index]?.request.unfinished)
        await this.until(() => this.statuses.length > index);
      else await new Promise((resolve) => setImmediate(resolve));
    }
    if (delivery === 'reset') return pause(random.int(random.pick([1, 2, 30])));
    if (!this.endsHalf) await this.until(() => this.statuses.length === expected.length);
    if (!this.closing) socket.end();
  }

  private pieces(): Buffer[] {
    const { delivery, random, sent, expected } = this;
    if (delivery === 'in turn') return expected.map(({ request }) => request.bytes);
    const isCut = delivery === 'reset' || delivery === 'half-closed';
    if (delivery !== 'split' && !(isCut && random.chance(0.5))) return [sent];
    const places = Array.from({ length: random.between(1, 8) }, () => random.int(sent.length + 1));
    const ends = [...places.sort((a, b) => a - b), sent.length];
    return ends.map((end, i) => sent.subarray(ends[i - 1] ?? 0, end)).filter(({ length }) => length > 0);
  }

  /** Resolves once this is so, or can no longer be. */
  private async until(condition: () => boolean): Promise<void> {
    while (!condition() && !this.closing && !this.ended) await new Promise<void>((resolve) => (this.wake = resolve));
  }

  /** Reads the responses that are expected, and rejects at the first that is wrong. */
  private async read(connection: Connection): Promise<void> {
    try {
      while (!this.closing && this.statuses.length < this.expected.length) {
        const expected = this.expected[this.statuses.length] as Expected;
        const response = await connection.answer(expected.bodiless);
        if (response.status !== 100) this.check(response, expected);
        else if (!expected.request.expectsContinue) throw new Error('100 was not asked for.');
        this.wake();
      }
    } catch (error) {
      if (this.delivery !== 'reset') this.ended = true;
      throw error;
    } finally {
      this.wake();
    }
  }

  private check(response: WireAnswer, { request, statuses, last, bodiless }: Expected): void {
    const { status, body } = response;
    this.statuses.push(status);
    this.closing = response.header('Connection') === 'close';
    if (!statuses.includes(status)) throw new Error(`${status} is not ${statuses.join(' or ')}: ${body}`);
    if (last !== undefined && last !== this.closing)
      throw new Error(`${status} says that it is ${this.closing ? '' : 'not '}the last.`);
    const id = response.header('X-Request-Id') ?? '';
    // A request that could not be parsed gets a new id.
    if (id !== request.id && !(this.closing && status >= 400 && status < 500 && /^[0-9a-f-]{36}$/.test(id)))
      throw new Error(`The response to ${id} comes in place of that to ${request.id}.`);
    if (status >= 400 && !bodiless) checkError(response);
    if (status === 201 && request.name !== undefined) {
      const created = /^\/v1\/pets\/([0-9]+)$/.exec(response.header('Location') ?? '')?.[1] ?? '0';
      const text = petJson(BigInt(created), { name: `"${request.name}"`, categoryId: '1' });
      if (body !== text) throw new Error(`201 is not ${text}.`);
      this.created.set(request.name, { id: created, text });
    }
    if (status === 200 && request.kind === 'get' && body !== request.pet?.text)
      throw new Error(`The pet is not ${request.pet?.text}.`);
    if (status === 200 && request.kind === 'newest') {
      const newest = BigInt(/^\[\{"id":([0-9]+),/.exec(body)?.[1] ?? 0);
      if (newest < BigInt([...this.created.values()].at(-1)?.id ?? 1)) throw new Error('It is not the newest pet.');
    }
  }
}

/** What is expected for so many bytes of these requests. */
function expectedFor(requests: readonly HostileRequest[], length: number): Expected[] {
  const expected: Expected[] = [];
  let left = length;
  for (const request of requests) {
    const { bytes, headLength, statuses, last, kind } = request;
    const whole = left >= bytes.length;
    if (!whole && left === 0) break;
    const bodiless = kind === 'head' && left >= headLength;
    if (!whole) {
      // What arrived of it is rejected, or answered before the rest is missed.
      const early = statuses.filter((status) => status !== 201 && (status > 404 || left >= headLength));
      expected.push({ request, whole, statuses: [...early, 400], last: undefined, bodiless });
      break;
    }
    expected.push({ request, whole, statuses, last, bodiless });
    left -= bytes.length;
  }
  return expected;
}

function checkError(response: WireAnswer): void {
  const { status, body } = response;
  if (response.header('Content-Type') !== 'application/json') throw new Error('an error that is not application/json');
  if (status === 401 && response.header('WWW-Authenticate') === undefined)
    throw new Error('401 without WWW-Authenticate');
  const error = JSON.parse(body) as Record<string, unknown>;
  if (Object.keys(error).join() !== 'code,message,status' || error.status !== status) throw new Error('no Error body');
}
