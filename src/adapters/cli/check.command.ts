import { Command } from 'commander';
import { UsageError } from '../../application/errors.js';
import { words } from '../../application/finding.js';
import { Actions, Print, Surroundings } from './actions.js';
import { colourState } from './colour.js';
import { table } from './table.js';

/** Adds `check`, which tells whether all is well; it ends with an error if anything is not as the service needs it. */
export function addCheckCommand(petstore: Command, actions: Actions, print: Print, { hasColours }: Surroundings): void {
  petstore
    .command('check')
    .description('look at the settings, the database, the keys and the files, and tell what is not as it should be')
    .option('--json', 'as an array of objects: name, state (ok, warn or fail), found, advice')
    .action(async ({ json }: { json?: true }) => {
      const findings = await actions.check();
      const rows = findings.map((finding) => [finding.state, finding.name, words(finding)]);
      print(
        json
          ? JSON.stringify(findings, null, 2)
          : table(['STATE', 'NAME', 'FOUND'], rows, hasColours ? colourState : undefined),
      );
      const failed = findings.filter(({ state }) => state === 'fail').map(({ name }) => name);
      if (failed.length > 0) throw new UsageError(`Not as it must be: ${failed.join(', ')}.`);
    });
}
