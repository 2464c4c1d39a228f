import { Connection, WireAnswer } from '../support/connection.js';
import { expectErrorBody } from '../support/error-body.js';
import { petJson } from '../support/fields.js';
import { pause } from '../support/ledger.js';
import { HostileRequest, KnownPet, Random } from './generated-requests.js';

/** How the bytes of a connection are sent; `half-closed` and `reset` end it anywhere, within a request too. */
export type Delivery = 'pipelined' | 'in turn' | 'split' | 'half-closed' | 'reset';

/** How long the end of a connection may take, in milliseconds. */
const TIME_LIMIT = 60_000;

/** One connection, from its first byte to its end: checks that the responses are right and in order. */
export class Conversation {
  /** The statuses of the responses. */
  readonly statuses: number[] = [];
  /** The pets that a 201 has acknowledged, by name. */
  readonly created = new Map<string, KnownPet>();
  private readonly sent: Buffer;
  /** The requests of which something is sent; the last may be cut off. */
  private readonly requests: readonly HostileRequest[];
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
    this.requests = cutOff(requests, this.sent.length);
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
    await reading;
    await connection.closed;
    clearTimeout(timer);
    if (connection.rest !== '' && this.delivery !== 'reset')
      this.breach ??= `Behind the last response comes ${JSON.stringify(connection.rest.slice(0, 1_000))}.`;
    return this.breach && `${this.breach}\n${this.transcript()}`;
  }

  /** The names of the pets that are perhaps stored, though no response said so. */
  perhapsCreated(): string[] {
    const unanswered = this.closing ? [] : this.requests.slice(this.statuses.length);
    const end = unanswered.findIndex(({ isLast }) => isLast);
    const handled = end < 0 ? unanswered : unanswered.slice(0, end + 1);
    return handled.filter(({ statuses }) => statuses.includes(201)).map(({ name }) => name);
  }

  /** What was sent and received, for people. */
  private transcript(): string {
    const requests = this.requests.map(({ kind, twist, statuses }) => `${kind} (${twist}) ${statuses.join(' or ')}`);
    return [
      `  delivery:  ${this.delivery}`,
      `  requests:  ${requests.join('; ')}`,
      `  responses: ${this.statuses.join(', ')}`,
      `  sent:      ${JSON.stringify(this.sent.toString('latin1')).slice(0, 2_000)}`,
    ].join('\n');
  }

  private async send({ socket }: Connection): Promise<void> {
    const { delivery, random, requests } = this;
    for (const [index, piece] of this.pieces().entries()) {
      if (this.ended) return;
      socket.write(piece);
      if (delivery === 'in turn') await this.until(() => this.statuses.length > index);
      else await new Promise((resolve) => setImmediate(resolve));
    }
    if (delivery === 'reset') {
      await pause(random.int(random.pick([1, 2, 30])));
      this.ended = true;
      socket.resetAndDestroy();
    } else {
      if (delivery !== 'half-closed') await this.until(() => this.statuses.length === requests.length);
      if (!this.closing) socket.end();
    }
  }

  private pieces(): Buffer[] {
    const { delivery, random, sent, requests } = this;
    if (delivery === 'in turn') return requests.map(({ bytes }) => bytes);
    if (delivery === 'pipelined') return [sent];
    const places = Array.from({ length: random.int(8) }, () => random.int(sent.length + 1));
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
      while (!this.closing && this.statuses.length < this.requests.length) {
        const request = this.requests[this.statuses.length] as HostileRequest;
        const response = await connection.answer();
        if (response.status !== 100) this.check(response, request);
        else if (!request.expectsContinue) throw new Error('100 was not asked for.');
        this.wake();
      }
    } catch (error) {
      if (this.delivery !== 'reset') this.ended = true;
      throw error;
    } finally {
      this.wake();
    }
  }

  private check(response: WireAnswer, request: HostileRequest): void {
    const { status, body } = response;
    const { statuses, isLast } = request;
    this.statuses.push(status);
    this.closing = response.header('Connection') === 'close';
    if (!statuses.includes(status)) throw new Error(`${status} is not ${statuses.join(' or ')}: ${body}`);
    if (isLast !== undefined && isLast !== this.closing)
      throw new Error(`${status} says that it is ${this.closing ? '' : 'not '}the last.`);
    const id = response.header('X-Request-Id') ?? '';
    // A request that could not be parsed gets a new id.
    if (id !== request.id && !(this.closing && status === 400 && /^[0-9a-f-]{36}$/.test(id)))
      throw new Error(`The response to ${id} comes in place of that to ${request.id}.`);
    if (status >= 400) expectErrorBody(response);
    if (status === 201) {
      const created = /^\/v1\/pets\/([0-9]+)$/.exec(response.header('Location') ?? '')?.[1] ?? '0';
      const text = petJson(BigInt(created), { name: `"${request.name}"` });
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

/** The requests to which these many bytes belong, and what may be answered to the last if it is cut off. */
function cutOff(requests: readonly HostileRequest[], length: number): HostileRequest[] {
  let left = length;
  const found: HostileRequest[] = [];
  for (const request of requests) {
    if (left <= 0) break;
    const { bytes, headLength, statuses } = request;
    // What arrived of it is rejected, or answered before the rest is missed.
    const early = left < headLength ? [] : statuses.filter((status) => status !== 201);
    found.push(left >= bytes.length ? request : { ...request, statuses: [...early, 400], isLast: undefined });
    left -= bytes.length;
  }
  return found;
}
