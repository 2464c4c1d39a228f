import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PetStore, PetStoreError } from '../../client/petstore.js';
import { INT64_MAX, INT64_MIN } from '../../src/domain/int64.js';
import { NAME_MAX_LENGTH, PET_STATUSES } from '../../src/domain/pets/pet.js';
import { textFault } from '../../src/domain/text.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { FIELDS } from '../support/fields.js';
import { Service } from '../support/service.js';

describe('the client and the service', () => {
  const service = Service.forSuite();
  const store = (apiKey = service.key) => new PetStore({ baseUrl: `http://127.0.0.1:${service.port}/v1`, apiKey });

  it('agree on every pet that the interface allows', async () => {
    const name = fc
      .string({ unit: 'binary', minLength: 1, maxLength: NAME_MAX_LENGTH })
      .filter((text) => textFault(text, NAME_MAX_LENGTH) === undefined);
    const status = fc.constantFrom(...PET_STATUSES);
    const pet = fc.record({ name, categoryId: fc.bigInt(INT64_MIN, INT64_MAX), status });
    const client = store();
    await fc.assert(
      fc.asyncProperty(pet, async (given) => {
        const created = await client.createPet(given);
        expect(created).toEqual({ ...given, id: expect.any(BigInt) });
        expect(await client.getPet(created.id)).toEqual(created);
        expect((await client.pages({ limit: 1 }).next()).value).toMatchObject({ pets: [created] });
        expect((await service.send(`/v1/pets/${created.id}`)).body).toBe(PetStore.stringify(created));
      }),
      { numRuns: 60 },
    );
  });

  it('have the same fields', async () => {
    expect(Object.keys(await store().createPet({ name: 'Bella', categoryId: 1 })).sort()).toEqual(
      ['id', ...FIELDS.map(({ name }) => name)].sort(),
    );
  });

  it('list every pet once, newest first', async () => {
    const client = store();
    const created: bigint[] = [];
    for (let i = 0; i < 25; i++)
      created.push((await client.createPet({ name: `Pet ${i}`, categoryId: i, status: 'sold' })).id);
    const listed: bigint[] = [];
    for await (const { id } of client.listPets({ status: 'sold', limit: 10 })) listed.push(id);
    expect(listed.slice(0, 25)).toEqual(created.reverse());
    expect(new Set(listed).size).toBe(listed.length);
  });

  it('add one pet for one idempotencyKey, however often it is sent', async () => {
    const client = store();
    const pet = { name: 'Bella', categoryId: 7n };
    const twins = Array.from({ length: 5 }, () => client.createPet(pet, { idempotencyKey: 'order-7' }));
    expect(new Set((await Promise.all(twins)).map(({ id }) => id)).size).toBe(1);
    const other = client.createPet({ ...pet, categoryId: 8n }, { idempotencyKey: 'order-7' });
    await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused', status: 422, tries: 1 });
  });

  it('agree on errors', async () => {
    const error: unknown = await store()
      .getPet(-1n)
      .catch((thrown: unknown) => thrown);
    expect(PetStoreError.is(error, 'pet_not_found')).toBe(true);
    expect((error as PetStoreError).requestId).toMatch(/^[\w-]{8,}$/);
    await expect(store('wrong').getPet(1)).rejects.toMatchObject({ code: 'api_key_invalid', status: 401 });
    await expect(store().createPet({ name: '', categoryId: 1 })).rejects.toMatchObject({ code: 'invalid_field' });
    await expect(store().pages({ limit: 101 }).next()).rejects.toMatchObject({ code: 'invalid_parameter' });
    const elsewhere = new PetStore({ baseUrl: `http://127.0.0.1:${service.port}/v2`, apiKey: service.key });
    await expect(elsewhere.getPet(1)).rejects.toMatchObject({ code: 'route_not_found', status: 404 });
  });

  it('are not led elsewhere by a redirect', async () => {
    const target = `http://127.0.0.1:${service.port}/v1/pets`;
    const server = createServer((_request, response) => response.writeHead(302, { Location: target }).end());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const client = new PetStore({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: service.key });
    const error: unknown = await client
      .pages()
      .next()
      .catch((thrown: unknown) => thrown);
    server.closeAllConnections();
    server.close();
    expect(error).toMatchObject({ code: 'unexpected_response', status: 302, tries: 1 });
  });

  it('go on when a key is rotated', async () => {
    const keys = service.app.get(ApiKeyService);
    const { text } = await keys.create('rotated');
    let current = text;
    const client = new PetStore({ baseUrl: `http://127.0.0.1:${service.port}/v1`, apiKey: () => current });
    const first = await client.createPet({ name: 'Bella', categoryId: 1 }, { idempotencyKey: 'across' });
    const rotated = await keys.rotate('rotated', 0);
    // Read when the call begins, it is the old one, as if the file of the key was late.
    const late = [text, rotated.text];
    const waiting = new PetStore({ baseUrl: `http://127.0.0.1:${service.port}/v1`, apiKey: () => late.shift() });
    expect(await waiting.createPet({ name: 'Bella', categoryId: 1 }, { idempotencyKey: 'across' })).toEqual(first);
    current = rotated.text;
    expect(await client.getPet(first.id)).toEqual(first);
  });
});
