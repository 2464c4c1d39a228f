import { Command } from 'commander';
import { Actions, Print, Surroundings } from './actions.js';
import { addExamples } from './examples.js';
import { ProgressBar } from './progress-bar.js';

/** Adds `copy`, which moves a whole store from one database to another. */
export function addCopyCommand(petstore: Command, actions: Actions, print: Print, { terminal }: Surroundings): void {
  const copy = petstore
    .command('copy')
    .description('copy animals, keys and all else into an empty database, with their ids, and compare the two')
    .requiredOption(
      '--from <url>',
      'the database to copy, in the form of DATABASE_URL; nothing may write to it meanwhile',
    )
    .requiredOption('--to <url>', 'the database to fill, in the form of DATABASE_URL; it must exist and be empty')
    .action(async ({ from, to }: { from: string; to: string }) => {
      const bar = new ProgressBar(terminal);
      const { pets, keys, checksum } = await actions.copy(from, to, ({ step, done, total }) =>
        bar.show(done, total, step),
      );
      bar.end();
      print(`Copied ${pets} animals and ${keys} keys; both sides have the checksum ${checksum}.`);
      print('Set DATABASE_URL to the new database and start the service: cursors and keys go on as they were.');
    });
  addExamples(copy, 'copy --from sqlite:./data/petstore.sqlite --to postgres://me@127.0.0.1/petstore');
}
