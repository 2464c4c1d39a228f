import { newPetJson } from '../support/fields.js';
import { bytes, post } from '../support/raw-requests.js';

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

  pick<T>(choices: readonly T[]): T {
    return choices[this.int(choices.length)] as T;
  }

  shuffle<T>(list: readonly T[]): T[] {
    const places = new Map(list.map((each) => [each, this.int(2 ** 32)]));
    return list.toSorted((a, b) => (places.get(a) as number) - (places.get(b) as number));
  }
}

/** What a request asks for: to create a pet, one pet, the newest pet; `keyless` is a create without the API key. */
type Kind = 'create' | 'get' | 'newest' | 'keyless';

/** The status of each kind, if nothing is wrong with the request. */
const STATUS: Readonly<Record<Kind, number>> = { create: 201, get: 200, newest: 200, keyless: 401 };

/** How a request says where its body ends. */
type Framing = 'none' | 'length' | 'chunked';

/** A pet that the service has acknowledged, with its JSON text. */
export interface KnownPet {
  readonly id: string;
  readonly text: string;
}

/** What the requests of a connection are made from. */
export interface Source {
  readonly random: Random;
  readonly key: string;
  readonly uniqueName: () => string;
  /** Some pets that are stored. */
  readonly known: readonly KnownPet[];
}

/** What is unusual in a request. */
interface Twist {
  /** The part that must be rejected; a response that does not wait for the body may come before the body is. */
  readonly rejects?: 'head' | 'body' | 'pet';
  /** The framings that it needs; any if absent. */
  readonly framings?: readonly Framing[];
  /** Whether the response must be the last, though nothing is wrong. */
  readonly closes?: boolean;
  /** Whether it waits for 100 Continue: a client that was not told to go on may leave the body out. */
  readonly expects?: boolean;
  /** Changes the request line and the fields, without their ends. */
  readonly head?: (lines: string[], random: Random) => string[];
  /** Changes the body before it is framed. */
  readonly payload?: (payload: string, source: Source) => string;
  /** Frames the body in chunks. */
  readonly chunks?: (payload: string, random: Random) => string;
}

/** Adds one of these texts to the fields. */
const adding =
  (...texts: string[]) =>
  (lines: string[], random: Random): string[] =>
    lines.toSpliced(1 + random.int(lines.length), 0, random.pick(texts));

/** A complete request that would create another pet, for where none must be found. */
const hiddenRequest = ({ uniqueName }: Source): string => bytes(post(uniqueName())).toString('latin1');

const WITH_BODY: readonly Framing[] = ['length', 'chunked'];

/** No control character may be anywhere in a head, but for the tab. */
const CONTROLS = [...Array(32).keys(), 127].map((code) => String.fromCharCode(code)).filter((c) => c !== '\t');

/** What can be unusual, by name. `test/http/protocol.spec.ts` has more of it, one by one; here it meets neighbours. */
const TWISTS: Readonly<Record<string, Twist>> = {
  nothing: {},
  'the last one': {
    closes: true,
    head: adding('Connection: close', 'Connection: x,\tClose ,y'),
  },
  'expects 100-continue': { expects: true, head: adding('Expect: 100-continue') },
  'a stray byte in the head': {
    rejects: 'head',
    head: (lines, random) => {
      const index = random.int(lines.length);
      const line = lines[index] as string;
      const at = 1 + random.int(line.length);
      return lines.with(index, line.slice(0, at) + random.pick(CONTROLS) + line.slice(at));
    },
  },
  'a bad target': {
    rejects: 'head',
    head: ([line = '', ...fields], random) => {
      const target = random.pick(['/v1/pets#x', '//a@b#x', '//a@b[/#x', 'v1/pets']);
      return [line.replace(/ \S+ /, ` ${target} `), ...fields];
    },
  },
  'a bad field': {
    rejects: 'head',
    head: adding('Host: y', 'X-A : b', 'X-A b', 'X A: b', 'X-\xe9: b', 'POST /v1/pets HTTP/1.1'),
  },
  'a bad framing': {
    rejects: 'head',
    head: (lines, random) => {
      const others = lines.filter((line) => !/^(?:Content-Length|Transfer-Encoding):/.test(line));
      const lengths = ['Content-Length: +5', 'Content-Length: 5, 5', 'Content-Length: 5\r\nContent-Length: 6'];
      const codings = ['', 'identity', 'chunked, gzip'].map((coding) => `Transfer-Encoding: ${coding}`);
      const both = ['Content-Length: 5', 'Transfer-Encoding: chunked', 'Transfer-Encoding:'].map(
        (line) => `Transfer-Encoding: chunked\r\n${line}`,
      );
      return adding(...lengths, ...codings, ...both)(others, random);
    },
  },
  'a body that is no pet': {
    rejects: 'pet',
    framings: WITH_BODY,
    payload: (payload, { random }) =>
      random.pick(['{"name":7}', '[]', '', `${payload}x`, payload.slice(0, random.int(payload.length)), '\xff']),
  },
  'a body that has a request in it': {
    rejects: 'pet',
    framings: WITH_BODY,
    payload: (payload, source) => payload + hiddenRequest(source),
  },
  'a bad chunk': {
    rejects: 'body',
    framings: ['chunked'],
    chunks: (payload, random) => {
      const size = payload.length.toString(16);
      const bad = random.pick(['g', '', '-1', 'f'.repeat(17), `${size} `, `0x${size}`, `${size}\n`]);
      return `${bad}\r\n${payload}\r\n0\r\n\r\n`;
    },
  },
  'a bad trailer': {
    rejects: 'body',
    framings: ['chunked'],
    chunks: (payload, random) => inChunks(payload, random, ['X T: v\r\n', 'X-T: \0\r\n', 'X-T\r\n']),
  },
};

