import { newPetJson } from '../support/fields.js';

/** Numbers that a seed determines (mulberry32). */
export class Random {
  constructor(private state: number) {}

  /** An integer from 0 to below this. */
  int(below: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  }

  /** An integer from one to the other, both included. */
  between(least: number, most: number): number {
    return least + this.int(most - least + 1);
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.int(1_000_000) < probability * 1_000_000;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.int(choices.length)] as T;
  }
}

/** How a request says where its body ends. */
export type Framing = 'none' | 'length' | 'chunked';

export type Kind = 'create' | 'get' | 'newest' | 'keyless' | 'nowhere' | 'head' | 'options' | 'method' | 'invalid';

/** A pet that the service has acknowledged, with its JSON text. */
export interface KnownPet {
  readonly id: string;
  readonly text: string;
}

/** What may be answered to a request. */
interface Outcome {
  statuses: number[];
  /** Whether the response must say `Connection: close`; undefined if it may. */
  last: boolean | undefined;
  expectsContinue: boolean;
  /** Whether the request is not whole, so that what follows would be a part of it. */
  unfinished: boolean;
}

export interface HostileRequest extends Readonly<Outcome> {
  readonly kind: Kind;
  readonly mutation: string;
  readonly bytes: Buffer;
  /** How many of the bytes are the head. */
  readonly headLength: number;
  /** Its `X-Request-Id`. */
  readonly id: string;
  /** The name of the pet that is stored if the status is 201. */
  readonly name: string | undefined;
  /** The pet that it asks for. */
  readonly pet: KnownPet | undefined;
}

/** What the requests of a connection are made from. */
export interface Source {
  readonly random: Random;
  readonly key: string;
  readonly uniqueName: () => string;
  /** Some pets that are stored. */
  readonly known: readonly KnownPet[];
}

/** A request while it is made. Lines have their ends; all characters are bytes. */
interface Draft extends Outcome {
  readonly kind: Kind;
  readonly framing: Framing;
  readonly source: Source;
  /** The request line, the field lines and the empty line. */
  lines: string[];
  /** The body as it is to be read. */
  payload: string;
  /** The body on the wire, if a mutation has set it. */
  body?: string;
}

type Mutation = (draft: Draft, random: Random) => void;

const WRONG_KEY = 'wrong-key-of-no-one';
const SEPARATORS = '()<>@,;\\"/[]?={}';
const CONTROLS = [...Array(32).keys(), 127]
  .map((code) => String.fromCharCode(code))
  .filter((c) => !'\t\r\n'.includes(c));
const HIGH = ['\x80', '\xa0', '\xc3\xa9', '\xff'];

/** Methods that Node's parser knows and no operation has. */
const OTHER_METHODS = ['TRACE', 'PROPFIND', 'PURGE', 'M-SEARCH', 'LOCK'];

/** The kinds that are mutated; most of them change something. */
const MUTATED: readonly Kind[] = ['create', 'create', 'create', 'get', 'newest', 'keyless', 'nowhere'];
const WELL_FORMED: readonly Kind[] = [...MUTATED, 'head', 'options', 'method', 'invalid'];

/** The valid body of a pet with this name. */
const petBody = (name: string): string => newPetJson({ name: `"${name}"`, categoryId: '1' });

export interface Choice {
  readonly framing: Framing;
  /** The name of a mutation; undefined for a well-formed request. */
  readonly mutation?: string;
  /** What it asks for; anything if absent. */
  readonly kind?: Kind;
}

export function makeRequest(source: Source, choice: Choice): HostileRequest {
  const { random } = source;
  const { framing, mutation = 'none' } = choice;
  const kinds = choice.mutation === undefined ? WELL_FORMED : MUTATED;
  const needsBody = (kind: Kind) => kind === 'create' || kind === 'invalid';
  const kind = choice.kind ?? random.pick(kinds.filter((each) => framing !== 'none' || !needsBody(each)));
  const name = kind === 'create' || kind === 'keyless' ? source.uniqueName() : undefined;
  const pet = kind === 'get' ? random.pick(source.known) : undefined;
  const id = `r-${random.int(2 ** 32)}`;
  const draft = newDraft(source, kind, framing, id, name, pet);
  mutationsOf(framing)[mutation]?.(draft, random);
  const { statuses, last, expectsContinue, unfinished } = draft;
  const head = draft.lines.join('');
  const bytes = Buffer.from(head + (draft.body ?? framed(draft.payload, framing, random)), 'latin1');
  const outcome = { statuses, last, expectsContinue, unfinished };
  return { kind, mutation, bytes, headLength: head.length, id, name, pet, ...outcome };
}

