import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiKeyRepository } from '../../../src/application/keys/api-key-repository.port.js';
import { PetRepository } from '../../../src/application/pets/pet-repository.port.js';
import { Service } from '../../support/service.js';

/** How long each answer of the store takes, in milliseconds: less than a request may wait, and more than half of it. */
const SLOW = 250;

/** Has a method answer late. */
function slow<Name extends string>(name: Name, target: Record<Name, (...args: never[]) => Promise<unknown>>): void {
  const ask = target[name].bind(target);
  target[name] = async (...args) => {
    await sleep(SLOW);
    return ask(...args);
  };
}

describe('a request whose key and whose question are both answered slowly', () => {
  let service: Service;

  beforeEach(async () => {
    service = await Service.start({ POOL_TIMEOUT: '200', STATEMENT_TIMEOUT: '200' });
    slow('find', service.app.get(ApiKeyRepository));
    for (const name of ['add', 'find', 'list'] as const) slow(name, service.app.get(PetRepository));
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
});
