import { afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { buildProgram } from './support/program.js';
import { describeOnServers } from './support/on-servers.js';
import { TestStore } from './support/stores.js';

const KEY = 'key-of-the-instances-test';

/** Within what time a revoked key must be refused by every instance. */
const REVOCATION = 5_000;

interface Pet {
  readonly id: number;
  readonly name: string;
}

describeOnServers('two processes on one $name', (kind) => {
  let program: string;
  let store: TestStore;
  let processes: ChildProcess[] = [];
  let [one, other] = ['', ''];

  beforeAll(() => {
    program = buildProgram();
  });

  beforeEach(async () => {
    store = await kind.create();
    // At once, on a database without a schema.
    [one, other] = await Promise.all([start(), start()]);
  });

  afterEach(async () => {
    for (const each of processes) {
      each.kill('SIGKILL');
      if (each.exitCode === null && each.signalCode === null) await once(each, 'exit');
    }
    processes = [];
    await store.remove();
  });

  const environment = () => ({
    ...process.env,
    PORT: '0',
    NODE_ENV: 'production',
    DATABASE_URL: store.url,
    API_KEYS: KEY,
  });

  /** Starts one more, and resolves to its address. */
  const start = (): Promise<string> => {
    const service = spawn(process.execPath, [`${program}/src/main.js`], {
      env: environment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    processes.push(service);
    return new Promise((resolve, reject) => {
      let greeting = '';
      service.stdout.on('data', (chunk: Buffer) => {
        greeting += chunk.toString();
        const address = /http:\/\/127\.0\.0\.1:\d+(?=\/v1")/.exec(greeting)?.[0];
        if (address !== undefined) resolve(address);
      });
      service.once('exit', () => reject(new Error(`The service did not start: ${greeting}`)));
    });
  };

  const ask = (url: string, init: RequestInit = {}, key = KEY): Promise<Response> =>
    fetch(url, { ...init, headers: { Authorization: `Bearer ${key}`, ...init.headers } });

  const add = async (instance: string, name: string): Promise<Pet> => {
    const headers = { 'Content-Type': 'application/json' };
    const answer = await ask(`${instance}/v1/pets`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ name, categoryId: 1 }),
    });
    expect(answer.status).toBe(201);
    return (await answer.json()) as Pet;
  };

  /** All pets, the pages asked of the instances in turn. */
  const walk = async (): Promise<Pet[]> => {
    const found: Pet[] = [];
    let path: string | undefined = '/v1/pets?limit=50';
    for (let page = 0; path !== undefined; page++) {
      const answer: Response = await ask(`${page % 2 === 0 ? one : other}${path}`);
      expect(answer.status).toBe(200);
      found.push(...((await answer.json()) as Pet[]));
      path = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
    }
    return found;
  };

  it('give each pet an id of its own, the newest first, and take each other’s cursors, under load', async () => {
    const added: Pet[] = [];
    const writer = async (number: number) => {
      let last = 0;
      for (let i = 0; i < 20; i++) {
        const pet = await add(i % 2 === 0 ? one : other, `${number}-${i}`);
        // What one instance has acknowledged lies below what the other gives afterwards.
        expect(pet.id).toBeGreaterThan(last);
        last = pet.id;
        added.push(pet);
        const newest = (await (await ask(`${i % 2 === 0 ? other : one}/v1/pets?limit=100`)).json()) as Pet[];
        expect(newest.map(({ name }) => name)).toContain(pet.name);
      }
    };
    await Promise.all(Array.from({ length: 6 }, (_, number) => writer(number)));
    const walked = await walk();
    expect(walked.map(({ id }) => id)).toEqual(added.map(({ id }) => id).sort((a, b) => b - a));
    expect(new Set(walked.map(({ name }) => name)).size).toBe(120);
  });

  it('stop a revoked key within 5 seconds, each of them', async () => {
    const petstore = async (...args: string[]) =>
      (await promisify(execFile)(process.execPath, [`${program}/src/main.js`, ...args], { env: environment() })).stdout;
    const key = (await petstore('keys', 'create', '--name', 'shop', '--quiet')).trim();
    const statuses = () =>
      Promise.all([one, other].map(async (instance) => (await ask(`${instance}/v1/pets`, {}, key)).status));
    expect(await statuses()).toEqual([200, 200]);
    await petstore('keys', 'revoke', 'shop');
    const revoked = performance.now();
    while ((await statuses()).some((status) => status !== 401)) {
      expect(performance.now() - revoked).toBeLessThan(REVOCATION);
    }
  });
});
