import { expect, it } from '@jest/globals';
import { FIELDS, newPetJson } from '../support/fields.js';
import { OPERATIONS } from '../support/operations.js';
import { Answer, Ask, Service } from '../support/service.js';
import { memory, StoreKind } from '../support/stores.js';
import { nextPage } from './requests.js';

const KEYS = ['a-key-of-the-contract', 'another-key-of-the-contract'];

/** A request, or `next` for the page that the response before links to. */
type Step = 'next' | readonly [target: string, ask?: Ask];

const create = (body: string, headers: Record<string, string> = {}): Step => [
  '/v1/pets',
  { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body },
];

const key = (value: string) => ({ 'Idempotency-Key': value });

const valid = OPERATIONS.map(({ method, valid: { target, ...rest } }): Step => [target, { method, ...rest }]);

const STEPS: readonly Step[] = [
  // Before there is a pet and after it.
  ...valid,
  ...valid,
  ...FIELDS.flatMap(({ name, valid: values }) =>
    values.flatMap((value, i) =>
      [{}, key(`${name}-${i}`)].map((headers) => create(newPetJson({ [name]: value }), headers)),
    ),
  ),
  ...['first', 'first', 'FIRST'].map((value) => create(newPetJson(), key(value))),
  create(newPetJson({ name: '"Other"' }), key('first')),
  create(newPetJson({ name: '"Other"' }), { ...key('first'), Authorization: `Bearer ${KEYS[1]}` }),
  create('{}', key('rejected')),
  create(newPetJson(), key('rejected')),
  ...OPERATIONS.flatMap(({ method, invalid }) =>
    invalid.map(({ target, headers, body }): Step => [target, { method, headers, body }]),
  ),
  ['/v1/pets?limit=100'],
  ['/v1/pets?limit=4'],
  ...['next', 'next', 'next'].map((): Step => 'next'),
  ['/v1/pets?limit=1&status=sold'],
  ['/v1/pets?limit=1', { method: 'HEAD' }],
  ['/v1/pets', { key: false }],
];

/** Every response, without what differs from run to run: date, request id, gaps of ids and the text of cursors. */
async function transcript(kind: StoreKind): Promise<string[]> {
  const store = await kind.create();
  const service = await Service.start({ DATABASE_URL: store.url, API_KEYS: KEYS.join() });
  const lines: string[] = [];
  // Ids may have gaps on some databases: here each is its place in the order of the pets.
  const ids: string[] = [];
  const place = (_all: string, before: string, id: string) => {
    if (!ids.includes(id)) ids.push(id);
    return `${before}${ids.indexOf(id) + 1}`;
  };
  try {
    let response: Answer | undefined;
    for (const step of STEPS) {
      const [target, ask] = step === 'next' ? [nextPage(response as Answer) as string] : step;
      response = await service.send(target, ask);
      const headers = Object.entries(response.headers)
        .filter(([name]) => name !== 'date' && name !== 'x-request-id')
        .map(([name, value]) => `${name}: ${String(value).replace(/cursor=[^>&]+/, 'cursor=…')}`);
      const text = `${response.status} ${response.body} ${headers.sort().join(' | ')}`;
      lines.push(`${JSON.stringify(step)} -> ${text.replace(/("id":|location: \/v1\/pets\/)(\d+)/g, place)}`);
    }
    return lines;
  } finally {
    await service.stop();
    await store.remove();
  }
}

/** No client can tell from a response which kind of database the service uses. */
export function describeSameResponses(kind: StoreKind): void {
  it(`responses on ${kind.name} are byte for byte those in memory`, async () => {
    expect(await transcript(kind)).toEqual(await transcript(memory));
  });
}
