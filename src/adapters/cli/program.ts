import { Command } from 'commander';
import { Actions, Print, Surroundings } from './actions.js';
import { addCheckCommand } from './check.command.js';
import { addBackupCommands } from './backup.command.js';
import { addCompletionCommand } from './completion.command.js';
import { addCopyCommand } from './copy.command.js';
import { addExamples } from './examples.js';
import { addKeysCommand } from './keys.command.js';
import { addMigrateCommand } from './migrate.command.js';
import { addSeedCommand } from './seed.command.js';
import { addServeCommand } from './serve.command.js';

/**
 * The `petstore` command; `print` takes what goes to standard output, line by line. It throws `CommanderError`, once it has said what is
 * wrong, if it is misused, and after `--help` and `--version` too, whose `exitCode` is 0.
 */
export function program(actions: Actions, print: Print, surroundings: Surroundings): Command {
  const petstore = new Command('petstore')
    .description('The pet store service. Settings come from the environment and from .env; example-env prints them.')
    .version(surroundings.version)
    .exitOverride()
    .showHelpAfterError('Add --help for what there is.');
  addExamples(petstore, 'serve --port 8080', 'keys create --name shop --expires 90d', 'check --json');
  addServeCommand(petstore, actions, print, surroundings);
  addKeysCommand(petstore, actions, print, surroundings);
  addSeedCommand(petstore, actions, print, surroundings);
  addMigrateCommand(petstore, actions, print);
  addCopyCommand(petstore, actions, print, surroundings);
  addCheckCommand(petstore, actions, print, surroundings);
  addBackupCommands(petstore, actions, print);
  petstore
    .command('openapi')
    .description('print the OpenAPI document')
    .option('--json', 'as JSON in place of YAML')
    .action(async ({ json }: { json?: true }) => print((await actions.openApi(json ? 'json' : 'yaml')).trimEnd()));
  addCompletionCommand(petstore, print);
  return petstore;
}
