// `npm start`: builds if a source is newer than the program, and serves in this process, which gets the signals.
import './prepare.mjs';
import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { argv } from 'node:process';
import { pathToFileURL } from 'node:url';

const program = resolve('dist/src/main.js');
const builtAt = statSync(program, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const sources = [
  ...readdirSync('src', { recursive: true }).map((name) => join('src', name)),
  ...readdirSync('scripts').map((name) => join('scripts', name)),
  ...readdirSync('.').filter((name) => /\.(?:ts|json)$/.test(name)),
];
if (sources.some((path) => statSync(path).mtimeMs > builtAt)) {
  console.log('Building (once, about 5 s) …');
  await import('./build.mjs');
}
// Workers start what this names.
argv[1] = program;
await import(pathToFileURL(program).href);
