import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Service } from '../../support/service.js';
import { storeKinds, TestStore } from '../../support/stores.js';

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
});
