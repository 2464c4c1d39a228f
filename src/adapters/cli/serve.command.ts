import { Command, Option } from 'commander';
import { Actions, Print, Surroundings } from './actions.js';
import { addExamples } from './examples.js';
import { exampleEnv, optionName } from './setting.js';

/** Adds `serve`, with an option for each setting, and `example-env`, which prints them all. */
export function addServeCommand(petstore: Command, actions: Actions, print: Print, { settings }: Surroundings): void {
  const serve = petstore.command('serve').description('serve the interface over HTTP; so does petstore alone');
  const options = settings
    .filter(({ isSecret }) => !isSecret)
    .map((setting) => {
      const { name, words, unset, example } = setting;
      const more = unset === undefined ? (example === undefined ? '' : `, such as ${example}`) : ` (default: ${unset})`;
      return { name, option: new Option(`${optionName(setting)} <value>`, `${words}${more}`) };
    });
  for (const { option } of options) serve.addOption(option);
  addExamples(serve, 'serve --port 8080', 'serve --database-url memory: --log-level info');
  serve.action((chosen: Readonly<Record<string, string>>) =>
    actions.serve(
      Object.fromEntries(
        options.flatMap(({ name, option }) => {
          const value = chosen[option.attributeName()];
          return value === undefined ? [] : [[name, value]];
        }),
      ),
    ),
  );

  petstore
    .command('example-env')
    .description('print a file for .env with every setting and its default')
    .action(() => print(exampleEnv(settings)));
}
