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

  /** One of these. */
  pick<T>(choices: readonly T[]): T {
    return choices[this.int(choices.length)] as T;
  }
}

/** How a request says where its body ends. */
export type Framing = 'none' | 'length' | 'chunked';

/** What a request asks for. */
export type Kind =
  'create' | 'get' | 'newest' | 'keyless' | 'nowhere' | 'page' | 'head' | 'options' | 'put' | 'invalid';

/** A pet that the service has acknowledged, with its JSON text. */
export interface KnownPet {
  readonly id: string;
  readonly text: string;
}

/** What one request is, and what may be answered to it. */
export interface HostileRequest {
  readonly kind: Kind;
  readonly mutation: string;
  readonly framing: Framing;
  readonly bytes: Buffer;
  /** How many of the bytes are the head. */
  readonly headLength: number;
  /** Its `X-Request-Id`. */
  readonly id: string;
  /** The pet that it names, which is stored if the answer is 201. */
  readonly name: string | undefined;
  /** The pet that it asks for. */
  readonly pet: KnownPet | undefined;
  readonly statuses: readonly number[];
  /** Whether the answer must be the last; undefined if it may be. */
  readonly last: boolean | undefined;
  /** Whether 100 may come before the answer. */
  readonly expectsContinue: boolean;
  /** Whether it is not whole, so that what comes behind it would be a part of it. */
  readonly unfinished: boolean;
  /** Whether its body is not whole, though the answer does not wait for that. */
  readonly cutShort: boolean;
}

/** What the requests of one connection are made from. */
export interface Source {
  readonly random: Random;
  readonly key: string;
  /** Makes a name that no other request has. */
  readonly uniqueName: () => string;
  /** Some pets that are stored. */
  readonly known: readonly KnownPet[];
}

/** A request while it is made. Lines have their ends; all characters are bytes. */
interface Draft {
  readonly kind: Kind;
  readonly framing: Framing;
  readonly source: Source;
  /** The request line, the field lines, and the empty line. */
  lines: string[];
  /** The body as it is to be read. */
  payload: string;
  /** The body as it goes over the wire, if a mutation has said so. */
  body: string | undefined;
  /** What goes out behind the request and is none. */
  behind: string;
  statuses: number[];
  last: boolean | undefined;
  expectsContinue: boolean;
  unfinished: boolean;
  cutShort: boolean;
}

type Mutation = (draft: Draft, random: Random) => void;

const WRONG_KEY = 'wrong-key-of-no-one';
const FILLER = 'X-Filler: some value';
const SEPARATORS = '()<>@,;\\"/[]?={}';
const CONTROLS = [...Array(32).keys(), 127]
  .map((code) => String.fromCharCode(code))
  .filter((c) => !'\t\r\n'.includes(c));
const HIGH = ['\x80', '\xa0', '\xc3\xa9', '\xff'];

/** The kinds that a mutation is made of; most of them what changes something. */
const MUTATED: readonly Kind[] = ['create', 'create', 'create', 'get', 'newest', 'keyless', 'nowhere'];
const GOOD: readonly Kind[] = [...MUTATED, 'head', 'options', 'put', 'invalid'];
const NEEDS_BODY: readonly Kind[] = ['create', 'invalid'];

/** What is wrong with a request, or unusual. */
export interface Choice {
  readonly framing: Framing;
  /** The name of a mutation; undefined for a good request. */
  readonly mutation?: string;
  /** What it may ask for; any of all if absent. */
  readonly kinds?: readonly Kind[];
}

