// `npm run dev`: compiles on each change, and restarts the service on each change without a type error.
import './prepare.mjs';
import { spawn, spawnSync } from 'node:child_process';
import { rmSync, symlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import { execPath, exit, kill, platform } from 'node:process';

const TSC = ['node_modules/typescript-7/bin/tsc', '-p', 'tsconfig.build.json'];
if (spawnSync(execPath, TSC, { stdio: 'inherit' }).status !== 0) exit(1);

// A junction is the link to a folder that Windows allows everybody.
const assets = 'adapters/http/docs/assets';
rmSync(`dist/modules/src/${assets}`, { recursive: true, force: true });
symlinkSync(resolve('src', assets), `dist/modules/src/${assets}`, 'junction');

// On Node 20 this is a process around the compiler, which ends only with its group; Windows has no groups.
const detached = platform !== 'win32';
const compiler = spawn(execPath, [...TSC, '--watch', '--preserveWatchOutput'], { stdio: 'inherit', detached });
const service = spawn(execPath, ['--watch', 'dist/modules/src/main.js'], { stdio: 'inherit' });
// A terminal sends SIGINT to the service too.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => service.kill());
service.on('exit', (code) => {
  kill(detached ? -compiler.pid : compiler.pid);
  process.exitCode = code ?? 0;
});
