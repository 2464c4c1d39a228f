import { Command } from 'commander';
import { Actions, CopyProgress } from './actions.js';

/** How wide the bar of a copy is, in characters. */
const WIDTH = 30;

/** Adds `copy`, which moves a whole store from one database to another. */
export function addCopyCommand(petstore: Command, actions: Actions, print: (line: string) => void): void {
  petstore
    .command('copy')
    .description('copy animals, keys and all else into an empty database, with their ids, and compare the two')
    .requiredOption(
      '--from <url>',
      'the database to copy, in the form of DATABASE_URL; nothing may write to it meanwhile',
    )
    .requiredOption('--to <url>', 'the database to fill, in the form of DATABASE_URL; it must exist and be empty')
    .action(async ({ from, to }: { from: string; to: string }) => {
      const { animals, keys, checksum } = await actions.copy(from, to, showProgress);
      if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
      print(`Copied ${animals} animals and ${keys} keys; both sides have the checksum ${checksum}.`);
      print('Set DATABASE_URL to the new database and start the service: cursors and keys go on as they were.');
    });
}

/** Draws a bar over the one before, where a person watches. */
function showProgress({ step, done, total }: CopyProgress): void {
  if (!process.stderr.isTTY) return;
  const bar = '#'.repeat(Math.floor((done / total) * WIDTH)).padEnd(WIDTH, '.');
  process.stderr.write(`\r\x1b[K[${bar}] ${step}: ${done} of ${total}`);
}