function newDraft(
  source: Source,
  kind: Kind,
  framing: Framing,
  id: string,
  name: string | undefined,
  pet: KnownPet | undefined,
): Draft {
  const { random, key } = source;
  const [method, path, status] = {
    create: ['POST', '/v1/pets', framing === 'none' ? 400 : 201],
    get: ['GET', `/v1/pets/${pet?.id}`, 200],
    newest: ['GET', '/v1/pets?limit=1', 200],
    keyless: [random.pick(['POST', 'POST', 'GET']), random.pick(['/v1/pets', '/v1/pets/1', '/v2']), 401],
    nowhere: ['GET', random.pick(['/v1/pet', '/v1/pets/', '/v1/pets/x', '/v1/pets/0']), 404],
    head: ['HEAD', '/v1/pets?limit=1', 200],
    options: ['OPTIONS', '/v1/pets', 204],
    method: ['PROPFIND', '/v1/pets', 405],
    invalid: ['POST', '/v1/pets', 400],
  }[kind] as [string, string, number];
  const payload = framing === 'none' ? '' : kind === 'invalid' ? '{"name":7}' : petBody(name ?? 'unused');
  const fields = ['Host: x', `X-Request-Id: ${id}`, 'X-Filler: some value'];
  if (kind !== 'keyless') fields.push(`Authorization: Bearer ${key}`);
  else if (random.chance(0.5)) fields.push(`Authorization: Bearer ${WRONG_KEY}`);
  if (framing !== 'none') fields.push('Content-Type: application/json');
  if (framing === 'length') fields.push(`Content-Length: ${payload.length}`);
  if (framing === 'chunked') fields.push('Transfer-Encoding: chunked');
  shuffle(fields, random);
  return {
    ...{ kind, framing, source, payload },
    lines: [`${method} ${path} HTTP/1.1`, ...fields, ''].map((line) => `${line}\r\n`),
    statuses: [status],
    // A response that does not wait for the end of a chunked body may be the last.
    last: framing === 'chunked' && kind !== 'create' && kind !== 'invalid' ? undefined : false,
    ...{ expectsContinue: false, unfinished: false },
  };
}

function framed(payload: string, framing: Framing, random: Random): string {
  return framing === 'chunked' ? `${chunks(payload, random).join('')}0\r\n\r\n` : payload;
}

function chunks(payload: string, random: Random): string[] {
  const found: string[] = [];
  const most = random.pick([1, 8, 100]);
  for (let at = 0; at < payload.length;) {
    const chunk = payload.slice(at, (at += random.between(1, most)));
    const size = chunk.length.toString(16);
    found.push(`${random.chance(0.1) ? size.padStart(6, '0') : size}\r\n${chunk}\r\n`);
  }
  return found;
}

function shuffle(list: unknown[], random: Random): void {
  for (let i = list.length - 1; i > 0; i--) {
    const j = random.int(i + 1);
    [list[i], list[j]] = [list[j], list[i]];
  }
}

/** The head is rejected: the protocol is checked before the key. */
const rejected =
  (apply: Mutation, ...statuses: number[]): Mutation =>
  (draft, random) => {
    apply(draft, random);
    draft.statuses = statuses.length > 0 ? statuses : [400];
    draft.last = true;
  };

/** The body is rejected, unless the response does not wait for it; in either case the connection cannot go on. */
const bodyRejected =
  (apply: Mutation, status = 400): Mutation =>
  (draft, random) => {
    apply(draft, random);
    draft.statuses = draft.kind === 'create' ? [status] : [...draft.statuses, status];
    draft.last = true;
  };

/** The operation that reads the body rejects it, and the connection goes on. */
const payloadRejected =
  (apply: Mutation): Mutation =>
  (draft, random) => {
    apply(draft, random);
    if (draft.kind === 'create') draft.statuses = [400];
  };

/** It may be understood, or rejected. */
const perhapsRejected =
  (apply: Mutation): Mutation =>
  (draft, random) => {
    apply(draft, random);
    draft.statuses.push(400);
    draft.last = undefined;
  };

/** Puts a piece at a random place of a text, between a least and a most. */
function insert(text: string, random: Random, piece: string, least = 0, most = text.length): string {
  const at = random.between(least, most);
  return text.slice(0, at) + piece + text.slice(at);
}

/** Sets the values of a field, each of them a line; none removes it. */
function setField(draft: Draft, name: string, ...values: (string | number)[]): void {
  const isIt = (line: string) => line.startsWith(`${name}:`);
  const at = Math.max(1, draft.lines.findIndex(isIt));
  draft.lines = draft.lines.filter((line) => !isIt(line));
  draft.lines.splice(at, 0, ...values.map((value) => `${name}: ${value}\r\n`));
}

