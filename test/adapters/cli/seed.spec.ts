import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Actions } from '../../../src/adapters/cli/actions.js';
import { program } from '../../../src/adapters/cli/program.js';
import { PetService } from '../../../src/application/pets/pet.service.js';
import { NAME_MAX_LENGTH } from '../../../src/domain/pets/pet.js';
import { textFault } from '../../../src/domain/text.js';
import { Pet } from '../../../src/domain/pets/pet.js';
import { Service } from '../../support/service.js';
import { lastingKinds, TestStore } from '../../support/stores.js';

describe.each(lastingKinds)('petstore seed on $name', (kind) => {
  let store: TestStore;
  let service: Service;
  let pets: PetService;

  beforeAll(async () => {
    store = await kind.create();
    service = await Service.start({ DATABASE_URL: store.url });
    pets = service.app.get(PetService);
  });

  afterAll(async () => {
    await service.stop();
    await store.remove();
  });

  /** Runs the command and returns what it printed, and what it drew on a terminal. */
  async function seed(args: string, isTTY = false): Promise<{ printed: string[]; drawn: string }> {
    const printed: string[] = [];
    let drawn = '';
    const actions = { withPets: (use: (pets: PetService) => Promise<unknown>) => use(pets) } as Actions;
    const terminal = { isTTY, write: (text: string) => (drawn += text) };
    const petstore = program(actions, (line) => printed.push(line), {
      version: '',
      settings: [],
      terminal,
      hasColours: false,
    });
    for (const command of [petstore, ...petstore.commands]) {
      command.exitOverride().configureOutput({ writeErr: () => undefined });
    }
    await petstore.parseAsync(['seed', ...args.split(' ')], { from: 'user' });
    return { printed, drawn };
  }

  async function newest(limit: number): Promise<Omit<Pet, 'id'>[]> {
    const page = await pets.list({ limit });
    return page.pets.map(({ name, categoryId, status }) => ({ name, categoryId, status }));
  }

  it('adds as many pets as it is asked for, in more than one batch', async () => {
    const { printed, drawn } = await seed('--count 600');
    expect(printed).toEqual(['Added 600 animals.']);
    expect(drawn).toBe('');
    expect((await pets.list({ limit: 1 })).pets[0]?.id).toBe(600n);
  });

  it('adds pets that a client could have added, of each status', async () => {
    const found = await newest(100);
    expect(found.filter(({ name }) => textFault(name, NAME_MAX_LENGTH) !== undefined)).toEqual([]);
    expect(new Set(found.map(({ status }) => status))).toEqual(new Set(['available', 'pending', 'sold']));
    expect(new Set(found.map(({ name }) => name)).size).toBeGreaterThan(20);
  });

  it('adds the same pets for the same seed, and others for another', async () => {
    await seed('--count 50 --seed 7');
    const seven = await newest(50);
    await seed('--count 50 --seed 8');
    const eight = await newest(50);
    await seed('--count 50 --seed 7');
    expect(await newest(50)).toEqual(seven);
    expect(eight).not.toEqual(seven);
  });

  it('draws its progress on a terminal', async () => {
    const { printed, drawn } = await seed('--count 512', true);
    expect(printed).toEqual(['Added 512 animals.']);
    const line = (bar: string, percent: number) => `\r\x1b[K${bar} ${percent} % pets added`;
    expect(drawn).toBe(`${line('#'.repeat(15) + '.'.repeat(15), 50)}${line('#'.repeat(30), 100)}\n`);
  });

  it.each(['--count 0', '--count 1.5', '--count x', '--count 10000001', '--count 1 --seed -1', '--seed 1'])(
    'refuses %s',
    async (args) => {
      const before = await newest(1);
      await expect(seed(args)).rejects.toThrow(
        /It must be an integer from|required option '--count <n>' not specified/,
      );
      expect(await newest(1)).toEqual(before);
    },
  );
});
