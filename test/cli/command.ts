import { type Command, CommanderError } from 'commander';
import type { CommandContext, Services } from '../../src/adapters/cli/command-context.js';
import { program } from '../../src/adapters/cli/program.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { PetService } from '../../src/application/pets/pet.service.js';
import { databaseUrl, persistent } from '../../src/settings/database-url.js';
import type { OpenDatabase } from '../../src/adapters/persistence/persistence.module.js';
import type { Outcome } from '../support/working-folder.js';

/** The `petstore` command on an open database, without a process of its own. `npm run test:integration` runs the real one. */
export class PetstoreCommand {
  readonly keys: ApiKeyService;
  readonly pets: PetService;
  /** `DATABASE_URL` */
  url = 'sqlite:pets.sqlite';

  constructor(readonly store: OpenDatabase) {
    this.keys = new ApiKeyService(store.keys);
    this.pets = new PetService(store.pets);
  }

  /** Runs a command line, its arguments separated by one space each. */
  async run(line: string): Promise<Outcome> {
    let [out, err] = ['', ''];
    const context = {
      databaseUrl: () => persistent(databaseUrl('DATABASE_URL', this.url)),
      withServices: (use: (services: Services) => Promise<unknown>) => use(this),
      print: (text: string) => void (out += `${text}\n`),
    } as unknown as CommandContext;
    const petstore = program(context);
    const capture = (command: Command): void => {
      command.configureOutput({ writeOut: (text) => (out += text), writeErr: (text) => (err += text) });
      command.commands.forEach(capture);
    };
    capture(petstore);
    try {
      await petstore.parseAsync(line.split(' '), { from: 'user' });
      return { code: 0, out, err };
    } catch (error) {
      if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, out, err };
      return { code: 1, out, err: `${err}${(error as Error).message}\n` };
    }
  }
}
