// Builds the program as "npm run build" does, unless what is built is newer than all that it is made of.
import { execSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const SOURCES = [
  'src',
  'ormconfig.ts',
  'bundle.mjs',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

// A folder is as new as what was last added to it or taken away.
const changed = (path) => {
  const stats = statSync(path);
  const below = stats.isDirectory() ? readdirSync(path).map((name) => changed(join(path, name))) : [];
  return Math.max(stats.mtimeMs, ...below);
};

const built = statSync('dist/src/main.js', { throwIfNoEntry: false })?.mtimeMs ?? 0;
if (Math.max(...SOURCES.map(changed)) > built) execSync('npm run --silent build', { stdio: 'inherit' });
