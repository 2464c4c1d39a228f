import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Libsql from 'libsql';
import { newPetJson, petJson } from '../support/fields.js';
import { Service } from '../support/service.js';
import { memory, sqlite } from '../support/stores.js';
import { pets } from './requests.js';

// Responses may come from a cache or from the database: these tests send each request several times, and expect no difference.

describe.each([memory, sqlite])('responses on $name', (kind) => {
  const service = Service.forSuite({}, kind);

  beforeAll(async () => {
    for (const name of ['pet', 'pét', '犬 🐶']) await service.add(newPetJson({ name: JSON.stringify(name) }));
  });

  it.each(['/v1/pets?limit=2', '/v1/pets/1', '/v1/pets/2', '/v1/pets/3'])(
    'repeat the body and headers of %s, with a request id each',
    async (target) => {
      const responses = [];
      for (const method of ['GET', 'GET', 'GET', 'HEAD', 'GET']) {
        const { headers, body } = await service.send(target, { method });
        const repeated = { ...headers, date: undefined, 'x-request-id': undefined };
        responses.push({ id: headers['x-request-id'], repeated, body: method === 'HEAD' ? undefined : body });
      }
      const [first] = responses;
      expect(new Set(responses.map(({ id }) => id)).size).toBe(5);
      for (const { repeated, body } of responses) {
        expect(repeated).toEqual(first?.repeated);
        expect(body ?? first?.body).toBe(first?.body);
      }
    },
  );

  it('are checked each time: 401 without an API key, 406 if JSON is not acceptable', async () => {
    for (const target of ['/v1/pets', '/v1/pets/1']) {
      for (let i = 0; i < 3; i++) expect((await service.send(target)).status).toBe(200);
      expect((await service.send(target, { key: false })).status).toBe(401);
      expect((await service.send(target, { headers: { Accept: 'text/html' } })).status).toBe(406);
    }
  });

  it('show every pet that was created before the request, also while others are created', async () => {
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let i = 0; i < 6; i++) {
          const target = (await service.add(newPetJson({ status: '"sold"' }))).headers.location as string;
          const id = Number(/\d+$/.exec(target)?.[0]);
          for (const query of ['limit=100', 'limit=100&status=sold'])
            expect(pets(await service.send(`/v1/pets?${query}`)).map((pet) => pet.id)).toContain(id);
          expect((await service.send(target)).body).toBe(petJson(id, { status: '"sold"' }));
        }
      }),
    );
  });
});

describe('responses on SQLite while another process writes to the file', () => {
  const service = Service.forSuite({}, sqlite);
  let other: Libsql.Database;

  beforeAll(async () => {
    other = new Libsql(service.url.slice('sqlite:'.length));
    await service.add(newPetJson());
  });

  afterAll(() => void other.close());

  it('show at once what it has updated and deleted', async () => {
    const targets = ['/v1/pets', '/v1/pets?status=available', '/v1/pets/1'];
    for (const name of ['Bello', 'Rex', 'Max']) {
      for (let i = 0; i < 3; i++) for (const target of targets) await service.send(target);
      other.prepare('UPDATE pet SET name = ?').run(name);
      for (let i = 0; i < 3; i++)
        for (const target of targets) expect((await service.send(target)).body).toContain(`"name":"${name}"`);
    }
    other.exec('DELETE FROM pet');
    expect((await service.send('/v1/pets')).body).toBe('[]');
    expect((await service.send('/v1/pets/1')).status).toBe(404);
  });
});