export type TwistName = keyof typeof TWISTS;

export const ALL_TWISTS: readonly TwistName[] = Object.keys(TWISTS);

/** Those that a proxy passes on as they are. */
export const PROXIED_TWISTS: readonly TwistName[] = [
  ...['nothing', 'nothing', 'expects 100-continue', 'a body that is no pet', 'a body that has a request in it'],
];

export interface HostileRequest {
  readonly kind: Kind;
  readonly twist: TwistName;
  readonly bytes: Buffer;
  /** How many of the bytes are the head. */
  readonly headLength: number;
  /** Its `X-Request-Id`. */
  readonly id: string;
  /** The name of the pet in its body. */
  readonly name: string;
  /** The pet that it asks for. */
  readonly pet: KnownPet | undefined;
  /** What may be answered. */
  readonly statuses: readonly number[];
  /** Whether the response must say `Connection: close`; undefined if it may. */
  readonly isLast: boolean | undefined;
  readonly expectsContinue: boolean;
}

/** Makes a request of a random kind and framing; a create if no pet is known yet. */
export function makeRequest(source: Source, twist: TwistName): HostileRequest {
  const { random, key, uniqueName, known } = source;
  const unusual = TWISTS[twist] as Twist;
  const kind = known.length === 0 ? 'create' : random.pick(['create', 'create', 'get', 'newest', 'keyless'] as const);
  const usual = kind === 'create' ? WITH_BODY : (['none', ...WITH_BODY] as const);
  const framing = random.pick(unusual.framings ?? usual);
  const [id, name] = [`r-${random.int(2 ** 32)}`, uniqueName()];
  const pet = kind === 'get' ? random.pick(known) : undefined;
  const line = { create: 'POST /v1/pets', get: `GET /v1/pets/${pet?.id}`, newest: 'GET /v1/pets?limit=1' };

  const valid = framing === 'none' ? '' : newPetJson({ name: `"${name}"` });
  const payload = unusual.payload?.(valid, source) ?? valid;
  const fields = ['Host: x', `X-Request-Id: ${id}`, 'X-Filler: some value'];
  if (kind !== 'keyless') fields.push(`Authorization: Bearer ${key}`);
  if (framing !== 'none') fields.push('Content-Type: application/json');
  if (framing === 'length') fields.push(`Content-Length: ${payload.length}`);
  if (framing === 'chunked') fields.push('Transfer-Encoding: chunked');
  const lines = [`${kind === 'keyless' ? line.create : line[kind]} HTTP/1.1`, ...random.shuffle(fields)];
  const head = [...(unusual.head?.(lines, random) ?? lines), '\r\n'].join('\r\n');
  const body = framing === 'chunked' ? (unusual.chunks ?? inChunks)(payload, random) : payload;
  return {
    ...{ kind, twist, id, name, pet, bytes: Buffer.from(head + body, 'latin1'), headLength: head.length },
    ...outcome(kind, framing, unusual),
    expectsContinue: unusual.expects === true,
  };
}

/** What may be answered to a request of which all has arrived. */
function outcome(kind: Kind, framing: Framing, { rejects, closes, expects }: Twist) {
  const waitsForBody = kind === 'create';
  // The protocol is checked before all else.
  if (rejects === 'head') return { statuses: [400], isLast: true };
  if (rejects === 'body') return { statuses: waitsForBody ? [400] : [STATUS[kind], 400], isLast: true };
  const statuses = [rejects === 'pet' && waitsForBody ? 400 : STATUS[kind]];
  if (closes) return { statuses, isLast: true };
  return { statuses, isLast: !waitsForBody && (framing === 'chunked' || expects) ? undefined : false };
}

/** A body in chunks of random sizes, some with an extension, and one of these trailers. */
function inChunks(payload: string, random: Random, trailers = ['', '', 'X-T: v\r\n', 'Host: y\r\n']): string {
  let chunks = '';
  const most = random.pick([1, 8, 100]);
  for (let at = 0; at < payload.length;) {
    const chunk = payload.slice(at, (at += 1 + random.int(most)));
    chunks += `${chunk.length.toString(16)}${random.pick(['', '', ';a', ';a="b c"'])}\r\n${chunk}\r\n`;
  }
  return `${chunks}0\r\n${random.pick(trailers)}\r\n`;
}
