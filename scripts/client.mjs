// Builds the client package, for `npm pack`, into `dist/client` or the folder that the argument names.
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv, execPath, exit } from 'node:process';

const folder = argv[2] ?? 'dist/client';
rmSync(folder, { recursive: true, force: true });
const compiler = ['node_modules/typescript-7/bin/tsc', '-p', 'client', '--outDir', folder];
if (spawnSync(execPath, compiler, { stdio: 'inherit' }).status !== 0) exit(1);

// It is released with the service, which names the versions of its packages, too.
const { version, license, dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const { name, dependencies: needed, ...rest } = JSON.parse(readFileSync('client/package.json', 'utf8'));
const ranges = Object.fromEntries(Object.keys(needed).map((each) => [each, dependencies[each]]));
writeFileSync(
  join(folder, 'package.json'),
  JSON.stringify({ name, version, license, ...rest, dependencies: ranges }, null, 2),
);
cpSync('client/README.md', join(folder, 'README.md'));
cpSync('LICENSE', join(folder, 'LICENSE'));
