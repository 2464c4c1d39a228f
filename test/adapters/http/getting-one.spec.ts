import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiKeyService } from '../../../src/application/keys/api-key.service.js';
import { Connection, WireAnswer } from '../../support/connection.js';
import { expectError } from '../../support/error-body.js';
import { Service } from '../../support/service.js';
import { shortened } from '../../support/shortened.js';
import { storeKinds, TestStore } from '../../support/stores.js';

const SIGNALS = {
  Deprecation: '@1795132800',
  Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  Link: '</docs>; rel="deprecation"; type="text/html", </v1/pets>; rel="successor-version"',
};

const MALFORMED = [
  'abc',
  '1.5',
  '1.0',
  '1e0',
  '01',
  '+1',
  '%2B1',
  '-0',
  '--1',
  '%201',
  '1%20',
  '1%0A',
  '1%00',
  '0x1',
  '1,2',
  '1;a=b',
  '1%2F',
  '%2F1',
  '٣',
  'null',
  '__proto__',
  '..%2F1',
  '%ff',
  '%zz',
  '%',
  '%E0%A4',
  "1'%20OR%20'1'='1",
  '9'.repeat(10_000),
].map((petId) => (petId === '٣' ? encodeURIComponent(petId) : petId));

const NO_PETS = [
  '0',
  '-1',
  '2',
  '9223372036854775807',
  '-9223372036854775808',
  '9223372036854775808',
  '-9223372036854775809',
  '18446744073709551617',
];

/** Requests for the route and the status of their answers. */
const ANSWERS: readonly (readonly [what: string, status: number, request: (key: string) => string])[] = [
  ['200', 200, (key) => `GET /v1/pets/1 HTTP/1.1\r\nAuthorization: Bearer ${key}`],
  ['200 to HEAD', 200, (key) => `HEAD /v1/pets/1 HTTP/1.1\r\nAuthorization: Bearer ${key}`],
  ['200 by an escaped id', 200, (key) => `GET /v1/pets/%31 HTTP/1.1\r\nAuthorization: Bearer ${key}`],
  ['200 by an absolute target', 200, (key) => `GET http://x/v1/pets/1 HTTP/1.1\r\nAuthorization: Bearer ${key}`],
  ['204 to OPTIONS', 204, (key) => `OPTIONS /v1/pets/1 HTTP/1.1\r\nAuthorization: Bearer ${key}`],
  ['400 for a parameter', 400, (key) => `GET /v1/pets/1?a=b HTTP/1.1\r\nAuthorization: Bearer ${key}`],
  ['401 without a key', 401, () => 'GET /v1/pets/1 HTTP/1.1'],
  ['401 with a bad key', 401, () => 'GET /v1/pets/1 HTTP/1.1\r\nAuthorization: Bearer nobody'],
  ['401 to HEAD', 401, () => 'HEAD /v1/pets/1 HTTP/1.1'],
  ['401 to another method', 401, () => 'DELETE /v1/pets/1 HTTP/1.1'],
  ['401 for a malformed id', 401, () => 'GET /v1/pets/abc HTTP/1.1'],
  ['401 for an escape that is none', 401, () => 'GET /v1/pets/%zz HTTP/1.1'],
  ['401 for an escape of no UTF-8', 401, () => 'GET /v1/pets/%ff HTTP/1.1'],
  ['404 for no pet', 404, (key) => `GET /v1/pets/999 HTTP/1.1\r\nAuthorization: Bearer ${key}`],
  ['404 for a malformed id', 404, (key) => `GET /v1/pets/abc HTTP/1.1\r\nAuthorization: Bearer ${key}`],
  ['404 for an escape of no UTF-8', 404, (key) => `GET /v1/pets/%ff HTTP/1.1\r\nAuthorization: Bearer ${key}`],
  ['405', 405, (key) => `DELETE /v1/pets/1 HTTP/1.1\r\nAuthorization: Bearer ${key}`],
  ['406', 406, (key) => `GET /v1/pets/1 HTTP/1.1\r\nAccept: text/html\r\nAuthorization: Bearer ${key}`],
];

/** Requests for anything else. */
const OTHERS: readonly (readonly [what: string, request: string])[] = [
  ['listPets', 'GET /v1/pets HTTP/1.1'],
  ['listPets with an error', 'GET /v1/pets?limit=0 HTTP/1.1'],
  ['createPet', 'POST /v1/pets HTTP/1.1'],
  ['an empty id', 'GET /v1/pets/ HTTP/1.1'],
  ['a deeper path', 'GET /v1/pets/1/owner HTTP/1.1'],
  ['another resource', 'GET /v1/owners/1 HTTP/1.1'],
  ['the docs', 'GET /docs HTTP/1.1'],
];

function signalsOf(answer: WireAnswer): Record<string, string | undefined> {
  return Object.fromEntries(Object.keys(SIGNALS).map((name) => [name, answer.header(name)]));
}

describe.each(storeKinds)('getting one on $name', (kind) => {
  let store: TestStore;
  let service: Service;

  beforeAll(async () => {
    store = await kind.create();
    service = await Service.start({ DATABASE_URL: store.url });
    await service.add('{"name":"Bella","categoryId":1}');
  });

  afterAll(async () => {
    await service.stop();
    await store.remove();
  });

  it.each(MALFORMED.map((petId) => [shortened(petId), petId]))(
    'answers the malformed petId %s with 404, never 400',
    async (_short, petId) => {
      const { message } = expectError(await service.send(`/v1/pets/${petId}`), 'pet_not_found');
      expect(message).toBe('No pet has this id; GET /v1/pets lists those there are.');
    },
  );

  it.each(NO_PETS)('answers the petId %s, which no pet has, with 404', async (petId) => {
    expectError(await service.send(`/v1/pets/${petId}`), 'pet_not_found');
  });

  it.each(ANSWERS)('gives the deprecation signals on an answer of %s', async (_what, status, request) => {
    const answer = await Connection.ask(service.port, `${request(service.key)}\r\nHost: x\r\n\r\n`);
    expect(answer.status).toBe(status);
    expect(signalsOf(answer)).toEqual(SIGNALS);
  });

  it.each(OTHERS)('gives none of them on an answer to %s', async (_what, request) => {
    for (const key of ['', `Authorization: Bearer ${service.key}\r\n`]) {
      const answer = await Connection.ask(service.port, `${request}\r\n${key}Host: x\r\n\r\n`);
      expect(signalsOf(answer)).toEqual({});
    }
  });

  it('counts who still calls it, by key, and when last', async () => {
    const keys = service.app.get(ApiKeyService);
    const shop = await keys.create('shop');
    const headers = { Authorization: `Bearer ${shop.text}` };
    const began = Date.now();
    for (const path of ['/v1/pets/1', '/v1/pets/999', '/v1/pets/abc', '/v1/pets', '/v1/pets/1?a=b']) {
      await service.send(path, { key: false, headers });
    }
    await service.send('/v1/pets/1', { method: 'HEAD', key: false, headers });
    await service.send('/v1/pets/1', { method: 'OPTIONS', key: false, headers });
    await service.send('/v1/pets/1', { key: false });
    await keys.recordUses();
    const use = (await keys.uses()).find(({ digest }) => digest === shop.key.digest);
    expect(use).toMatchObject({ name: 'shop', getPetCalls: 5 });
    expect(use?.lastGetPetAt?.getTime()).toBeGreaterThanOrEqual(began - 1);
    expect(use?.lastGetPetAt?.getTime()).toBeLessThanOrEqual(Date.now());
  });
});
