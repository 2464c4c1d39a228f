import { WireAnswer } from '../support/connection.js';

/** A request as it goes over the wire, and what may come of it. */
export interface Ask {
  readonly text: string;
  /** The statuses of which it is answered with one. */
  readonly statuses: readonly number[];
  /** Whether the body of its answer is right; the id of the request is looked at for every answer. */
  readonly isRight?: (answer: WireAnswer) => boolean;
  /** The name of the pet that it adds, if it is to add one. */
  readonly pet?: string;
  /** Whether the answer has no body whatever its head says. */
  readonly isHead?: boolean;
  /** Whether it may be answered before all of its body is there. */
  readonly isEarly?: boolean;
  /** What becomes of the connection behind it: it may end behind the answer, or the client leaves without one. */
  readonly then?: 'mayEnd' | 'leave';
}

/** A request of this number, which is its `X-Request-Id`; `known` is the JSON text of a pet that is there. */
type Kind = (number: number, known: string) => Ask;

interface Parts {
  /** A line with the key that is accepted, if nothing is said; empty for none. */
  readonly key?: string;
  readonly fields?: string;
  readonly body?: string;
  readonly chunked?: boolean;
}

/** The key that is accepted. */
export const KEY = 'key-of-the-proxies-test';

/** More than a body may have, in characters. */
const TOO_MUCH = 100_000;

const lines = (...all: string[]): string => all.filter((line) => line !== '').join('\r\n');

/** The text of a request. */
function request(line: string, number: number, { key = KEY, fields = '', body, chunked = false }: Parts = {}): string {
  const half = Math.floor((body?.length ?? 0) / 2);
  const chunks = (text: string) => (text === '' ? '' : `${text.length.toString(16)}\r\n${text}\r\n`);
  const framing = body === undefined ? '' : chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`;
  const framed = !body ? '' : chunked ? `${chunks(body.slice(0, half))}${chunks(body.slice(half))}0\r\n\r\n` : body;
  const head = lines(
    `${line} HTTP/1.1`,
    'Host: x',
    key && `Authorization: Bearer ${key}`,
    `X-Request-Id: ${number}`,
    body === undefined || fields.includes('Content-Type') ? '' : 'Content-Type: application/json',
    fields,
    framing,
  );
  return `${head}\r\n\r\n${framed}`;
}

const petOf = (number: number): string => `{"name":"pet-${number}","categoryId":${number}}`;

/** A createPet that is to succeed. */
export function add(number: number, parts: Parts = {}): Ask {
  const text = new RegExp(`^\\{"id":[0-9]+,"name":"pet-${number}","categoryId":${number},"status":"available"\\}$`);
  return {
    text: request('POST /v1/pets', number, { body: petOf(number), ...parts }),
    statuses: [201],
    isRight: ({ body }) => text.test(body),
    pet: `pet-${number}`,
  };
}

/** A request that is refused. Its body is a request too: nobody may ever take it for one. */
function refused(line: string, number: number, status: number, parts: Parts = {}): Ask {
  const body = request('POST /v1/pets', number, { body: petOf(number) });
  return {
    text: request(line, number, { body, ...parts }),
    statuses: [status],
    isEarly: true,
    isRight: (answer) => (JSON.parse(answer.body) as { status: number }).status === status,
  };
}

const WRONG = 'x'.repeat(KEY.length);

/** What clients send, good and bad: of the bad what a proxy passes on. */
export const KINDS: readonly Kind[] = [
  (number) => add(number),
  (number) => add(number, { chunked: true }),
  (number) => add(number, { fields: 'Expect: 100-continue' }),
  (number) => add(number, { fields: 'Connection: Upgrade\r\nUpgrade: websocket' }),
  (number) => {
    const limit = 1 + (number % 100);
    const isRight = ({ body }: WireAnswer) => (JSON.parse(body) as object[]).length <= limit;
    return { text: request(`GET /v1/pets?limit=${limit}`, number), statuses: [200], isRight };
  },
  (number, known) => ({
    text: request(`GET /v1/pets/${/[0-9]+/.exec(known)?.[0]}`, number),
    statuses: [200],
    isRight: ({ body }) => body === known,
  }),
  (number, known) => ({
    text: request(`GET /v1/pets/${/[0-9]+/.exec(known)?.[0]}`, number, {
      fields: 'Connection: Upgrade\r\nUpgrade: h2c',
    }),
    statuses: [200],
    isRight: ({ body }) => body === known,
  }),
  // What is sent along with a GET is no request of its own.
  (number) => ({ ...refused('GET /v1/pets', number, 200), isRight: ({ body }) => body.startsWith('[') }),
  (number) => ({
    ...refused('GET /v1/pets', number, 200, { chunked: true }),
    isRight: ({ body }) => body.startsWith('['),
  }),
  (number) => ({ text: request('HEAD /v1/pets', number), statuses: [200], isHead: true }),
  (number) => ({ text: request('HEAD /v1/no', number), statuses: [404], isHead: true }),
  (number) => ({ text: request('HEAD /v1/pets', number, { key: WRONG }), statuses: [401], isHead: true }),
  (number) => ({ text: request('OPTIONS /v1/pets', number), statuses: [204] }),
  (number) => refused('POST /v1/pets', number, 401, { key: WRONG }),
  (number) => refused('POST /v1/pets', number, 401, { key: '' }),
  (number) => refused('POST /v1/pets', number, 400),
  (number) => refused('POST /v1/pets', number, 400, { chunked: true }),
  (number) => refused('POST /v1/pets', number, 415, { fields: 'Content-Type: text/plain' }),
  (number) => refused('POST /v1/pets', number, 406, { fields: 'Accept: text/html' }),
  (number) => refused('POST /v1/no', number, 404),
  (number) => refused('DELETE /v1/pets', number, 405),
  (number) => refused('GET /v1/pets?limit=0', number, 400),
  // nginx does not pass an expectation on.
  (number) => ({
    ...refused('POST /v1/pets', number, 417, { fields: 'Expect: miracles' }),
    statuses: [400, 417],
    isRight: undefined,
  }),
  ...[false, true].flatMap((chunked): Kind[] => [
    (number) => ({
      ...refused('POST /v1/pets', number, 413, { body: 'x'.repeat(TOO_MUCH), chunked }),
      then: 'mayEnd',
    }),
    (number) => ({
      ...refused('POST /v1/pets', number, 401, { key: WRONG, body: 'x'.repeat(TOO_MUCH), chunked }),
      then: 'mayEnd',
    }),
    // What is cut short adds nothing.
    (number) => ({
      text: request('POST /v1/pets', number, { body: petOf(number), chunked }).slice(0, -8),
      statuses: [],
      then: 'leave',
    }),
    (number) => ({ ...add(number, { chunked }), then: 'leave' }),
  ]),
];
