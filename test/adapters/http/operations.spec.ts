import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectError } from '../../support/error-body.js';
import { Service } from '../../support/service.js';
import { storeKinds, TestStore } from '../../support/stores.js';

/** Ids of no pet, which are asked for as a petId: of no int64, and of no integer too. */
const NO_IDS = ['0', '-1', '9223372036854775807', '9223372036854775808', '-9223372036854775809', '1e0', 'abc', '%ff'];

describe.each(storeKinds)('the three operations on $name', (kind) => {
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

  it('adds a pet and answers 201 with the assigned id', async () => {
    const answer = await service.add({ name: 'Bella', categoryId: 42, status: 'pending' });
    expect(answer.status).toBe(201);
    expect(answer.body).toBe('{"id":1,"name":"Bella","categoryId":42,"status":"pending"}');
    expect(answer.headers.location).toBe('/v1/pets/1');
  });

  it('keeps an int64 exact from the text of the request to the text of the answer', async () => {
    for (const value of ['9223372036854775807', '-9223372036854775808', '9007199254740993', '0']) {
      const answer = await service.add(`{"name":"Int","categoryId":${value}}`);
      expect(answer.body).toContain(`"categoryId":${value},`);
      const { id } = JSON.parse(answer.body) as { id: number };
      expect((await service.send(`/v1/pets/${id}`)).body).toBe(answer.body);
      expect((await service.send('/v1/pets?limit=1')).body).toBe(`[${answer.body}]`);
    }
  });

  it('answers 404 to every operation on one pet, if the path has the id of none', async () => {
    const { paths } = JSON.parse(service.contract().json) as { paths: Record<string, object> };
    const onOne = Object.entries(paths).filter(([path]) => path.includes('{petId}'));
    expect(onOne).not.toEqual([]);
    for (const [path, methods] of onOne)
      for (const method of Object.keys(methods))
        for (const id of NO_IDS) {
          const answer = await service.send(`/v1${path.replace('{petId}', id)}`, { method: method.toUpperCase() });
          expectError(answer, 'pet_not_found');
        }
  });

  it('refuses a query parameter that an operation does not document, whichever it is', async () => {
    const { paths } = JSON.parse(service.contract().json) as { paths: Record<string, object> };
    for (const [path, methods] of Object.entries(paths))
      for (const method of Object.keys(methods)) {
        const target = `/v1${path.replace(/\{\w+\}/, '1')}?nothing=1`;
        expectError(await service.send(target, { method: method.toUpperCase() }), 'unknown_parameter');
      }
  });
});
