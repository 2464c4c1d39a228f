import { afterAll, describe, expect, it } from '@jest/globals';
import { type Pet, PetStore } from '../../client/petstore.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { Service } from '../support/service.js';
import { postgres } from '../support/stores.js';
import { MisbehavingProxy } from './misbehaving-proxy.js';

/** How many pets are created; 20,000 take four minutes. */
const CREATES = Number(process.env.CLIENT_CREATES ?? 1_000);

const SEED = Number(process.env.CLIENT_SEED ?? Date.now() % 2 ** 31);

/** How long a try may take, and how much longer some requests take, in milliseconds. */
const [TIMEOUT, LATE] = [500, 700];

describe(`the client behind a proxy that misbehaves, seed ${SEED}`, () => {
  const service = Service.forSuite({}, postgres);
  let proxy: MisbehavingProxy | undefined;

  afterAll(() => proxy?.close());

  it(
    'adds each pet once, reads each pet once, and loses nothing by a rotation of its key',
    async () => {
      proxy = await MisbehavingProxy.open(service.port, SEED, LATE);
      let key = Promise.resolve(service.key);
      const options = { timeout: TIMEOUT, retries: 30, apiKey: () => key };
      const client = new PetStore({ baseUrl: `http://127.0.0.1:${proxy.port}/v1`, ...options });

      const created = new Map<string, Pet>();
      const create = async (number: number) => {
        const categoryId = 2n ** 62n + BigInt(number);
        const pet = await client.createPet({ name: `Pet ${number}`, categoryId });
        expect(pet).toEqual({ id: pet.id, name: `Pet ${number}`, categoryId, status: 'available' });
        created.set(pet.name, pet);
      };
      const numbers = Array.from({ length: CREATES }, (_, number) => number).values();
      const creates = Array.from({ length: 8 }, async () => {
        for (const number of numbers) await create(number);
      });

      let isOver = false;
      const read = async () => {
        let walks = 0;
        while (!isOver) {
          const known = [...created.values()].map(({ id }) => id);
          const seen: bigint[] = [];
          for await (const { id } of client.listPets({ limit: 100 })) seen.push(id);
          const distinct = new Set(seen);
          expect(distinct.size).toBe(seen.length);
          expect(known.filter((id) => !distinct.has(id))).toEqual([]);
          walks += 1;
        }
        return walks;
      };
      const rotate = async () => {
        while (created.size < CREATES / 2) await new Promise((resolve) => setTimeout(resolve, 20));
        // The old key is invalid at once; whoever asks for the key gets the new one as soon as it exists.
        key = service.app
          .get(ApiKeyService)
          .rotate('test', 0)
          .then(({ text }) => text);
        await key;
      };
      const reads = Promise.all([read(), rotate()]);
      await Promise.all(creates).finally(() => (isOver = true));
      const [walks] = await reads;

      const direct = new PetStore({ baseUrl: `http://127.0.0.1:${service.port}/v1`, apiKey: await key });
      const stored: Pet[] = [];
      for await (const pet of direct.listPets({ limit: 100 })) stored.push(pet);
      expect(stored.length).toBe(CREATES);
      expect(new Map(stored.map((pet) => [pet.name, pet]))).toEqual(created);
      const faults = Object.values(proxy.counts);
      expect(faults.length).toBe(11);
      const total = faults.reduce((sum, count) => sum + count, 0);
      process.stdout.write(`seed ${SEED}: ${CREATES} creates, ${walks} walks, ${total} faults\n`);
    },
    CREATES * 150 + 20_000,
  );
});