const set =
  (name: string, ...values: (string | number)[]): Mutation =>
  (draft, random) =>
    setField(draft, name, random.pick(values));

/** Adds one of these lines to the fields. */
const add =
  (...lines: string[]): Mutation =>
  (draft, random) =>
    void draft.lines.splice(random.between(1, draft.lines.length - 1), 0, `${random.pick(lines)}\r\n`);

/** Changes one of the three parts of the request line. */
const part =
  (index: 0 | 1 | 2, change: (text: string, random: Random) => string): Mutation =>
  (draft, random) => {
    const parts = (draft.lines[0] as string).trimEnd().split(' ');
    parts[index] = change(parts[index] as string, random);
    draft.lines[0] = `${parts.join(' ')}\r\n`;
  };

const oneOf =
  (...texts: string[]) =>
  (_: string, random: Random) =>
    random.pick(texts);

/** Changes one of the field lines. */
const changeField =
  (change: (line: string, random: Random) => string): Mutation =>
  (draft, random) => {
    const index = random.between(1, draft.lines.length - 2);
    draft.lines[index] = change(draft.lines[index] as string, random);
  };

/** Gives any line another end. */
const endLine =
  (end: string): Mutation =>
  (draft, random) => {
    const index = random.int(draft.lines.length);
    draft.lines[index] = (draft.lines[index] as string).slice(0, -2) + end;
    draft.unfinished = index === draft.lines.length - 1;
  };

