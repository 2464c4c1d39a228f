import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KEY_RANDOM_LENGTH, keyText } from '../../src/domain/keys/api-key.js';
import { postgres, sqlite, TestStore } from '../support/stores.js';
import { bytes, get, ServiceUnderAttack } from './service-under-attack.js';

const LIMIT = 5;

describe.each([
  { name: 'SQLite', kind: sqlite, workers: 1 },
  { name: 'PostgreSQL', kind: postgres, workers: 2 },
])('guesses of keys on $name, with $workers process(es) and AUTH_FAILURE_LIMIT=5', ({ kind, workers }) => {
  let store: TestStore;
  let service: ServiceUnderAttack;
  let guesses = 0;

  beforeEach(async () => {
    store = await kind.create();
    service = await ServiceUnderAttack.start(workers, { DATABASE_URL: store.url, AUTH_FAILURE_LIMIT: String(LIMIT) });
  });

  afterEach(async () => {
    await service.remove();
    await store.remove();
  });

  const listWith = (key: string) => get('/v1/pets').replace('KEY', `Authorization: Bearer ${key}`);

  /** A list with a key of the right form, so that only the database can tell that it does not exist. */
  const guess = () => listWith(keyText(String(++guesses).padStart(KEY_RANDOM_LENGTH, '0')));

  it('are 429 beyond the limit, like a valid key that the address has not used before', async () => {
    const valid = await service.newKey();
    const connection = await service.open(
      Array.from({ length: 99 }, guess).join('') + listWith(valid) + get('/v1/pets').repeat(2),
    );
    const statuses: number[] = [];
    for (let i = 0; i < 102; i++) statuses.push((await connection.answer()).status);
    expect(statuses.filter((status) => status === 401).length).toBe(LIMIT);
    expect(statuses[99]).toBe(429);
    // Who works behind the same address goes on.
    expect(statuses.at(-1)).toBe(200);
    connection.destroy();
  });

  it('are counted together, on however many connections and by however many processes', async () => {
    const connections = await Promise.all(Array.from({ length: 200 }, () => service.open()));
    for (const connection of connections) connection.write(bytes(guess()));
    const responses = await Promise.all(connections.map((connection) => connection.answer()));
    expect(responses.filter(({ status }) => status === 401).length).toBe(LIMIT);
    for (const connection of connections) connection.destroy();
  });
});
