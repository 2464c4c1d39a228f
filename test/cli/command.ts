import { type Command, CommanderError } from 'commander';
import type { Actions } from '../../src/adapters/cli/actions.js';
import { commandLine } from '../../src/adapters/cli/command-line.js';
import { program } from '../../src/adapters/cli/program.js';
import { NodeSecrets } from '../../src/adapters/crypto/node-secrets.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { Cursors } from '../../src/application/pets/cursors.js';
import { PetService } from '../../src/application/pets/pet.service.js';
import type { Store } from '../../src/open-store.js';
import { SETTINGS } from '../../src/settings.js';
import type { Outcome } from '../support/working-folder.js';

/** The `petstore` command on an open database, without a process of its own. `npm run test:integration` runs the real one. */
export class PetstoreCommand {
  readonly keys: ApiKeyService;
  private readonly pets: PetService;

  constructor(
    readonly store: Store,
    now?: () => number,
  ) {
    const secrets = new NodeSecrets();
    this.keys = new ApiKeyService(store.keys, secrets, [], now);
    this.pets = new PetService(store.pets, new Cursors(store.installation, secrets), secrets);
  }

  /** Runs a command line, its arguments separated by one space each. */
  async run(line: string): Promise<Outcome> {
    let [out, err] = ['', ''];
    const actions = {
      withKeys: (use: (keys: ApiKeyService) => Promise<unknown>) => use(this.keys),
      withPets: (use: (pets: PetService) => Promise<unknown>) => use(this.pets),
    } as Actions;
    const terminal = { isTTY: false, write: () => undefined };
    const surroundings = { version: '1.2.3', settings: SETTINGS, terminal, hasColours: false };
    const petstore = program(actions, (text) => (out += `${text}\n`), surroundings);
    const capture = (command: Command): void => {
      command.configureOutput({ writeOut: (text) => (out += text), writeErr: (text) => (err += text) });
      command.commands.forEach(capture);
    };
    capture(petstore);
    try {
      await petstore.parseAsync(commandLine(line.split(' ')), { from: 'user' });
      return { code: 0, out, err };
    } catch (error) {
      if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, out, err };
      return { code: 1, out, err: `${err}${(error as Error).message}\n` };
    }
  }
}
