import { Command } from 'commander';
import { Actions, Print } from './actions.js';

/** Adds `backup` and `restore`, for a store that is a file of SQLite. */
export function addBackupCommands(petstore: Command, actions: Actions, print: Print): void {
  petstore
    .command('backup')
    .description('make a backup of the SQLite store, while the service runs or not; it is checked before it is there')
    .argument('<file>', 'where to; nothing may be there yet')
    .action(async (file: string) => {
      const { pets, keys, checksum } = await actions.backup(file);
      print(`Backed up ${pets} animals and ${keys} keys to ${file}; they have the checksum ${checksum}.`);
    });

  petstore
    .command('restore')
    .description('check a backup, and put it in the place of the SQLite store; the service must be stopped')
    .argument('<file>', 'the backup, which is left as it is')
    .action(async (file: string) => {
      const { pets, keys, checksum, kept } = await actions.restore(file);
      print(`Restored ${pets} animals and ${keys} keys from ${file}; they have the checksum ${checksum}.`);
      if (kept !== undefined) print(`What was there before is kept in ${kept}.`);
    });
}
