import { resolve } from 'node:path';
import type { Command } from 'commander';
import { UsageError } from '../../messages/usage-error.js';
import type { Progress } from '../../messages/progress.js';
import { persistent, type PersistentUrl } from '../../settings/database-url.js';
import { configuredDatabase, databaseUrlOf } from '../../settings/settings.js';
import { noteDatabase } from './repositories.js';
import type { Output } from './output.js';
import { QUIET, withProgress } from './progress.js';
import { example, plural } from './text.js';

const URL_OR_VARIABLE = 'in the form of DATABASE_URL, or the environment variable that has it';

/** Adds `migrate`, `copy`, `backup` and `restore`. */
export function addDatabaseCommands(petstore: Command, output: Output): void {
  const { print } = output;
  petstore
    .command('migrate')
    .description('run the pending migrations of the database schema, as serve does')
    .option('--json', 'print an array of the names that were applied')
    .option(...QUIET)
    .addHelpText('after', example('DATABASE_URL=postgres://me:secret@db.example.com/pets petstore migrate'))
    .action(async ({ json, quiet }: { json?: true; quiet?: true }) => {
      const { withDataSourceAt } = await import('../persistence/typeorm/data-source.js');
      const { migrate } = await import('../persistence/typeorm/migrate.js');
      const url = configuredDatabase();
      noteDatabase(output, url);
      const applied: string[] = [];
      const run = (progress: Progress) =>
        withDataSourceAt(url, (source) => migrate(source, progress, (name) => applied.push(name)));
      try {
        await withProgress(quiet, run);
        if (applied.length === 0 && !json) await print('The schema is up to date.');
      } finally {
        // Those before one that failed, too.
        if (json) await print(JSON.stringify(applied, null, 2));
        else for (const name of applied) await print(`Applied ${name}.`);
      }
    });

  petstore
    .command('copy')
    .description('copy all pets and keys into an empty database, with their ids, and verify the copy')
    .requiredOption('--from <source>', `the source, ${URL_OR_VARIABLE}; nothing may write to it meanwhile`)
    .requiredOption('--to <target>', `the target, ${URL_OR_VARIABLE}; it must exist and be empty`)
    .option(...QUIET)
    .addHelpText(
      'after',
      example('NEW=postgres://me:secret@db.example.com/pets petstore copy --from DATABASE_URL --to NEW'),
    )
    .action(async ({ from, to, quiet }: { from: string; to: string; quiet?: true }) => {
      const { copyDatabase } = await import('../persistence/typeorm/maintenance/copy.js');
      const [source, target] = [urlOf('--from', from), urlOf('--to', to)];
      noteDatabase(output, target);
      const { pets, keys } = await withProgress(quiet, (progress) => copyDatabase(source, target, progress));
      await print(`Copied ${plural(pets, 'pet')} and ${plural(keys, 'key')}.`);
      await print('Set DATABASE_URL to the new database and start the service.');
    });

  petstore
    .command('backup')
    .description('back up the SQLite database, while the service runs or not, and verify the backup')
    .argument('<file>', 'the backup; the file must not exist')
    .option(...QUIET)
    .addHelpText('after', example('petstore backup "/backup/pets-$(date +%F).sqlite"'))
    .action(async (file: string, { quiet }: { quiet?: true }) => {
      const { makeBackup } = await import('../persistence/typeorm/maintenance/backup.js');
      const database = sqliteFile(configuredDatabase());
      const { pets, keys } = await withProgress(quiet, (progress) => makeBackup(database, file, progress));
      await print(`Backed up ${plural(pets, 'pet')} and ${plural(keys, 'key')} to ${file}.`);
    });

  petstore
    .command('restore')
    .description('verify a backup and replace the SQLite database with it; stop the service first')
    .argument('<file>', 'the backup; it is not changed')
    .option(...QUIET)
    .addHelpText('after', example('petstore restore /backup/pets-2027-01-31.sqlite'))
    .action(async (file: string, { quiet }: { quiet?: true }) => {
      const { restoreBackup } = await import('../persistence/typeorm/maintenance/backup.js');
      const url = configuredDatabase();
      const database = resolve(sqliteFile(url));
      noteDatabase(output, url);
      const restore = (progress: Progress) => restoreBackup(database, file, progress);
      const { pets, keys, kept } = await withProgress(quiet, restore);
      await print(`Restored ${plural(pets, 'pet')} and ${plural(keys, 'key')} from ${file} to ${database}.`);
      if (kept !== undefined) await print(`The previous database is kept in ${kept}.`);
    });
}

/** The URL that an option gives, or the variable that it names. */
const urlOf = (option: string, given: string) => persistent(databaseUrlOf(option, given));

function sqliteFile(url: PersistentUrl): string {
  if (url.engine === 'sqlite') return url.file;
  throw new UsageError('This command is for DATABASE_URL=sqlite:FILE. For a server use pg_dump or mariadb-dump.');
}
