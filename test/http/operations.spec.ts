import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectErrorBody } from '../support/error-body.js';
import { newPetJson } from '../support/fields.js';
import { OPERATIONS } from '../support/operations.js';
import { Service } from '../support/service.js';
import { sqlite } from '../support/stores.js';
import { describeSameResponses } from './operations.contract.js';
import { sendTo } from './requests.js';

describe.each(OPERATIONS)('$name', (operation) => {
  let service: Service;

  beforeAll(async () => {
    service = await Service.start();
    await service.add(newPetJson());
  });

  afterAll(() => service.stop());

  const readings = OPERATIONS.filter(({ method }) => method === 'GET').map(({ valid }) => valid.target);
  const stored = async () =>
    (await Promise.all(readings.map((target) => service.send(target)))).map(({ body }) => body);

  it('answers a valid request with $success', async () => {
    expect((await sendTo(service, operation, operation.valid)).status).toBe(operation.success);
  });

  it('rejects each invalid request with its code, and stores nothing', async () => {
    const before = await stored();
    for (const request of operation.invalid) {
      const { code } = expectErrorBody(await sendTo(service, operation, request));
      expect({ ...request, code }).toEqual(request);
    }
    expect(await stored()).toEqual(before);
  });
});

describeSameResponses(sqlite);
