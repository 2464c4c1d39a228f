import { Command } from 'commander';

/** Adds examples to the help of a command, as they are typed after `petstore`. */
export function addExamples(command: Command, ...examples: readonly string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${examples.map((each) => `  $ petstore ${each}`).join('\n')}`);
}
