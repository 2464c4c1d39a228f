import { Command, InvalidArgumentError } from 'commander';
import { PET_STATUSES } from '../../domain/pets/pet.js';
import type { CommandContext } from './command-context.js';
import { addDatabaseCommands } from './database.commands.js';
import { addKeysCommand } from './keys.command.js';
import { plural } from './text.js';
import packageJson from '../../../package.json' with { type: 'json' };

/** How many sample pets are created at a time: they share commits. */
const BATCH = 256;

/**
 * The `petstore` command. Throws `CommanderError` after a misuse, and with `exitCode` 0 after `--help` and `--version`.
 */
export function program(context: CommandContext): Command {
  const petstore = new Command('petstore')
    .description('The pet store service. Settings are environment variables, also in .env: see "check --verbose".')
    .version(packageJson.version)
    .exitOverride()
    .showHelpAfterError('Add --help for usage.');

  petstore
    .command('serve')
    .description('serve the API over HTTP; the default command')
    .action(() => context.serve());

  addKeysCommand(petstore, context);

  petstore
    .command('seed')
    .description('create sample pets')
    .requiredOption('--count <n>', 'how many pets to create', count)
    .action(async ({ count }: { count: number }) => {
      await context.withServices(async ({ pets }) => {
        for (let done = 0; done < count; done += BATCH) {
          const size = Math.min(BATCH, count - done);
          await Promise.all(Array.from({ length: size }, (_, i) => pets.create(samplePet(done + i + 1))));
        }
      });
      context.print(`Created ${plural(count, 'pet')}.`);
    });

  addDatabaseCommands(petstore, context);

  petstore
    .command('openapi')
    .description('print the OpenAPI document')
    .action(async () => context.print(await context.openApi()));

  return petstore;
}

function samplePet(number: number) {
  return { name: `Pet ${number}`, categoryId: BigInt(number % 6), status: PET_STATUSES[number % 3]! };
}

function count(text: string): number {
  if (/^[1-9][0-9]{0,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be an integer from 1 to 9999999.');
}
