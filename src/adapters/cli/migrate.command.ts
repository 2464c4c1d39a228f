import { Command } from 'commander';
import { Actions, Print } from './actions.js';

/** Adds `migrate`, which shows and changes what there is of the database schema. */
export function addMigrateCommand(petstore: Command, actions: Actions, print: Print): void {
  const migrate = petstore
    .command('migrate')
    .description('show, apply or take back the changes of the database schema; serve applies them by itself');
  migrate
    .command('show')
    .description('list the migrations, those applied marked with an x; so does migrate alone')
    .option('--json', 'as an array of objects: name, applied')
    .action(async ({ json }: { json?: true }) => {
      const steps = await actions.migrations();
      if (json) return print(JSON.stringify(steps, ['name', 'applied'], 2));
      for (const { name, applied } of steps) print(`[${applied ? 'x' : ' '}] ${name}`);
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
}
