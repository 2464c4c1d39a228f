import { Command } from 'commander';
import { Actions, Print } from './actions.js';
import { addCheckCommand } from './check.command.js';
import { addBackupCommands } from './backup.command.js';
import { addCopyCommand } from './copy.command.js';
import { addKeysCommand } from './keys.command.js';
import { Terminal } from './progress-bar.js';
import { addSeedCommand } from './seed.command.js';

/** The `petstore` command; `print` takes what goes to standard output, line by line, and `terminal` what is only for who watches. */
export function program(actions: Actions, print: Print, terminal: Terminal): Command {
  const petstore = new Command('petstore')
    .description('The pet store service. Settings come from the environment and from .env; the README lists them.')
    .showHelpAfterError('Add --help for what there is.');

  petstore
    .command('serve', { isDefault: true })
    .description('serve the interface over HTTP')
    .action(() => actions.serve());

  addKeysCommand(petstore, actions, print);
  addSeedCommand(petstore, actions, print, terminal);

  const migrate = petstore
    .command('migrate')
    .description('show, apply or take back the changes of the database schema; serve applies them by itself');
  migrate
    .command('show', { isDefault: true })
    .description('list the migrations, those applied marked with an x')
    .action(async () => {
      for (const { name, applied } of await actions.migrations()) print(`[${applied ? 'x' : ' '}] ${name}`);
    });
  migrate
    .command('run')
    .description('apply what is not applied yet')
    .action(async () => {
      const names = await actions.migrate();
      print(names.length > 0 ? names.map((name) => `applied ${name}`).join('\n') : 'The schema is up to date.');
    });
  migrate
    .command('revert')
    .description('take the newest migration back, and the data that it made room for with it')
    .action(async () => {
      const name = await actions.revert();
      print(name === undefined ? 'No migration is applied.' : `took back ${name}`);
    });

  addCopyCommand(petstore, actions, print, terminal);
  addCheckCommand(petstore, actions, print);
  addBackupCommands(petstore, actions, print);

  petstore
    .command('openapi')
    .description('print the OpenAPI document')
    .option('--json', 'as JSON in place of YAML')
    .action(async ({ json }: { json?: true }) => print((await actions.openApi(json ? 'json' : 'yaml')).trimEnd()));

  return petstore;
}
