import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KEY_RANDOM_LENGTH, keyText } from '../../src/domain/keys/api-key.js';
import { Connection } from '../support/connection.js';
import { lastingKinds, TestStore } from '../support/stores.js';
import { bytes, get, ServiceUnderAttack } from './under-attack.js';

const LIMIT = 5;

const WORKERS = [1, 2];

describe.each(lastingKinds.flatMap((kind) => WORKERS.map((workers) => ({ name: kind.name, kind, workers }))))(
  'on $name, of $workers process(es), with AUTH_FAILURE_LIMIT=5',
  ({ kind, workers }) => {
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

    /** Asks with a key that has the form of an issued one, so that only the store can tell that there is none. */
    const guess = () => listWith(keyText(String(++guesses).padStart(KEY_RANDOM_LENGTH, '0')));

    it('five of 500 guesses in one write are looked at: no right one behind them is told from a wrong one', async () => {
      const right = await service.newKey();
      const connection = await service.open();
      connection.write(bytes(Array.from({ length: 499 }, guess).join('') + listWith(right) + get('/v1/pets')));
      const statuses: number[] = [];
      for (let i = 0; i < 500; i++) statuses.push((await connection.answer()).status);
      expect(statuses.filter((status) => status === 401).length).toBe(LIMIT);
      expect(statuses.at(-1)).toBe(429);
      // Whoever is at work behind the same address goes on.
      expect((await connection.answer()).status).toBe(200);
      connection.destroy();
    });

    it('five of 200 guesses on as many connections are told apart, by however many processes', async () => {
      const connections = await Promise.all(Array.from({ length: 200 }, () => Connection.open(service.port)));
      for (const connection of connections) connection.write(bytes(guess()));
      const answers = await Promise.all(connections.map((connection) => connection.answer()));
      expect(answers.filter(({ status }) => status === 401).length).toBe(LIMIT);
      for (const connection of connections) connection.destroy();
    });
  },
);
