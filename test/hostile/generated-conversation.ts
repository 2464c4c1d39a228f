import { connect, Socket } from 'node:net';
import { HostileRequest, Random } from './generated-requests.js';

/** How the bytes of a connection are sent. */
export type Delivery =
  'alone' | 'pipelined' | 'in turn' | 'split' | 'byte by byte' | 'half-closed' | 'reset' | 'unread';

/** How long the end of a connection is waited for, in milliseconds. */
const PATIENCE = 60_000;

/** How much of what was received is kept to be shown, in bytes. */
const SHOWN = 4_096;

/** A pet that a 201 told of. */
export interface CreatedPet {
  readonly name: string;
  readonly id: string;
  readonly text: string;
}

/** What may be answered to a request of which so much was sent. */
interface Owed {
  readonly request: HostileRequest;
  readonly whole: boolean;
  readonly statuses: readonly number[];
  readonly last: boolean | undefined;
  readonly bodiless: boolean;
}

/** One connection, from its first byte to its end: what is sent in one of the ways, and whether the answers are right and in order. */
export class Conversation {
  /** The statuses of the answers that came. */
  readonly statuses: number[] = [];
  readonly created: CreatedPet[] = [];
  private readonly owed: readonly Owed[];
  private readonly sent: Buffer;
  private readonly endsHalf: boolean;
  private readonly socket: Socket;
  private readonly reader = new AnswerReader();
  private received = Buffer.alloc(0);
  private continued = false;
  /** Whether the service said that it has given its last answer. */
  private closing = false;
  /** Whether nothing more can come. */
  private ended = false;
  private breach: string | undefined;
  private wake: () => void = () => undefined;

  constructor(
    port: number,
    requests: readonly HostileRequest[],
    private readonly delivery: Delivery,
    private readonly random: Random,
  ) {
    const all = Buffer.concat(requests.map(({ bytes }) => bytes));
    const isCut = delivery === 'half-closed' || delivery === 'reset';
    this.sent = isCut ? all.subarray(0, random.int(all.length + 1)) : all;
    this.endsHalf = delivery === 'half-closed' || requests.at(-1)?.unfinished === true;
    this.owed = owedFor(requests, this.sent.length, this.endsHalf);
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  }

  /** Sends and receives all; resolves to what must not be, if there was any such thing. */
  async hold(): Promise<string | undefined> {
    const { socket, delivery } = this;
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('data', (chunk: Buffer) => this.take(chunk));
    socket.on('end', () => this.end('an end'));
    socket.on('error', (error: NodeJS.ErrnoException) => this.end(error.code ?? error.message));
    const timer = setTimeout(() => this.fail('It is not answered, or not closed, in time.'), PATIENCE);
    await this.send();
    if (delivery === 'reset') {
      this.ended = true;
      socket.resetAndDestroy();
    }
    await closed;
    clearTimeout(timer);
    if (this.reader.rest > 0 && delivery !== 'reset') this.fail('Something comes behind the last answer.');
    return this.breach;
  }

  /** The names of the pets that are perhaps stored, though no answer said so. */
  perhapsCreated(): string[] {
    const names: string[] = [];
    for (const { request, whole, statuses, last } of this.closing ? [] : this.owed.slice(this.statuses.length)) {
      if (whole && request.name !== undefined && statuses.includes(201)) names.push(request.name);
      if (last) break;
    }
    return names;
  }

  /** What was sent and received, to be read by a person and to be sent again. */
  transcript(): string {
    const requests = this.owed.map(
      ({ request: { kind, mutation }, statuses }) => `${kind} (${mutation}) ${statuses.join(' or ')}`,
    );
    return [
      `  delivery: ${this.delivery}${this.endsHalf ? ', with a half-close' : ''}`,
      `  requests: ${requests.join('; ')}`,
      `  answers:  ${this.statuses.join(', ')}`,
      `  sent:     ${shown(this.sent)}`,
      `  received: ${shown(this.received)}`,
    ].join('\n');
  }

  private async send(): Promise<void> {
    const { socket, delivery, random, owed } = this;
    if (delivery === 'unread') socket.pause();
    for (const [index, piece] of this.pieces().entries()) {
      if (this.ended) return;
      socket.write(piece);
      if (delivery === 'in turn' && !owed[index]?.request.unfinished)
        await this.until(() => this.statuses.length > index);
      else await moment(0);
    }
    if (delivery === 'unread') {
      await moment(random.int(300));
      socket.resume();
    }
    if (delivery === 'reset') return moment(random.int(random.pick([1, 2, 30])));
    if (!this.endsHalf) await this.until(() => this.statuses.length === owed.length);
    if (!this.closing) socket.end();
  }