/** Makes a request; and behind it what is to be read as the next one, if the mutation is that its body ends early. */
export function makeRequests(source: Source, choice: Choice): HostileRequest[] {
  const { random } = source;
  const { framing, mutation = 'none', kinds = choice.mutation === undefined ? GOOD : MUTATED } = choice;
  const kind = random.pick(kinds.filter((each) => framing !== 'none' || !NEEDS_BODY.includes(each)));
  const name = kind === 'create' || kind === 'keyless' ? source.uniqueName() : undefined;
  const pet = kind === 'get' ? random.pick(source.known) : undefined;
  const id = `r-${random.int(2 ** 32)}`;
  const draft = newDraft(source, kind, framing, id, name, pet);
  mutationsOf(framing)[mutation]?.(draft, random);
  const { statuses, last, expectsContinue, unfinished, cutShort, behind } = draft;
  const head = draft.lines.join('');
  const request = {
    kind,
    mutation,
    framing,
    bytes: Buffer.from(head + (draft.body ?? framed(draft.payload, framing, random)), 'latin1'),
    headLength: head.length,
    id,
    name,
    pet,
    statuses,
    last,
    expectsContinue,
    unfinished,
    cutShort,
  };
  if (behind === '') return [request];
  const garbage = { statuses: [400], last: true, id: '', name: undefined, pet: undefined, expectsContinue: false };
  return [request, { ...request, ...garbage, bytes: Buffer.from(behind, 'latin1'), headLength: behind.length }];
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
    page: ['GET', '/v1/pets?limit=100', 200],
    keyless: [random.pick(['POST', 'POST', 'GET']), random.pick(['/v1/pets', '/v1/pets/1', '/v2']), 401],
    nowhere: ['GET', random.pick(['/v1/pet', '/v1/pets/', '/v1/pets/x', '/v1/pets/0']), 404],
    head: ['HEAD', '/v1/pets?limit=1', 200],
    options: ['OPTIONS', '/v1/pets', 204],
    put: ['PUT', '/v1/pets', 405],
    invalid: ['POST', '/v1/pets', 400],
  }[kind] as [string, string, number];
  const payload = framing === 'none' ? '' : kind === 'invalid' ? '{"name":7}' : `{"name":"${name}","categoryId":1}`;
  const fields = ['Host: x', `X-Request-Id: ${id}`, FILLER];
  if (kind !== 'keyless') fields.push(`Authorization: Bearer ${key}`);
  else if (random.chance(0.5)) fields.push(`Authorization: Bearer ${WRONG_KEY}`);
  if (framing !== 'none') fields.push('Content-Type: application/json');
  if (framing === 'length') fields.push(`Content-Length: ${payload.length}`);
  if (framing === 'chunked') fields.push('Transfer-Encoding: chunked');
  shuffle(fields, random);
  // An answer that does not wait for the end of a chunked body may be the last.
  const mayBeLast = framing === 'chunked' && kind !== 'create' && kind !== 'invalid';
  return {
    kind,
    framing,
    source,
    lines: [`${method} ${path} HTTP/1.1`, ...fields, ''].map((line) => `${line}\r\n`),
    payload,
    body: undefined,
    behind: '',
    statuses: [status],
    last: mayBeLast ? undefined : false,
    expectsContinue: false,
    unfinished: false,
    cutShort: false,
  };
}

