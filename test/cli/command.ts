import { type Command, CommanderError } from 'commander';
import { program } from '../../src/adapters/cli/program.js';
import type { Outcome } from '../support/working-folder.js';

const none = () => Promise.reject(new Error('It is a command of the layers above.'));

/**
 * Runs a line of the `petstore` command, its arguments separated by one space each, in this process with this
 * `DATABASE_URL`. `npm run test:integration` runs the real one.
 */
export async function petstore(line: string, url: string): Promise<Outcome> {
  let [out, err] = ['', ''];
  const print = (text: string) => Promise.resolve(void (out += `${text}\n`));
  const output = { print, printSecret: print, note: (text: string) => void (err += `${text}\n`) };
  const command = program({ serve: none, openApi: none, output });
  const capture = (each: Command): void => {
    each.configureOutput({ writeOut: (text) => (out += text), writeErr: (text) => (err += text) });
    each.commands.forEach(capture);
  };
  capture(command);
  process.env.DATABASE_URL = url;
  try {
    await command.parseAsync(line.split(' '), { from: 'user' });
    return { code: 0, out, err };
  } catch (error) {
    if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, out, err };
    return { code: 1, out, err: `${err}${(error as Error).message}\n` };
  }
}