  private pieces(): Buffer[] {
    const { delivery, random, sent, owed } = this;
    const isSplit =
      delivery === 'split' || ((delivery === 'reset' || delivery === 'half-closed') && random.chance(0.5));
    if (isSplit) {
      const places = Array.from({ length: random.between(1, 8) }, () => random.int(sent.length + 1));
      return cut(
        sent,
        places.sort((a, b) => a - b),
      );
    }
    if (delivery === 'in turn') return owed.map(({ request }) => request.bytes);
    // Of what is very long, the beginning.
    if (delivery === 'byte by byte')
      return cut(
        sent,
        Array.from({ length: Math.min(sent.length, 1_000) }, (_, i) => i),
      );
    return [sent];
  }

  /** Resolves once this is so, or can no longer be. */
  private async until(condition: () => boolean): Promise<void> {
    while (!condition() && !this.closing && !this.ended) await new Promise<void>((resolve) => (this.wake = resolve));
  }

  private take(chunk: Buffer): void {
    if (this.received.length < SHOWN) this.received = Buffer.concat([this.received, chunk.subarray(0, SHOWN)]);
    this.reader.push(chunk);
    try {
      for (;;) {
        const answer = this.reader.next(this.owed[this.statuses.length]?.bodiless ?? false);
        if (!answer) break;
        this.judge(answer);
      }
    } catch (error) {
      this.fail((error as Error).message);
    }
    this.wake();
  }

  private judge(answer: Answer): void {
    const { status, fields } = answer;
    const owed = this.owed[this.statuses.length];
    if (this.closing) throw new Error(`${status} comes behind the last answer.`);
    if (!owed) throw new Error(`${status} answers nothing.`);
    const { request, statuses, last } = owed;
    if (status === 100) {
      if (!request.expectsContinue || this.continued) throw new Error('100 comes unasked.');
      this.continued = true;
      return;
    }
    this.statuses.push(status);
    this.continued = false;
    this.closing = fields.get('connection') === 'close';
    if (!statuses.includes(status)) throw new Error(`${status} is not ${statuses.join(' or ')}.`);
    if (last !== undefined && last !== this.closing) {
      throw new Error(`${status} says that it is ${this.closing ? '' : 'not '}the last.`);
    }
    const id = fields.get('x-request-id') as string;
    // What could not be read as a request has an id that is new.
    if (id !== request.id && !(this.closing && status >= 400 && status < 500 && /^[0-9a-f-]{36}$/.test(id))) {
      throw new Error(`The answer to ${id} comes in place of that to ${request.id}.`);
    }
    this.judgeBody(request, answer);
  }

