// `npm run build`: compiles the modules, bundles them, and builds the client package.
import { fail } from './prepare.mjs';
import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync } from 'node:fs';
import { execPath, exit } from 'node:process';

try {
  mkdirSync('dist', { recursive: true });
  accessSync('dist', constants.W_OK);
} catch ({ code }) {
  fail(
    `The program cannot be built: dist cannot be written (${code}). Run "npm run build" where the folder is writable.`,
  );
}
for (const args of [
  ['node_modules/typescript-7/bin/tsc', '-p', 'tsconfig.build.json'],
  ['scripts/bundle.mjs'],
  ['scripts/client.mjs'],
])
  if (spawnSync(execPath, args, { stdio: 'inherit' }).status !== 0) exit(1);
