import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { newPetJson } from '../support/fields.js';
import { buildProgram } from '../support/program.js';
import { mariadb, postgres, sqlite, TestStore } from '../support/stores.js';
import { RunningService, WorkingFolder } from '../support/working-folder.js';

const KEY = 'key-of-the-two-processes-test';

/** Within what time every instance must reject a revoked key, in milliseconds. */
const REVOCATION = 5_000;

interface Pet {
  readonly id: number;
  readonly name: string;
}

describe.each([sqlite, postgres, mariadb])('two processes on one $name database', (kind) => {
  let folder: WorkingFolder;
  let store: TestStore;
  let variables: Record<string, string>;
  let services: RunningService[];

  beforeEach(async () => {
    folder = new WorkingFolder(buildProgram());
    store = await kind.create('empty');
    variables = { NODE_ENV: 'production', DATABASE_URL: store.url, API_KEYS: KEY };
    // At once: one of them creates the schema.
    services = await Promise.all([folder.serve(variables), folder.serve(variables)]);
  });

  afterEach(async () => {
    await folder.remove();
    await store.remove();
  });

  /** The instances in turn. */
  const instance = (turn: number) => services[turn % 2]!;

  async function add(turn: number, name: string): Promise<Pet> {
    const response = await instance(turn).send(KEY, '/pets', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: newPetJson({ name: JSON.stringify(name) }),
    });
    expect(response.status).toBe(201);
    return (await response.json()) as Pet;
  }

  /** Every pet, each page requested of the other instance. */
  async function walk(): Promise<Pet[]> {
    const found: Pet[] = [];
    let path: string | undefined = '/pets?limit=25';
    for (let page = 0; path !== undefined; page++) {
      const response: Response = await instance(page).send(KEY, path);
      expect(response.status).toBe(200);
      found.push(...((await response.json()) as Pet[]));
      path = /<\/v1([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
    }
    return found;
  }

  it('assign increasing ids, show each other’s pets at once and accept each other’s cursors', async () => {
    const added: Pet[] = [];
    const client = async (number: number) => {
      let last = 0;
      for (let i = 0; i < 10; i++) {
        const pet = await add(i, `${number}-${i}`);
        expect(pet.id).toBeGreaterThan(last);
        last = pet.id;
        added.push(pet);
        const newest = (await (await instance(i + 1).send(KEY, '/pets?limit=100')).json()) as Pet[];
        expect(newest.map(({ name }) => name)).toContain(pet.name);
      }
    };
    await Promise.all(Array.from({ length: 6 }, (_, number) => client(number)));
    expect(await walk()).toEqual(added.toSorted((a, b) => b.id - a.id));
  });

  it('both reject a revoked key within five seconds', async () => {
    const petstore = async (...args: string[]) => (await folder.run(args, variables)).out;
    const key = (await petstore('keys', 'create', '--name', 'shop', '--quiet')).trim();
    const statuses = () => Promise.all(services.map(async (service) => (await service.send(key)).status));
    expect(await statuses()).toEqual([200, 200]);
    await petstore('keys', 'revoke', 'shop');
    const revoked = performance.now();
    while ((await statuses()).some((status) => status !== 401))
      expect(performance.now() - revoked).toBeLessThan(REVOCATION);
  });
});
