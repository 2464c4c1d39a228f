import { resolve } from 'node:path';
import type { Command } from 'commander';
import { UsageError } from '../../application/errors.js';
import type { PersistentUrl } from '../../settings/database-url.js';
import type { CommandContext } from './command-context.js';
import { plural, table } from './text.js';

const URL_OR_VARIABLE = 'in the form of DATABASE_URL, or the environment variable that has it';

/** Adds `check`, `migrate`, `copy`, `backup` and `restore`. */
export function addDatabaseCommands(petstore: Command, { check, databaseUrl, urlOf, print }: CommandContext): void {
  petstore
    .command('check')
    .description('check the settings, the database and the keys; change nothing')
    .option('--verbose', 'print the checks that passed, too')
    .action(async ({ verbose }: { verbose?: true }) => {
      const findings = await check();
      const printed = findings.filter(({ state }) => verbose ?? state !== 'ok');
      const rows = printed.map(({ state, name, found, advice }) => [
        state,
        name,
        advice ? `${found} ${advice}` : found,
      ]);
      if (rows.length > 0) print(table(rows));
      const failed = printed.filter(({ state }) => state === 'fail').map(({ name }) => name);
      if (failed.length > 0) throw new UsageError(`${plural(failed.length, 'check')} failed: ${failed.join(', ')}.`);
      const warnings = printed.filter(({ state }) => state === 'warn').length;
      print(`${findings.length} checks, none failed, ${plural(warnings, 'warning')}.`);
    });

  petstore
    .command('migrate')
    .description('run the pending migrations of the database schema, as serve does')
    .action(async () => {
      const { migrate, withDatabase } = await import('../persistence/typeorm/migrate.js');
      const names = await withDatabase(databaseUrl(), migrate);
      print(names.length > 0 ? names.map((name) => `Applied ${name}.`).join('\n') : 'The schema is up to date.');
    });

  petstore
    .command('copy')
    .description('copy all pets and keys into an empty database, with their ids, and verify the copy')
    .requiredOption('--from <source>', `the source, ${URL_OR_VARIABLE}; nothing may write to it meanwhile`)
    .requiredOption('--to <target>', `the target, ${URL_OR_VARIABLE}; it must exist and be empty`)
    .action(async ({ from, to }: { from: string; to: string }) => {
      const { copyDatabase } = await import('../persistence/typeorm/maintenance/copy.js');
      const { pets, keys } = await copyDatabase(urlOf('--from', from), urlOf('--to', to));
      print(`Copied ${plural(pets, 'pet')} and ${plural(keys, 'key')}.`);
      print('Set DATABASE_URL to the new database and start the service.');
    });

  petstore
    .command('backup')
    .description('back up the SQLite database, while the service runs or not, and verify the backup')
    .argument('<file>', 'the backup; the file must not exist')
    .action(async (file: string) => {
      const { makeBackup } = await import('../persistence/typeorm/maintenance/backup.js');
      const { pets, keys } = await makeBackup(sqliteFile(databaseUrl()), file, print);
      print(`Backed up ${plural(pets, 'pet')} and ${plural(keys, 'key')} to ${file}.`);
    });

  petstore
    .command('restore')
    .description('verify a backup and replace the SQLite database with it; stop the service first')
    .argument('<file>', 'the backup; it is not changed')
    .action(async (file: string) => {
      const { restoreBackup } = await import('../persistence/typeorm/maintenance/backup.js');
      const database = resolve(sqliteFile(databaseUrl()));
      const { pets, keys, kept } = await restoreBackup(database, file, print);
      print(`Restored ${plural(pets, 'pet')} and ${plural(keys, 'key')} from ${file} to ${database}.`);
      if (kept !== undefined) print(`The previous database is kept in ${kept}.`);
    });
}

function sqliteFile(url: PersistentUrl): string {
  if (url.engine === 'sqlite') return url.file;
  throw new UsageError('This command is for DATABASE_URL=sqlite:FILE. For a server use pg_dump or mariadb-dump.');
}
