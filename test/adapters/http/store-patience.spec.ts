import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiKeyRepository } from '../../../src/application/keys/api-key-repository.port.js';
import { ApiKeyService } from '../../../src/application/keys/api-key.service.js';
import { PetRepository } from '../../../src/application/pets/pet-repository.port.js';
import { Service } from '../../support/service.js';

/** How long each answer of the store takes, in milliseconds: less than a request may wait, and more than half of it. */
const SLOW = 250;

/** Has every method that answers with a promise answer late, or the named ones alone. */
function slow(target: object, names = Object.getOwnPropertyNames(Object.getPrototypeOf(target))): void {
  for (const name of names) {
    const ask = Reflect.get(target, name) as (...args: unknown[]) => unknown;
    Reflect.set(target, name, (...args: unknown[]) => {
      const answer = ask.apply(target, args);
      return answer instanceof Promise ? sleep(SLOW).then(() => answer as unknown) : answer;
    });
  }
}

describe('a request whose key and whose question are both answered slowly', () => {
  let service: Service;

  beforeEach(async () => {
    service = await Service.start({ POOL_TIMEOUT: '200', STATEMENT_TIMEOUT: '200' });
    slow(service.app.get(ApiKeyRepository), ['find']);
    slow(service.app.get(PetRepository));
  });

  afterEach(() => service.stop());

  it.each([
    ['a list', () => service.send('/v1/pets'), 200],
    ['a pet', () => service.send('/v1/pets/1'), 404],
    ['a new pet', () => service.add({ name: 'Bella', categoryId: 1 }), 201],
  ])('is answered by 503 for %s once it has waited for both limits, and well if the key is known', async (...row) => {
    const [, ask, status] = row;
    expect((await ask()).status).toBe(503);
    expect((await ask()).status).toBe(status);
  });

  it('is answered by 503 whichever operation of the document it asks for', async () => {
    const { paths } = JSON.parse(service.contract().json) as { paths: Record<string, Record<string, object>> };
    for (const [path, methods] of Object.entries(paths))
      for (const [method, operation] of Object.entries(methods)) {
        // One that is not known yet, so that the check of it is slow too.
        const { text } = await service.app.get(ApiKeyService).create(`for ${method} ${path}`);
        const sent = 'requestBody' in operation ? { body: '{"name":"Bella","categoryId":1}' } : {};
        const headers = {
          Authorization: `Bearer ${text}`,
          ...('body' in sent && { 'Content-Type': 'application/json' }),
        };
        const target = `/v1${path.replace(/\{\w+\}/, '1')}`;
        const answer = await service.send(target, { method: method.toUpperCase(), headers, ...sent });
        expect([method, path, answer.status]).toEqual([method, path, 503]);
      }
  });
});
