import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cloneInto } from '../support/clone.js';
import { RunningService } from '../support/working-folder.js';

const BUN = `@oven/bun-${process.platform}-${process.arch}`;

/** Where each has its program; bun is no program of Node. Yarn 1 exits with 1 at every signal, before the service. */
const MANAGERS = [
  { name: 'pnpm', packages: ['pnpm@10'], program: ['node', 'pnpm/bin/pnpm.cjs'], exitCode: 0 },
  { name: 'Yarn 1', packages: ['yarn@1'], program: ['node', 'yarn/bin/yarn.js'], exitCode: 1 },
  {
    name: 'Yarn 4',
    packages: ['@yarnpkg/cli-dist@4'],
    program: ['node', '@yarnpkg/cli-dist/bin/yarn.js'],
    exitCode: 0,
  },
  { name: '[short] bun', packages: [BUN], program: [`${BUN}/bin/bun`], exitCode: 0 },
];

let folder: string;

beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'petstore-managers-'))));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each(MANAGERS)('$name installs, starts and stops a clone', async ({ name, packages, program, exitCode }) => {
  const own = join(folder, name);
  const clone = join(own, 'clone');
  cloneInto(clone);
  execFileSync('npm', ['install', '--silent', '--no-save', '--ignore-scripts', '--prefix', own, ...packages]);
  const [command = '', ...args] = program.map((part) =>
    part === 'node' ? process.execPath : join(own, 'node_modules', part),
  );
  // Without CI, in which they install only what a lock file of theirs lists.
  const env = { ...process.env, CI: undefined, PORT: '0', DATABASE_URL: 'memory:' };
  execFileSync(command, [...args, 'install'], { cwd: clone, env, stdio: 'pipe' });
  const service = new RunningService(
    spawn(command, [...args, 'run', 'start'], { cwd: clone, env, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  await service.greeted(/^Try: .*\n/m);
  expect(await service.add(service.key!, { name: 'Bella', categoryId: 42 })).toContain('"id":1');
  // Resolves once all of its processes have ended.
  expect(await service.end('SIGTERM')).toBe(exitCode);
});
