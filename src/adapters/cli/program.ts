import { Command } from 'commander';
import { addCheckCommand } from './check.command.js';
import { addDatabaseCommands } from './database.commands.js';
import { addKeysCommand } from './keys.command.js';
import { addSeedCommand } from './seed.command.js';
import type { Output } from './output.js';
import { example } from './text.js';
import packageJson from '../../../package.json' with { type: 'json' };

/** What the commands get from `main.ts`. */
export interface Dependencies {
  readonly serve: () => Promise<void>;
  /** The OpenAPI document as YAML. */
  readonly openApi: () => Promise<string>;
  readonly output: Output;
}

/**
 * The `petstore` command. A command imports Nest, TypeORM and the like when it runs: the help, and the primary of the
 * workers, need neither. Throws `CommanderError` after a misuse, and with `exitCode` 0 after `--help` and `--version`.
 */
export function program({ serve, openApi, output }: Dependencies): Command {
  const petstore = new Command('petstore')
    .description('The pet store service. Settings are environment variables, also in .env: see "check --verbose".')
    .version(packageJson.version)
    .exitOverride()
    .showHelpAfterError('"petstore help" lists the commands; --help after one describes it.');

  petstore
    .command('serve')
    .description('serve the API over HTTP; the default command')
    .addHelpText('after', example('PORT=8080 petstore serve'))
    .action(serve);
  addKeysCommand(petstore, output);
  addSeedCommand(petstore, output);
  addCheckCommand(petstore, output);
  addDatabaseCommands(petstore, output);
  petstore
    .command('openapi')
    .description('print the OpenAPI document')
    .addHelpText('after', example('petstore openapi > openapi.yaml'))
    .action(async () => output.print(await openApi()));
  return petstore;
}
