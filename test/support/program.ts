import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

/** Builds the program as `npm run build` does, in a folder of its own, and returns that folder. */
export function buildProgram(): string {
  const folder = resolve('test-output/program');
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--outDir', folder]);
  return folder;
}
