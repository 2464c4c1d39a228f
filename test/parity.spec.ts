import { beforeAll, describe, expect, it } from '@jest/globals';
import { Answer, Ask, Service } from './support/service.js';
import { memory, storeKinds, StoreKind } from './support/stores.js';

const KEY = 'key-of-the-parity-test';

const json = (body: string, headers: Record<string, string> = {}): [string, Ask] => [
  '/v1/pets',
  { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body },
];

const NAMES = [
  'Bella',
  'bella',
  ' Bella ',
  'Zo\u00eb',
  'Zoe\u0308',
  '👩‍👩‍👧‍👦',
  '\u202egnipeels\u202c',
  `'"\\%_?:$1\``,
  '\u{1f436}'.repeat(255),
];

const CATEGORIES = ['9223372036854775807', '-9223372036854775808', '9007199254740993', '-0', '1e3', '1.0'];

/** What is asked, one after the other; a path of `next` follows the Link of the answer before. */
const REQUESTS: readonly (readonly [path: string, ask?: Ask])[] = [
  ['/v1/pets'],
  ['/v1/pets/1'],
  ...NAMES.map((name, i) =>
    json(JSON.stringify({ name, categoryId: i, status: ['available', 'pending', 'sold'][i % 3] })),
  ),
  ...CATEGORIES.map((category) => json(`{"name":"Int","categoryId":${category}}`)),
  json('{"name":"Once","categoryId":1}', { 'Idempotency-Key': 'first' }),
  json('{"name":"Once","categoryId":1}', { 'Idempotency-Key': 'first' }),
  json('{"name":"Twice","categoryId":1}', { 'Idempotency-Key': 'first' }),
  json('{"name":"Once","categoryId":1}', { 'Idempotency-Key': 'FIRST' }),
  json('{"name":"\\u0000","categoryId":1}'),
  json('{"name":"x","categoryId":9223372036854775808}'),
  json('{"nam":"x"}'),
  json('{'),
  ['/v1/pets'],
  ['/v1/pets?limit=100'],
  ['/v1/pets?limit=4'],
  ['next'],
  ['next'],
  ['next'],
  ['next'],
  ...['available', 'pending', 'sold'].map((status): [string] => [`/v1/pets?status=${status}`]),
  ['/v1/pets?limit=2&status=sold'],
  ['next'],
  ['next'],
  ['/v1/pets?limit=0'],
  ['/v1/pets?status=Sold'],
  ['/v1/pets?cursor=1'],
  ['/v1/pets?limit=1', { method: 'HEAD' }],
  ['/v1/pets', { method: 'DELETE' }],
  ['/v1/pets', { key: false }],
  ...Array.from({ length: 9 }, (_, i): [string] => [`/v1/pets/${i + 1}`]),
  ...['0', '-1', '9223372036854775807', '9223372036854775808', '-9223372036854775808', 'abc'].map((id): [string] => [
    `/v1/pets/${id}`,
  ]),
];

/** Every answer, but for what differs from one run to another: date, request id, and the text of cursors. */
async function transcript(kind: StoreKind): Promise<string[]> {
  const store = await kind.create();
  const service = await Service.start({ DATABASE_URL: store.url, API_KEYS: KEY });
  const lines: string[] = [];
  try {
    let answer: Answer | undefined;
    for (const [path, ask] of REQUESTS) {
      const next = /<([^>]+)>; rel="next"/.exec(String(answer?.headers.link))?.[1];
      answer = await service.send(path === 'next' ? (next ?? '/v1/no-next-page') : path, ask);
      const headers = Object.entries(answer.headers)
        .filter(([name]) => name !== 'date' && name !== 'x-request-id')
        .map(([name, value]) => `${name}: ${String(value).replace(/cursor=[^>&]+/, 'cursor=…')}`);
      lines.push(`${ask?.method ?? 'GET'} ${path} -> ${answer.status} ${answer.body} ${headers.sort().join(' | ')}`);
    }
    return lines;
  } finally {
    await service.stop();
    await store.remove();
  }
}

describe('the answers to the same requests', () => {
  let reference: string[];

  beforeAll(async () => {
    reference = await transcript(memory);
  });

  it.each(storeKinds.filter((kind) => kind !== memory))(
    'are on $name what they are in memory, byte for byte',
    async (kind) => {
      expect(await transcript(kind)).toEqual(reference);
    },
  );
});