function framed(payload: string, framing: Framing, random: Random): string {
  return framing === 'chunked' ? chunks(payload, random).join('') + '0\r\n\r\n' : payload;
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

/** The head is refused: the protocol comes before the key. */
function refused(apply: Mutation, ...statuses: number[]): Mutation {
  return (draft, random) => {
    apply(draft, random);
    draft.statuses = statuses.length > 0 ? statuses : [400];
    draft.last = true;
  };
}

/** The body is refused, unless the answer does not wait for it; in either case the connection cannot go on. */
function bodyRefused(apply: Mutation, status = 400): Mutation {
  return (draft, random) => {
    apply(draft, random);
    draft.statuses = draft.kind === 'create' ? [status] : [...draft.statuses, status];
    draft.last = true;
  };
}

/** What the body says is refused by the operation that reads it, and the connection goes on. */
function payloadRefused(apply: Mutation): Mutation {
  return (draft, random) => {
    apply(draft, random);
    if (draft.kind === 'create') draft.statuses = [400];
  };
}

/** It may be taken for what it means, or refused. */
function perhapsRefused(apply: Mutation): Mutation {
  return (draft, random) => {
    apply(draft, random);
    draft.statuses.push(400);
    draft.last = undefined;
  };
}

function insert(text: string, at: number, piece: string): string {
  return text.slice(0, at) + piece + text.slice(at);
}

/** The index of one of the field lines. */
function fieldIndex({ lines }: Draft, random: Random): number {
  return random.between(1, lines.length - 2);
}

function setField(draft: Draft, name: string, ...values: string[]): void {
  const at = Math.max(
    1,
    draft.lines.findIndex((line) => line.startsWith(`${name}:`)),
  );
  draft.lines = draft.lines.filter((line) => !line.startsWith(`${name}:`));
  draft.lines.splice(at, 0, ...values.map((value) => `${name}: ${value}\r\n`));
}

function addField(draft: Draft, random: Random, line: string): void {
  draft.lines.splice(fieldIndex(draft, random), 0, `${line}\r\n`);
}

/** Changes one of the three parts of the request line. */
function setPart(draft: Draft, part: 0 | 1 | 2, change: (text: string) => string): void {
  const parts = (draft.lines[0] as string).trimEnd().split(' ');
  parts[part] = change(parts[part] as string);
  draft.lines[0] = `${parts.join(' ')}\r\n`;
}

function setEnd(draft: Draft, index: number, end: string): void {
  draft.lines[index] = (draft.lines[index] as string).slice(0, -2) + end;
}

function anotherPost({ source: { key, uniqueName } }: Draft): string {
  const body = `{"name":"${uniqueName()}","categoryId":1}`;
  return `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Puts a piece at a random place of a text, at a least and before an end. */
function insertAnywhere(text: string, random: Random, piece: string, least = 0, most = text.length): string {
  return insert(text, random.between(least, most), piece);
}

/** Changes one of the field lines. */
function changeField(draft: Draft, random: Random, change: (line: string) => string): void {
  const index = fieldIndex(draft, random);
  draft.lines[index] = change(draft.lines[index] as string);
}

/** Gives any line another end. */
function spoilEnd(draft: Draft, random: Random, end: string): void {
  const index = random.int(draft.lines.length);
  setEnd(draft, index, end);
  draft.unfinished = index === draft.lines.length - 1;
}

/** The body in chunks, with these lines behind the last. */
function withTrailers(draft: Draft, random: Random, trailers: string): void {
  draft.body = `${framed(draft.payload, 'chunked', random).slice(0, -2)}${trailers}\r\n\r\n`;
}

/** The body in one chunk, with this as the line of its size. */
function inOneChunk(draft: Draft, sizeLine: string): void {
  draft.body = `${sizeLine}\r\n${draft.payload}\r\n0\r\n\r\n`;
}

function numberedFields(count: number): string {
  return Array.from({ length: count }, (_, index) => `X-${index}: value`).join('\r\n');
}

/** The size of the whole body, as a chunk says it. */
const sizeOf = ({ payload }: Draft) => payload.length.toString(16);

/** The mutations of requests that say in this way where their body ends, by their names. */
function mutationsOf(framing: Framing): Readonly<Record<string, Mutation>> {
  return { none: ANY, length: WITH_LENGTH, chunked: WITH_CHUNKS }[framing];
}

/** What can be wrong or unusual in any request. */
const ANY: Readonly<Record<string, Mutation>> = {
  // The request line (RFC 9112, section 3).
  'bad byte in the method': refused((draft, random) => {
    const bad = random.pick([...CONTROLS, ...HIGH, ...SEPARATORS, '\t', ':']);
    setPart(draft, 0, (method) => insertAnywhere(method, random, bad));
  }),
  'bad method': refused((draft, random) => {
    const bad = [
      '',
      'get',
      'G',
      'GETS',
      'POSTT',
      'FOO',
      'Post',
      'DESCRIBE',
      'SETUP',
      'PLAY',
      '\0GET',
      'X'.repeat(5_000),
    ];
    setPart(draft, 0, () => random.pick(bad));
  }),
  'method without an operation': (draft, random) => {
    const others = ['PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND', 'PURGE', 'M-SEARCH', 'LOCK', 'SOURCE'];
    setPart(draft, 0, () => random.pick(others));
    if (draft.kind !== 'keyless') draft.statuses = draft.kind === 'nowhere' ? [404, 405] : [405];
    if (draft.framing === 'chunked') draft.last = undefined;
  },
  CONNECT: refused((draft, random) => {
    setPart(draft, 0, () => 'CONNECT');
    if (random.chance(0.7)) setPart(draft, 1, () => random.pick(['x:1', '*', 'http://x/', '[::1]:80', ':']));
  }),
  'bad byte in the target': refused((draft, random) => {
    setPart(draft, 1, (target) => insertAnywhere(target, random, random.pick(CONTROLS)));
  }),
  'strange byte in the target': (draft, random) => {
    const strange = [...HIGH, ...'\t"<\\^`{|', '%-', '%zz', '%00', '%ff', '%2f', '%0d%0a'];
    setPart(draft, 1, (target) => insertAnywhere(target, random, random.pick(strange), 1));
    draft.statuses = draft.kind === 'keyless' ? [401, 400] : [400, 404];
    draft.last = undefined;
  },
  'bad target': refused((draft, random) => {
    const bad = [
      '',
      '*',
      'v1/pets',
      '?limit=1',
      'x:1',
      'ftp://x/',
      'http:/v1',
      'http://',
      'http:///v1',
      '/v1/pets#x',
      '#',
    ];
    setPart(draft, 1, () => random.pick(bad));
  }),
  'absolute target': (draft, random) => {
    setPart(draft, 1, (target) => random.pick(['http://x', 'HTTPS://y:8', 'http://a.b']) + target);
  },
  'long target': refused((draft, random) => {
    setPart(draft, 1, (target) => target.padEnd(random.between(12_289, 14_000), 'a'));
  }, 414),
  // Which of the two it is cannot be told if the target came in several packets.
  'target longer than a head': refused(
    (draft, random) => setPart(draft, 1, (target) => target.padEnd(random.between(16_500, 80_000), 'a')),
    414,
    431,
  ),
  'bad version': refused((draft, random) => {
    const bad = [
      ...['HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/3', 'HTTP/11', 'HTTP/1.', 'HTTP/.1', 'HTTP/1.1.1', 'HTTP/01.1'],
      ...['HTTP/1.10', 'http/1.1', 'HTTPS/1.1', 'HTTP 1.1', 'HTTP/', 'HTTP', '', 'HTTP/1,1', 'HTTP/1.1 x', 'HTTP/-1.1'],
      ...['HTTP/\xb9.1', 'ICE/1.0'],
    ];
    setPart(draft, 2, () => random.pick(bad));
  }),
  // Node's parser tells these as HTTP/1.0. Only the packets that it reads show which it was.
  'other protocol': refused((draft, random) => {
    const [method, version] = random.pick([
      ['GET', 'RTSP/1.0'],
      ['POST', 'RTSP/1.0'],
      ['OPTIONS', 'RTSP/1.0'],
      ['DESCRIBE', 'RTSP/1.0'],
      ['SOURCE', 'ICE/1.0'],
    ] as const);
    setPart(draft, 0, () => method);
    setPart(draft, 2, () => version);
  }),
  'no version': refused((draft, random) => {
    draft.lines[0] = (draft.lines[0] as string).replace(' HTTP/1.1', '');
    if (random.chance(0.5)) return;
    draft.lines.splice(1, Infinity);
    draft.body = '';
    draft.unfinished = true;
  }),
  'more spaces in the request line': perhapsRefused((draft, random) => {
    setPart(draft, random.pick([1, 2] as const), (text) => ` ${text}`);
  }),
  'space around the request line': perhapsRefused((draft, random) => {
    const line = draft.lines[0] as string;
    draft.lines[0] = insert(line, random.pick([0, line.length - 2]), ' ');
  }),
  'HTTP/1.0': (draft, random) => {
    setPart(draft, 2, () => 'HTTP/1.0');
    const persists = random.chance(0.3);
    if (persists) addField(draft, random, 'Connection: keep-alive');
    else if (random.chance(0.5)) setField(draft, 'Host');
    // There is no Transfer-Encoding in it.
    if (draft.framing === 'chunked') draft.statuses = [400];
    draft.last = persists && draft.framing !== 'chunked' ? undefined : true;
  },
  'no HTTP': refused((draft, random) => {
    const bytes = Array.from({ length: random.between(8, 300) }, () => String.fromCharCode(random.int(256))).join('');
    const first = random.pick(['\0', '\x16\x03\x01', '\x80', '\xff', '{', '<', '0', 'zz', ':']);
    draft.lines = [random.chance(0.2) ? 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' : first + bytes];
    draft.body = '';
  }),

  // The ends of lines (RFC 9112, section 2.2).
  'bare LF': refused((draft, random) => spoilEnd(draft, random, '\n')),
  'bare CR': refused((draft, random) => spoilEnd(draft, random, '\r')),
  'CR CR LF': refused((draft, random) => spoilEnd(draft, random, '\r\r\n')),
  'CR, LF or NUL within a line': refused((draft, random) => {
    const index = random.int(draft.lines.length - 1);
    const line = draft.lines[index] as string;
    const bad = random.pick(['\r', '\n', '\0', '\r\n\0', '\n\n']);
    draft.lines[index] = insertAnywhere(line, random, bad, 1, line.length - 2);
  }),
  'no CRLF behind the request line': refused((draft) => setEnd(draft, 0, '')),
  'no empty line': refused((draft, random) => {
    draft.lines.pop();
    draft.body = random.chance(0.5) ? anotherPost(draft) : '';
    draft.unfinished = true;
  }),
  'empty lines before the request line': (draft, random) => {
    draft.lines.unshift('\r\n'.repeat(random.between(1, 3)));
  },
  'empty line behind the request line': refused((draft) => void draft.lines.splice(1, 0, '\r\n')),

  // Fields (RFC 9112, section 5).
  'bad byte in a field name': refused((draft, random) => {
    const bad = random.pick([...CONTROLS, ...HIGH, ...SEPARATORS, ' ', '\t']);
    // White space before a name is a fold.
    const least = ' \t'.includes(bad) ? 1 : 0;
    changeField(draft, random, (line) => insertAnywhere(line, random, bad, least, line.indexOf(':')));
  }),
  'bad byte in a field value': refused((draft, random) => {
    const bad = random.pick(CONTROLS);
    changeField(draft, random, (line) => insertAnywhere(line, random, bad, line.indexOf(':') + 1, line.length - 2));
  }),
  'strange field': (draft, random) => {
    const empty = ['X-Empty:', 'X-Tab:\ta\tb\t', 'X-Space:    a    ', 'x: :'];
    addField(
      draft,
      random,
      random.pick([...empty, 'X-High: \xff\x80', "!#$%&'*+.^_`|~: a", 'Cookie: a=b; c', 'TE: trailers']),
    );
  },
  'no field': refused((draft, random) => {
    addField(draft, random, random.pick(['X-NoColon', ': no name', ':', 'GET / HTTP/1.1', 'X Y: z', '{}']));
  }),
  'space before the colon': refused((draft, random) => {
    changeField(draft, random, (line) => line.replace(':', random.pick([' :', '\t:', '  :'])));
  }),
  'folded field': perhapsRefused((draft, random) => {
    changeField(draft, random, (line) => line.replace(': ', random.pick([':\r\n ', ':\r\n\t', ': \r\n  '])));
  }),
  'fold before the first field': refused((draft, random) => {
    draft.lines.splice(1, 0, random.pick([' X-Filler: folded\r\n', '\tfolded\r\n', ' \r\n']));
  }),
  'long field': refused((draft, random) => {
    const long = 'a'.repeat(random.between(16_500, 80_000));
    addField(draft, random, random.pick([`X-Long: ${long}`, `X-${long}: long`]));
  }, 431),
  'too many fields': refused((draft, random) => {
    addField(draft, random, numberedFields(random.between(2_500, 5_000)));
  }, 431),
  'many fields': (draft, random) => addField(draft, random, numberedFields(random.between(100, 600))),

  // Host (RFC 9112, section 3.2).
  'no Host': refused((draft) => setField(draft, 'Host')),
  'two Hosts': refused((draft, random) => {
    addField(draft, random, random.pick(['Host: x', 'Host: y', 'HOST:', 'host: x']));
  }),
  'bad Host': refused((draft, random) => {
    const bad = [
      'a b',
      'x/y',
      'x:port',
      '[::1',
      '"x"',
      'u@x',
      'x?',
      'x#',
      'http://x',
      'x:1:2',
      '%zz',
      '\xe9',
      'x\\y',
      '<x>',
    ];
    setField(draft, 'Host', random.pick(bad));
  }),
  'odd Host': (draft, random) => {
    setField(draft, 'Host', random.pick(['', 'x:', ':80', '[::1]:80', 'a_b.c-d', '%41', 'x'.repeat(2_000)]));
  },

  // Framing (RFC 9112, section 6).
  'bad Content-Length': refused((draft, random) => {
    const words = ['', 'abc', '0x10', '1e3', '5;', "'5'", '\xb2', '5_0'];
    const numbers = ['-1', '- 1', '+5', '5 5', '5,5', '5, 5', '5.0', '9'.repeat(30), '18446744073709551616'];
    setField(draft, 'Content-Length', random.pick([...words, ...numbers]));
  }),
  'two Content-Lengths': refused((draft, random) => {
    const { length } = draft.payload;
    const other = random.pick([length, 0, length + 1]);
    setField(
      draft,
      'Content-Length',
      ...random
        .pick([
          [length, other],
          [other, length],
        ])
        .map(String),
    );
  }),
  'bad Transfer-Encoding': refused((draft, random) => {
    const others = [
      '',
      ',',
      'identity',
      'gzip',
      'xchunked',
      'chunkedx',
      '"chunked"',
      'chunked\xa0',
      'chunk ed',
      'x chunked',
    ];
    const behind = ['chunked, gzip', 'chunked;q=1', 'chunked,', 'chunked chunked', 'chunked, identity'];
    setField(draft, 'Transfer-Encoding', random.pick([...others, ...behind]));
  }),
  'two Transfer-Encodings': refused((draft, random) => {
    const [one, other] = random.pick([
      ['chunked', 'chunked'],
      ['gzip', 'chunked'],
      ['', 'chunked'],
    ]);
    setField(draft, 'Transfer-Encoding', ...(random.chance(0.5) ? [`${one}`, `${other}`] : [`${other}`, `${one}`]));
  }),
  'Content-Length and Transfer-Encoding': refused((draft, random) => {
    setField(draft, 'Content-Length', String(random.pick([0, 5, draft.payload.length, 100_000])));
    setField(draft, 'Transfer-Encoding', random.pick(['chunked', 'gzip, chunked', 'identity']));
  }),

  // What a field asks for.
  'Expect: 100-continue': (draft, random) => {
    addField(draft, random, `Expect: ${random.pick(['100-continue', '100-Continue', '100-CONTINUE'])}`);
    draft.expectsContinue = true;
    // A client that was not told to go on may leave the body out, so the connection may end.
    if (draft.kind !== 'create') draft.last = undefined;
  },
  'other expectation': refused((draft, random) => {
    addField(draft, random, `Expect: ${random.pick(['200-ok', '100-continue, 200-ok', '100-continuex', 'x', '100'])}`);
  }, 417),
  upgrade: (draft, random) => {
    addField(draft, random, `Upgrade: ${random.pick(['websocket', 'h2c', 'TLS/1.0', 'x, y'])}`);
    if (random.chance(0.8)) addField(draft, random, `Connection: ${random.pick(['Upgrade', 'keep-alive, upgrade'])}`);
    draft.last = true;
  },
  'Connection: close': (draft, random) => {
    addField(
      draft,
      random,
      `Connection: ${random.pick(['close', 'Close', 'x, close', 'close, x', 'close\t', 'x,\tclose ,y'])}`,
    );
    draft.last = true;
  },
  'Connection: other': (draft, random) => {
    addField(draft, random, `Connection: ${random.pick(['keep-alive', 'x', '', 'Host', 'closed', 'Authorization'])}`);
  },
  'two keys': (draft, random) => {
    for (let i = 0; i < 2; i++) addField(draft, random, `Authorization: Bearer ${WRONG_KEY}`);
    draft.statuses = [401];
    if (draft.framing === 'chunked') draft.last = undefined;
  },
};

const badPayload = payloadRefused((draft, random) => {
  const { payload } = draft;
  const bytes = random.pick(['\0', '\xff', '\xc3', '\xed\xa0\x80', '\x01']);
  const at = random.int(payload.length);
  draft.payload = random.pick([
    insert(payload, at, bytes),
    payload.slice(0, at),
    `${payload}x`,
    '[]',
    'null',
    '{}',
    '',
  ]);
  if (draft.framing === 'length') setField(draft, 'Content-Length', String(draft.payload.length));
});

const WITH_LENGTH: Readonly<Record<string, Mutation>> = {
  ...ANY,
  'bad payload': badPayload,
  'Content-Length with zeros': (draft, random) => {
    setField(draft, 'Content-Length', '0'.repeat(random.between(1, 40)) + String(draft.payload.length));
  },
  'Content-Length too small': payloadRefused((draft, random) => {
    const length = random.int(draft.payload.length);
    setField(draft, 'Content-Length', String(length));
    [draft.body, draft.behind] = [draft.payload.slice(0, length), draft.payload.slice(length)];
  }),
  'Content-Length that takes in a request': payloadRefused((draft) => {
    draft.payload += anotherPost(draft);
    setField(draft, 'Content-Length', String(draft.payload.length));
  }),
  'Content-Length too large': (draft, random) => {
    setField(draft, 'Content-Length', String(draft.payload.length + random.pick([1, 2, random.between(3, 60_000)])));
    draft.statuses = draft.kind === 'create' ? [400] : [...draft.statuses, 400];
    draft.last = draft.kind === 'create' ? true : undefined;
    draft.unfinished = true;
  },
  'body that is refused by its length': (draft, random) => {
    // More than all that comes behind it, which is taken for its body.
    setField(draft, 'Content-Length', String(random.pick([10_000_000, Number.MAX_SAFE_INTEGER])));
    if (random.chance(0.5)) draft.body = '';
    if (draft.kind === 'create') draft.statuses = [413];
    draft.last = true;
    draft.cutShort = true;
  },
};

/** What can be wrong or unusual with chunks (RFC 9112, section 7.1). */
const WITH_CHUNKS: Readonly<Record<string, Mutation>> = {
  ...ANY,
  'bad payload': badPayload,
  'Transfer-Encoding in another case': (draft, random) => {
    setField(
      draft,
      'Transfer-Encoding',
      random.pick(['Chunked', 'CHUNKED', ' chunked', '\tchunked', 'chunked ', 'cHuNkEd']),
    );
  },
  'codings before chunked': perhapsRefused((draft, random) => {
    const codings = ['gzip, chunked', 'gzip,chunked', ', chunked', 'x ,\tchunked', 'chunked, chunked'];
    setField(draft, 'Transfer-Encoding', random.pick(codings));
    if (draft.kind === 'create') draft.statuses = [415];
  }),
  'bad chunk size': bodyRefused((draft, random) => {
    const size = sizeOf(draft);
    const words = ['g', '', '-1', 'f'.repeat(17), '1'.repeat(40), '\0', '\xb2', `"${size}"`];
    const signs = [' ', '\t', ',', '.', 'h', '\0'].map((sign) => size + sign);
    inOneChunk(draft, random.pick([...words, ...signs, `0x${size}`, ` ${size}`, `+${size}`]));
  }),
  'chunk of another size': bodyRefused((draft, random) => {
    inOneChunk(draft, (draft.payload.length + random.pick([-2, -1, 1, 2, 3])).toString(16));
  }),
  'bad end of a chunk': bodyRefused((draft, random) => {
    const whole = framed(draft.payload, 'chunked', random);
    const at = random.pick([...whole.matchAll(/\r\n/g)]).index;
    // Without an end, a size and the digit behind it can be another size, which may happen to be right.
    const endless = /^[0-9a-f]/i.test(whole.slice(at + 2)) ? [] : [''];
    const bad = random.pick([...endless, '\n', '\r', '\r\r\n', '\n\r', ' \r\n', '\0\r\n']);
    draft.body = whole.slice(0, at) + bad + whole.slice(at + 2);
    draft.unfinished = true;
  }),
  'chunk extensions': (draft, random) => {
    const extension = random.pick([';a', ';a=b', ';a="b c"', ';a=b;c', ';a=b;c="\\""', `;${'a'.repeat(100)}`]);
    const sized = chunks(draft.payload, random).map((chunk) => chunk.replace('\r\n', `${extension}\r\n`));
    draft.body = `${sized.join('')}0${extension}\r\n\r\n`;
  },
  'bad chunk extensions': bodyRefused((draft, random) => {
    const bad = [';\0', ';a=\x01', ';a\n', ';a\rb', ';a="\0"', ';a="b', 'a', ' x', ';a=\x7f'];
    inOneChunk(draft, sizeOf(draft) + random.pick(bad));
    draft.unfinished = true;
  }),
  'long chunk extensions': bodyRefused((draft, random) => {
    inOneChunk(draft, `${sizeOf(draft)};${'a'.repeat(random.between(17_000, 60_000))}`);
  }, 413),
  trailers: (draft, random) => {
    const good = ['X-T: v', 'X-T:', 'Host: y', 'Authorization: Bearer x', 'A: b\r\nA: c'];
    withTrailers(draft, random, random.pick([...good, 'Connection: Upgrade\r\nUpgrade: x']));
  },
  // Node's parser takes it for the head's.
  'Connection: close in the trailers': (draft, random) => {
    const lines = ['Connection: close', 'connection: x, Close', 'X-T: v\r\nProxy-Connection: close'];
    withTrailers(draft, random, random.pick(lines));
    draft.last = true;
  },
  'bad trailers': bodyRefused((draft, random) => {
    const bad = ['X T: v', 'X-T: \0', 'X-T', ': v', ' X-T: v', 'X-T : v', 'X-T: v\x7f', 'X-T: \r\r'];
    withTrailers(draft, random, random.pick(bad));
  }),
  'framing in the trailers': perhapsRefused((draft, random) => {
    const framing = ['Content-Length: 5', 'Transfer-Encoding: chunked', 'Transfer-Encoding: gzip'];
    withTrailers(draft, random, random.pick(framing));
  }),
  'long trailers': bodyRefused((draft, random) => {
    withTrailers(draft, random, `X-T: ${'a'.repeat(random.between(17_000, 60_000))}`);
  }, 431),
  'no last chunk': bodyRefused((draft, random) => {
    const ends = ['', '0', '0\r', '0\r\n', '0\r\n\r', '0\r\nX-T: v\r\n'];
    draft.body = chunks(draft.payload, random).join('') + random.pick(ends);
    draft.unfinished = true;
  }),
  'too many chunks': (draft, random) => {
    const spaces = `1000\r\n${' '.repeat(4_096)}\r\n`.repeat(random.between(16, 40));
    draft.body = spaces + framed(draft.payload, 'chunked', random);
    if (draft.kind === 'create') draft.statuses = [413];
    draft.last = undefined;
  },
};

/** Every framing with every mutation that it can have. */
export const CHOICES = (['none', 'length', 'chunked'] as const).flatMap((framing) =>
  Object.keys(mutationsOf(framing)).map((mutation) => ({ framing, mutation })),
);