  private judgeBody({ kind, name = '', pet }: HostileRequest, { status, fields, body }: Answer): void {
    if (status === 201) {
      const id = /^\/v1\/pets\/([0-9]+)$/.exec(fields.get('location') ?? '')?.[1] ?? '';
      const text = `{"id":${id},"name":"${name}","categoryId":1,"status":"available"}`;
      if (body !== text) throw new Error(`201 is not ${text}.`);
      this.created.push({ id, name, text });
    }
    if (status !== 200) return;
    if (kind === 'get' && body !== pet?.text) throw new Error(`The pet is not ${pet?.text}.`);
    if (kind === 'newest') {
      const id = /^\[\{"id":([0-9]+),"name":"[^"]*","categoryId":1,"status":"available"\}\]$/.exec(body)?.[1] ?? 0;
      if (BigInt(id) < BigInt(this.created.at(-1)?.id ?? 1)) throw new Error('The newest pet is not the newest.');
    }
  }

  private end(reason: string): void {
    if (this.ended) return;
    this.ended = true;
    if (!this.closing && this.statuses.length < this.owed.length) this.fail(`${reason} comes in place of an answer.`);
    this.socket.end();
    this.wake();
  }

  private fail(breach: string): void {
    this.breach ??= breach;
    this.ended = true;
    this.socket.destroy();
    this.wake();
  }
}

/** What is owed for so many bytes of these requests. */
function owedFor(requests: readonly HostileRequest[], length: number, endsHalf: boolean): Owed[] {
  const owed: Owed[] = [];
  let left = length;
  for (const request of requests) {
    const { bytes, headLength, statuses, last, kind, cutShort } = request;
    const whole = left >= bytes.length;
    // Empty lines are no part of a request yet.
    if (!whole && /^[\r\n]*$/.test(bytes.toString('latin1', 0, left))) break;
    const bodiless = kind === 'head' && left >= headLength;
    if (whole)
      owed.push({ request, whole, statuses: cutShort && endsHalf ? [...statuses, 400] : statuses, last, bodiless });
    else {
      // What is there of it is refused, or answered before the rest is missed.
      const early = statuses.filter((status) => status !== 201 && (status > 404 || left >= headLength));
      owed.push({ request, whole, statuses: [...early, 400], last: undefined, bodiless });
      break;
    }
    left -= bytes.length;
  }
  return owed;
}

/** The bytes in pieces that end at these places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const pieces = [...places, bytes.length].map((place, index) => bytes.subarray(places[index - 1] ?? 0, place));
  return pieces.filter(({ length }) => length > 0);
}

/** Resolves behind so many milliseconds, or in the next turn of the event loop. */
function moment(time: number): Promise<void> {
  return new Promise((resolve) => (time === 0 ? setImmediate(resolve) : setTimeout(resolve, time)));
}

function shown(bytes: Buffer): string {
  const text = JSON.stringify(bytes.toString('latin1')).replaceAll(
    /[\x7f-\xff]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  );
  return text.length > 4_000 ? `${text.slice(0, 3_000)} … ${text.slice(-900)} (${bytes.length} bytes)` : text;
}

/** A whole answer, as it stood on the wire. */
interface Answer {
  readonly status: number;
  /** By their names in lower case. */
  readonly fields: ReadonlyMap<string, string>;
  readonly body: string;
}

const STATUS_LINE = /^HTTP\/1\.1 ([1-5][0-9]{2}) [\t -~]*$/;
const FIELD_LINE = /^([!#$%&'*+.^`|~\w-]+): ([!-~](?:[\t -~]*[!-~])?)$/;

/** The longest head that the service writes, in bytes. */
const MAX_HEAD = 4_096;

/** Reads answers one after another, and throws at the first that is not well-formed (RFC 9112) or not as this service has them. */
class AnswerReader {
  private received: Buffer = Buffer.alloc(0);

  /** Takes what came. */
  push(chunk: Buffer): void {
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
  }

  /** How many bytes came behind the answers that were taken. */
  get rest(): number {
    return this.received.length;
  }

  /** The next answer if all of it is there; `bodiless` says that it answers a HEAD. */
  next(bodiless: boolean): Answer | undefined {
    const end = this.received.indexOf('\r\n\r\n');
    if (end < 0 && this.received.length < MAX_HEAD) return undefined;
    const [statusLine = '', ...lines] = this.received.toString('latin1', 0, Math.max(end, 0)).split('\r\n');
    const status = Number(STATUS_LINE.exec(statusLine)?.[1]);
    if (!status) throw new Error('no status line');
    const fields = fieldsOf(lines);
    const length = bodyLength(status, fields, bodiless);
    if (this.received.length < end + 4 + length) return undefined;
    const body = this.received.toString('utf8', end + 4, end + 4 + length);
    this.received = this.received.subarray(end + 4 + length);
    if (status >= 400 && !bodiless) checkError(status, fields, body);
    return { status, fields, body };
  }
}

function fieldsOf(lines: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of lines) {
    const [, name = '', value = ''] = FIELD_LINE.exec(line) ?? [];
    if (name === '') throw new Error(`no field line: ${line}`);
    if (fields.has(name.toLowerCase()) && name !== 'Link') throw new Error(`${name} twice`);
    fields.set(name.toLowerCase(), value);
  }
  return fields;
}

function bodyLength(status: number, fields: ReadonlyMap<string, string>, bodiless: boolean): number {
  const length = fields.get('content-length');
  if (status < 200) {
    if (status !== 100 || fields.size > 0) throw new Error('an interim answer that is not a bare 100');
    return 0;
  }
  if (!fields.has('x-request-id') || fields.get('x-content-type-options') !== 'nosniff' || !fields.has('date')) {
    throw new Error('no X-Request-Id, X-Content-Type-Options or Date');
  }
  if (fields.has('transfer-encoding')) throw new Error('Transfer-Encoding, which no answer here needs');
  if (status === 204 || status === 304) {
    if (length !== undefined) throw new Error(`Content-Length in a ${status}`);
    return 0;
  }
  if (!/^[0-9]+$/.test(length ?? '')) throw new Error('no Content-Length');
  return bodiless ? 0 : Number(length);
}

function checkError(status: number, fields: ReadonlyMap<string, string>, body: string): void {
  if (fields.get('content-type') !== 'application/json') throw new Error('an error that is not application/json');
  if (status === 401 && !fields.has('www-authenticate')) throw new Error('401 without WWW-Authenticate');
  const error = JSON.parse(body) as Record<string, unknown>;
  if (Object.keys(error).join() !== 'code,message,status' || error.status !== status) throw new Error('no Error body');
}