function anotherPost({ source: { key, uniqueName } }: Draft): string {
  const body = petBody(uniqueName());
  const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json`;
  return `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** What can be wrong or unusual in any request. */
const ANY: Readonly<Record<string, Mutation>> = {
  // The request line (RFC 9112, section 3).
  'bad method': rejected(part(0, oneOf('', 'get', 'G', 'GETS', 'FOO', 'Post', '\0GET', 'X'.repeat(5_000)))),
  'method without an operation': (draft, random) => {
    part(0, oneOf(...OTHER_METHODS))(draft, random);
    if (draft.kind !== 'keyless') draft.statuses = draft.kind === 'nowhere' ? [404, 405] : [405];
    if (draft.framing === 'chunked') draft.last = undefined;
  },
  CONNECT: rejected((draft, random) => {
    part(0, oneOf('CONNECT'))(draft, random);
    if (random.chance(0.7)) part(1, oneOf('x:1', '*', 'http://x/', '[::1]:80', ':'))(draft, random);
  }),
  'bad byte in the target': rejected(part(1, (target, random) => insert(target, random, random.pick(CONTROLS)))),
  'bad target': rejected(
    part(1, oneOf('', '*', 'v1/pets', '?limit=1', 'x:1', 'ftp://x/', 'http:/v1', 'http://', '/v1/pets#x')),
  ),
  'absolute target': part(1, (target, random) => random.pick(['http://x', 'HTTPS://y:8', 'http://a.b']) + target),
  'long target': rejected(
    part(1, (target, random) => target.padEnd(random.between(12_289, 14_000), 'a')),
    414,
  ),
  'bad version': rejected(
    part(2, oneOf('HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/3', 'HTTP/1.', 'HTTP/1.1.1', 'http/1.1', 'HTTP', '', 'x')),
  ),
  'HTTP/1.0': (draft, random) => {
    part(2, oneOf('HTTP/1.0'))(draft, random);
    const persists = random.chance(0.3);
    if (persists) add('Connection: keep-alive')(draft, random);
    else if (random.chance(0.5)) setField(draft, 'Host');
    // It has no Transfer-Encoding.
    if (draft.framing === 'chunked') draft.statuses = [400];
    draft.last = persists && draft.framing !== 'chunked' ? undefined : true;
  },
  'no HTTP': rejected((draft, random) => {
    const bytes = Array.from({ length: random.between(8, 300) }, () => String.fromCharCode(random.int(256))).join('');
    const first = random.pick(['\0', '\x16\x03\x01', '\x80', '\xff', '{', '<', '0', 'zz', ':']);
    draft.lines = [random.chance(0.2) ? 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' : first + bytes];
    draft.body = '';
  }),

  // The ends of lines (RFC 9112, section 2.2).
  'bad end of a line': rejected((draft, random) => endLine(random.pick(['\n', '\r', '\r\r\n']))(draft, random)),
  'CR, LF or NUL within a line': rejected((draft, random) => {
    const index = random.int(draft.lines.length - 1);
    const line = draft.lines[index] as string;
    draft.lines[index] = insert(line, random, random.pick(['\r', '\n', '\0', '\r\n\0', '\n\n']), 1, line.length - 2);
  }),
  'no empty line': rejected((draft, random) => {
    draft.lines.pop();
    draft.body = random.chance(0.5) ? anotherPost(draft) : '';
    draft.unfinished = true;
  }),

  // Fields (RFC 9112, section 5).
  'bad byte in a field name': rejected(
    changeField((line, random) => {
      const bad = random.pick([...CONTROLS, ...HIGH, ...SEPARATORS, ' ', '\t']);
      // White space before a name is a fold.
      return insert(line, random, bad, ' \t'.includes(bad) ? 1 : 0, line.indexOf(':'));
    }),
  ),
  'bad byte in a field value': rejected(
    changeField((line, random) => insert(line, random, random.pick(CONTROLS), line.indexOf(':') + 1, line.length - 2)),
  ),
  'strange field': add('X-Empty:', 'X-Tab:\ta\tb\t', 'X-Space:   a   ', 'X-High: \xff', "!#$%&'*+.^_`|~: a", 'x: :'),
  'bad field line': rejected(changeField((line, random) => line.replace(':', random.pick([' :', '\t:', ''])))),
  'folded field': perhapsRejected(
    changeField((line, random) => line.replace(': ', random.pick([':\r\n ', ':\r\n\t', ': \r\n  ']))),
  ),
  'long field': rejected((draft, random) => {
    const long = 'a'.repeat(random.between(16_500, 80_000));
    add(`X-Long: ${long}`, `X-${long}: long`)(draft, random);
  }, 431),
  'too many fields': rejected(add('X-Filler: some value\r\n'.repeat(2_500) + 'X: v'), 431),

  // Host (RFC 9112, section 3.2).
  'no Host': rejected((draft) => setField(draft, 'Host')),
  'two Hosts': rejected(add('Host: x', 'Host: y', 'HOST:', 'host: x')),
  'bad Host': rejected(set('Host', 'a b', 'x/y', 'x:port', '[::1', 'u@x', 'x?', 'http://x', '%zz', '\xe9', 'x\\y')),
  'odd Host': set('Host', '', 'x:', ':80', '[::1]:80', 'a_b.c-d', '%41', 'x'.repeat(2_000)),

  // Framing (RFC 9112, section 6).
  'bad Content-Length': rejected(
    set('Content-Length', '', 'abc', '0x10', '1e3', '5;', '-1', '+5', '5 5', '5, 5', '5.0', '9'.repeat(30)),
  ),
  'two Content-Lengths': rejected((draft, random) => {
    const { length } = draft.payload;
    const lengths = [length, random.pick([length, 0, length + 1])];
    shuffle(lengths, random);
    setField(draft, 'Content-Length', ...lengths);
  }),
  'bad Transfer-Encoding': rejected(
    set('Transfer-Encoding', '', ',', 'identity', 'gzip', 'xchunked', '"chunked"', 'chunked, gzip', 'chunked;q=1'),
  ),
  'two Transfer-Encodings': rejected((draft, random) => {
    const codings = [random.pick(['chunked', 'gzip', '']), 'chunked'];
    shuffle(codings, random);
    setField(draft, 'Transfer-Encoding', ...codings);
  }),
  'Content-Length and Transfer-Encoding': rejected((draft, random) => {
    setField(draft, 'Content-Length', random.pick([0, 5, draft.payload.length, 100_000]));
    setField(draft, 'Transfer-Encoding', random.pick(['chunked', 'gzip, chunked', 'identity']));
  }),

  // What a field asks for. A client that was not told to go on may leave the body out.
  'Expect: 100-continue': (draft, random) => {
    add('Expect: 100-continue', 'Expect: 100-Continue')(draft, random);
    draft.expectsContinue = true;
    if (draft.kind !== 'create') draft.last = undefined;
  },
  'other expectation': rejected(add('Expect: 200-ok', 'Expect: 100-continue, 200-ok', 'Expect: x'), 417),
  upgrade: (draft, random) => {
    add('Upgrade: websocket', 'Upgrade: h2c', 'Upgrade: x, y')(draft, random);
    add('Connection: Upgrade', 'Connection: keep-alive, upgrade')(draft, random);
    draft.last = true;
  },
  'Connection: close': (draft, random) => {
    add('Connection: close', 'Connection: Close', 'Connection: x, close', 'Connection: x,\tclose ,y')(draft, random);
    draft.last = true;
  },
};

const BAD_PAYLOAD = payloadRejected((draft, random) => {
  const { payload } = draft;
  const bad = insert(payload, random, random.pick(['\0', '\xff', '\xc3', '\xed\xa0\x80']), 0, payload.length - 1);
  draft.payload = random.pick([bad, payload.slice(0, random.int(payload.length)), `${payload}x`, '[]', 'null', '']);
  if (draft.framing === 'length') setField(draft, 'Content-Length', draft.payload.length);
});

const WITH_LENGTH: Readonly<Record<string, Mutation>> = {
  ...ANY,
  'bad payload': BAD_PAYLOAD,
  'Content-Length that includes a request': payloadRejected((draft) => {
    draft.payload += anotherPost(draft);
    setField(draft, 'Content-Length', draft.payload.length);
  }),
};

/** The body in one chunk, with one of these as the line of its size. */
const inOneChunk =
  (sizeLines: (size: string) => readonly string[]): Mutation =>
  (draft, random) => {
    const line = random.pick(sizeLines(draft.payload.length.toString(16)));
    draft.body = `${line}\r\n${draft.payload}\r\n0\r\n\r\n`;
  };

/** The body in chunks, with one of these behind the last. */
const trailers =
  (...lines: string[]): Mutation =>
  (draft, random) => {
    draft.body = `${framed(draft.payload, 'chunked', random).slice(0, -2)}${random.pick(lines)}\r\n\r\n`;
  };

/** What can be wrong or unusual with chunks (RFC 9112, section 7.1). */
const WITH_CHUNKS: Readonly<Record<string, Mutation>> = {
  ...ANY,
  'bad payload': BAD_PAYLOAD,
  'Transfer-Encoding in another case': set('Transfer-Encoding', 'Chunked', 'CHUNKED', '\tchunked', 'chunked '),
  'bad chunk size': bodyRejected(
    inOneChunk((size) => ['g', '', '-1', 'f'.repeat(17), '\0', `${size} `, `${size},`, `0x${size}`, `+${size}`]),
  ),
  'bad end of a chunk': bodyRejected((draft, random) => {
    const whole = framed(draft.payload, 'chunked', random);
    const at = random.pick([...whole.matchAll(/\r\n/g)]).index;
    draft.body = whole.slice(0, at) + random.pick(['\n', '\r', '\r\r\n', '\n\r', '\0\r\n']) + whole.slice(at + 2);
    draft.unfinished = true;
  }),
  'chunk extensions': inOneChunk((size) => [
    `${size};a`,
    `${size};a=b`,
    `${size};a="b c"`,
    `${size};${'a'.repeat(100)}`,
  ]),
  'long chunk extensions': bodyRejected(
    inOneChunk((size) => [`${size};${'a'.repeat(20_000)}`]),
    413,
  ),
  trailers: trailers('X-T: v', 'X-T:', 'Host: y', 'Authorization: Bearer x', 'A: b\r\nA: c'),
  'bad trailers': bodyRejected(trailers('X T: v', 'X-T: \0', 'X-T', ': v', 'X-T : v', 'X-T: \r\r')),
  'no last chunk': bodyRejected((draft, random) => {
    draft.body = chunks(draft.payload, random).join('') + random.pick(['', '0', '0\r\n', '0\r\n\r', '0\r\nX-T: v\r\n']);
    draft.unfinished = true;
  }),
  'too many chunks': (draft, random) => {
    const spaces = `1000\r\n${' '.repeat(4_096)}\r\n`.repeat(random.between(16, 40));
    draft.body = spaces + framed(draft.payload, 'chunked', random);
    if (draft.kind === 'create') draft.statuses = [413];
    draft.last = undefined;
  },
};

/** The mutations of requests with this framing, by their names. */
function mutationsOf(framing: Framing): Readonly<Record<string, Mutation>> {
  return { none: ANY, length: WITH_LENGTH, chunked: WITH_CHUNKS }[framing];
}

/** Every framing with every mutation that it can have. */
export const CHOICES: readonly Choice[] = (['none', 'length', 'chunked'] as const).flatMap((framing) =>
  Object.keys(mutationsOf(framing)).map((mutation) => ({ framing, mutation })),
);

/** What a proxy passes on as it is: well-formed requests, and those that the service rejects for what they ask. */
export const PROXIED: readonly Choice[] = (['none', 'length', 'chunked'] as const).flatMap((framing) => [
  ...Array.from({ length: 4 }, () => ({ framing })),
  ...(framing === 'none' ? [] : ['bad payload', 'Expect: 100-continue'].map((mutation) => ({ framing, mutation }))),
  ...(framing === 'length' ? [{ framing, mutation: 'Content-Length that includes a request' }] : []),
]);
