#!/usr/bin/env node
// Runs a command in this one's place, as far as another process can: signals reach it, and its exit code is returned.
// A POSIX shell uses its own `exec`: npm sends SIGTERM to the shell alone, which must have become the service by then.
import { spawn } from 'node:child_process';
import { argv } from 'node:process';

const child = spawn(argv[2], argv.slice(3), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (code) => (process.exitCode = code ?? 1));
