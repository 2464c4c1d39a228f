import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Store } from '../../../../../src/open-store.js';
import { IdempotencyKey } from '../../../../../src/application/pets/pet-repository.port.js';
import { NewPet } from '../../../../../src/domain/pets/pet.js';
import { Proxy } from '../../../../support/proxy.js';
import { describeOnServers } from '../../../../support/on-servers.js';
import { query as say, withParameter } from '../../../../support/sql.js';
import { openStoreAt, TestStore } from '../../../../support/stores.js';

const BELLA: NewPet = { name: 'Bella', categoryId: 1n, status: 'available' };

let keys = 0;
const key = (): IdempotencyKey => ({
  scope: 'scope',
  key: `key-${++keys}`,
  fingerprint: 'f'.repeat(64),
  at: new Date(),
});

const OPERATIONS: readonly (readonly [what: string, ask: (store: Store) => Promise<unknown>])[] = [
  ['the first page', ({ pets }) => pets.list({ limit: 20 })],
  ['a page further down', ({ pets }) => pets.list({ limit: 20, before: 2n })],
  ['the first page of a status', ({ pets }) => pets.list({ limit: 20, status: 'sold' })],
  ['a page of a status further down', ({ pets }) => pets.list({ limit: 20, status: 'sold', before: 2n })],
  ['one pet', ({ pets }) => pets.find(1n)],
  ['a new pet', ({ pets }) => pets.add(BELLA)],
  ['several new pets at a time', ({ pets }) => Promise.all([pets.add(BELLA), pets.add(BELLA), pets.add(BELLA)])],
  ['a new pet with an idempotency key', ({ pets }) => pets.add(BELLA, key())],
];

describeOnServers(
  '$name',
  (kind) => {
    let kept: TestStore;
    let proxy: Proxy;
    let store: Store;

    beforeAll(async () => {
      kept = await kind.create();
      let url: string;
      [proxy, url] = await Proxy.to(kept.url);
      store = await openStoreAt(withParameter(url, 'pool', 1));
    });

    afterAll(async () => {
      await store.close();
      await proxy.close();
      await kept.remove();
    });

    it.each(OPERATIONS)('is asked once for %s, by a statement that it has prepared', async (_what, ask) => {
      await ask(store);
      proxy.sent();
      await ask(store);
      // Bind, Describe, Execute and Sync (https://www.postgresql.org/docs/current/protocol-message-formats.html); a Parse would begin with P.
      expect(messages(proxy.sent())).toEqual(['B', 'D', 'E', 'S']);
    });

    it('is not asked again for what it stored, if a trigger has dropped some of it', async () => {
      await say(
        kept.url,
        `CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           IF NEW.name = 'dropped' THEN RETURN NULL; END IF; RETURN NEW;
         END $$`,
      );
      await say(kept.url, 'CREATE TRIGGER drops BEFORE INSERT ON pet FOR EACH ROW EXECUTE FUNCTION drops()');
      const names = ['a', 'b', 'dropped', 'c', 'd'];
      const outcomes = await Promise.allSettled(names.map((name) => store.pets.add({ ...BELLA, name })));
      for (const outcome of outcomes)
        expect(String((outcome as PromiseRejectedResult).reason)).toMatch(/4 of 5 pets were stored: .* trigger/);
      const stored = (await store.pets.list({ limit: 100 })).map(({ name }) => name).filter((name) => name !== 'Bella');
      expect(stored).toEqual(['d', 'c', 'b', 'a']);
    });
  },
  'PostgreSQL',
);

/** The types of the messages that a client has sent, in turn. */
function messages(bytes: Buffer): string[] {
  const types: string[] = [];
  for (let at = 0; at < bytes.length; at += 1 + bytes.readInt32BE(at + 1))
    types.push(String.fromCharCode(bytes[at] ?? 0));
  return types;
}
