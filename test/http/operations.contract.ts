import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { expectError } from '../support/error-body.js';
import { FIELDS, newPetJson, petJson } from '../support/fields.js';
import { OPERATIONS } from '../support/operations.js';
import { Answer, Ask, Service } from '../support/service.js';
import { memory, StoreKind, TestStore } from '../support/stores.js';
import { nextPage, ParsedPet, pets, sendTo, walk } from './requests.js';

const KEY = 'a-key-of-the-contract';
const STATUSES = ['available', 'pending', 'sold'];

const key = (value: string) => ({ 'Idempotency-Key': value });
const location = ({ headers }: Answer) => headers.location as string;
const idOf = (response: Answer) => BigInt(/\d+$/.exec(location(response))?.[0] as string);

/** What the operations do on every kind of database. */
export function describeOperations(kind: StoreKind): void {
  describe(`the operations on ${kind.name}`, () => {
    let store: TestStore;
    let service: Service;

    beforeAll(async () => {
      store = await kind.create();
      service = await Service.start({ DATABASE_URL: store.url });
    });

    afterAll(async () => {
      await service.stop();
      await store.remove();
    });

    describe('listPets', () => {
      /** Newest first. */
      const all: ParsedPet[] = [];

      beforeAll(async () => {
        expect(pets(await service.send('/v1/pets'))).toEqual([]);
        for (let i = 0; i < 25; i++) {
          const created = await service.add(newPetJson({ name: `"Pet ${i}"`, status: `"${STATUSES[i % 3]}"` }));
          all.unshift(JSON.parse(created.body) as ParsedPet);
        }
      });

      it('returns the newest first, 20 by default', async () => {
        expect(pets(await service.send('/v1/pets'))).toEqual(all.slice(0, 20));
      });

      it.each([1, 24, 25, 26, 100])('returns at most %i', async (limit) => {
        expect(pets(await service.send(`/v1/pets?limit=${limit}`))).toEqual(all.slice(0, limit));
      });

      it.each(STATUSES)('filters by the status %s', async (status) => {
        const expected = all.filter((pet) => pet.status === status);
        expect(expected.length).toBeGreaterThan(5);
        expect(pets(await service.send(`/v1/pets?status=${status}`))).toEqual(expected);
      });

      it.each([1, 7, 24, 25])('links pages of %i until every pet was returned once', async (limit) => {
        expect(await walk(service, `/v1/pets?limit=${limit}`)).toEqual(all);
        const sold = all.filter(({ status }) => status === 'sold');
        expect(await walk(service, `/v1/pets?limit=${limit}&status=sold`)).toEqual(sold);
      });

      it.each(['', '&status=sold'])(
        'returns every earlier pet exactly once while others are created%s',
        async (filter) => {
          const before = await walk(service, `/v1/pets?limit=100${filter}`);
          let walking = true;
          let during = 0;
          const writers = Array.from({ length: 3 }, async () => {
            while (walking) {
              await service.add(newPetJson({ status: '"sold"' }));
              during++;
            }
          });
          const ids = (await walk(service, `/v1/pets?limit=2${filter}`)).map(({ id }) => id);
          walking = false;
          await Promise.all(writers);
          expect(during).toBeGreaterThan(3);
          expect(ids).toEqual([...new Set(ids)].sort((a, b) => b - a));
          expect(ids).toEqual(expect.arrayContaining(before.map(({ id }) => id)));
        },
      );
    });

    it.each(OPERATIONS)('$name answers a valid request with $success', async (operation) => {
      expect((await sendTo(service, operation, operation.valid)).status).toBe(operation.success);
    });

    it.each(FIELDS)('every valid $name is stored and returned exactly', async ({ name, valid }) => {
      for (const value of valid) {
        const created = await service.add(newPetJson({ [name]: value }));
        expect([created.status, created.body]).toEqual([201, petJson(idOf(created), { [name]: value })]);
        expect((await service.send(location(created))).body).toBe(created.body);
        expect((await service.send('/v1/pets?limit=1')).body).toBe(`[${created.body}]`);
      }
    });

    it('ids increase, and are unique among pets created at the same time', async () => {
      const ids: bigint[] = [];
      for (let i = 0; i < 5; i++) ids.push(idOf(await service.add(newPetJson())));
      const atOnce = await Promise.all(Array.from({ length: 20 }, () => service.add(newPetJson())));
      for (const [i, id] of ids.entries()) if (i > 0) expect(id).toBeGreaterThan(ids[i - 1] as bigint);
      expect(new Set([...ids, ...atOnce.map(idOf)]).size).toBe(25);
    });

    describe('an Idempotency-Key', () => {
      const newest = async () => (await service.send('/v1/pets?limit=1')).body;

      it('returns the same 201 byte for byte to a repeated request with an equal payload', async () => {
        const first = await service.add('{"name":"Bella","categoryId":42}', key('repeated'));
        expect(first.headers).not.toHaveProperty('idempotent-replayed');
        const after = await service.add(newPetJson());
        const repeated = await service.add(
          ' {"categoryId":4.2e1, "status":"available", "name":"\\u0042ella"}',
          key('repeated'),
        );
        expect(repeated).toMatchObject({ status: 201, body: first.body });
        expect(repeated.headers).toMatchObject({ 'idempotent-replayed': 'true', location: location(first) });
        expect(await newest()).toBe(`[${after.body}]`);
      });

      it('is rejected with 422 if the payload differs, and nothing is created', async () => {
        const first = await service.add(newPetJson(), key('reused'));
        expectError(await service.add(newPetJson({ name: '"Max"' }), key('reused')), 'idempotency_key_reused');
        expect(await newest()).toBe(`[${first.body}]`);
      });

      it('is another one for another API key, and in another case', async () => {
        const { text } = await service.app.get(ApiKeyService).create('another');
        const created = [
          await service.add(newPetJson(), key('Scope')),
          await service.add(newPetJson({ name: '"Max"' }), { ...key('Scope'), Authorization: `Bearer ${text}` }),
          await service.add(newPetJson({ name: '"Luna"' }), key('scope')),
        ];
        expect(created.map(({ status }) => status)).toEqual([201, 201, 201]);
        expect(new Set(created.map(idOf)).size).toBe(3);
      });

      it('creates one pet for many requests at the same time, and returns it to all of them', async () => {
        const responses = await Promise.all(
          Array.from({ length: 30 }, () => service.add(newPetJson({ name: '"Twin"' }), key('at-once'))),
        );
        expect(new Set(responses.map(({ status, body }) => `${status} ${body}`)).size).toBe(1);
        expect(responses.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
        const listed = pets(await service.send('/v1/pets?limit=30'));
        expect(listed.filter(({ name }) => name === 'Twin')).toHaveLength(1);
      });

      it('may be used again after a rejected body', async () => {
        expect((await service.add('{}', key('rejected'))).status).toBe(400);
        expect((await service.add(newPetJson(), key('rejected'))).status).toBe(201);
      });
    });
  });
}

/** What holds for several instances on one database, and after a restart. */
export function describeSeveralInstances(kind: StoreKind): void {
  describe(`instances that share ${kind.name}`, () => {
    let store: TestStore;
    let services: Service[];

    const start = async () => {
      const service = await Service.start({ DATABASE_URL: store.url, API_KEYS: KEY });
      services.push(service);
      return service;
    };

    beforeAll(async () => {
      store = await kind.create();
      services = [];
    });

    afterAll(async () => {
      for (const each of services) await each.stop();
      await store.remove();
    });

    it('return at once what another one created, and accept its cursors and Idempotency-Keys', async () => {
      const [one, two] = [await start(), await start()];
      for (let i = 0; i < 4; i++) {
        const created = await [one, two][i % 2]!.add(newPetJson({ name: `"Pet ${i}"` }), key(`key-${i}`));
        for (const reader of [one, two]) {
          expect((await reader.send('/v1/pets?limit=1')).body).toBe(`[${created.body}]`);
          expect((await reader.send(location(created))).body).toBe(created.body);
        }
      }
      const next = nextPage(await one.send('/v1/pets?limit=2')) as string;
      const page = await one.send(next);
      expect(pets(page).map(({ name }) => name)).toEqual(['Pet 1', 'Pet 0']);
      const restarted = await start();
      for (const other of [two, restarted]) {
        expect((await other.send(next)).body).toBe(page.body);
        const repeated = await other.add(newPetJson({ name: '"Pet 0"' }), key('key-0'));
        expect(repeated).toMatchObject({ status: 201, headers: { 'idempotent-replayed': 'true' } });
        expect(nextPage(await other.send('/v1/pets?limit=2'))).toBe(next);
      }
    });
  });
}

/** A request, or `next` for the page that the response before links to. */
type Step = 'next' | readonly [target: string, ask?: Ask];

const create = (body: string, headers: Record<string, string> = {}): Step => [
  '/v1/pets',
  { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body },
];

const valid = OPERATIONS.map(({ method, valid: { target, ...rest } }): Step => [target, { method, ...rest }]);

const STEPS: readonly Step[] = [
  // Before there is a pet and after it.
  ...valid,
  ...valid,
  ...FIELDS.flatMap(({ name, valid: values }) => values.map((value) => create(newPetJson({ [name]: value })))),
  ...['first', 'first', 'FIRST'].map((value) => create(newPetJson(), key(value))),
  create(newPetJson({ name: '"Other"' }), key('first')),
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

/** Every response, without what differs from run to run: date, request id and the text of cursors. */
async function transcript(kind: StoreKind): Promise<string[]> {
  const store = await kind.create();
  const service = await Service.start({ DATABASE_URL: store.url, API_KEYS: KEY });
  const lines: string[] = [];
  try {
    let response: Answer | undefined;
    for (const step of STEPS) {
      const [target, ask] = step === 'next' ? [nextPage(response as Answer) as string] : step;
      response = await service.send(target, ask);
      const headers = Object.entries(response.headers)
        .filter(([name]) => name !== 'date' && name !== 'x-request-id')
        .map(([name, value]) => `${name}: ${String(value).replace(/cursor=[^>&]+/, 'cursor=…')}`);
      lines.push(`${JSON.stringify(step)} -> ${response.status} ${response.body} ${headers.sort().join(' | ')}`);
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
