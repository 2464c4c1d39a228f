import { fstatSync, statSync } from 'node:fs';
import { type Output, OutputFailed } from '../adapters/cli/output.js';

const note = (line: string) => void process.stderr.write(`${line}\n`);

const print = (line: string) =>
  new Promise<void>((resolve, reject) => {
    process.stdout.write(`${line}\n`, (cause) => (cause ? reject(new OutputFailed('', { cause })) : resolve()));
  });

/** The output of this process. */
export const standardOutput: Output = {
  note,
  print,
  printSecret: (line) => {
    if (!isDiscarded()) return print(line);
    note('Standard output is closed or the null device: nobody would see the key.');
    return Promise.reject(new OutputFailed());
  },
};

/** Whether standard output is the null device, which Node opens if it is closed. */
function isDiscarded(): boolean {
  try {
    const output = fstatSync(1);
    return output.isCharacterDevice() && output.rdev === statSync('/dev/null').rdev;
  } catch {
    // Windows has no such file.
    return false;
  }
}
