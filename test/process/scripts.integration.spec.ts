import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cloneInto } from '../support/clone.js';
import { RunningService } from '../support/working-folder.js';

/** A shell for npm: commands, arguments and `&&`, as in every shell. It stays beside its command, as cmd.exe does. */
const SHELL = `#!${process.execPath}
const { spawn } = require('node:child_process');
const line = process.argv.at(-1);
if (/[^\\w\\s@./:=&-]|(?<!&)&(?!&)/.test(line)) throw new Error('This shell does not understand: ' + line);
let child;
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
void (async () => {
  for (const command of line.split('&&')) {
    const [name, ...args] = command.trim().split(/\\s+/);
    child = spawn(name, args, { stdio: 'inherit' }).on('error', (error) => { throw error; });
    const code = await new Promise((resolve) => child.on('exit', resolve));
    if (code !== 0) process.exit(code ?? 1);
  }
})();
`;

let folder: string;
let bin: string;
let clone: string;
let running: number | undefined;

/** What npm gets for each shell: beside the plain one only Node, npm and git exist. */
const SHELLS: Record<string, () => Record<string, string>> = {
  sh: () => ({ PATH: `${bin}:/usr/bin:/bin` }),
  'a plain shell': () => ({ PATH: bin, npm_config_script_shell: join(folder, 'shell.cjs') }),
};

const locate = (name: string) =>
  realpathSync(
    execFileSync('sh', ['-c', `command -v ${name}`])
      .toString()
      .trim(),
  );

const settings = () => ({ HOME: folder, PORT: '0', DATABASE_URL: 'memory:' });

function run(script: string, ...args: string[]) {
  const env = { ...settings(), ...SHELLS['a plain shell']!() };
  return spawnSync('npm', ['run', '--silent', script, ...args], { cwd: clone, env, encoding: 'utf8' });
}

beforeAll(() => {
  folder = resolve('test-output', `scripts-${process.pid}`);
  [bin, clone] = [join(folder, 'bin'), join(folder, 'clone')];
  mkdirSync(bin, { recursive: true });
  symlinkSync(process.execPath, join(bin, 'node'));
  for (const name of ['npm', 'git']) symlinkSync(locate(name), join(bin, name));
  writeFileSync(join(folder, 'shell.cjs'), SHELL, { mode: 0o755 });
  cloneInto(clone);
});

afterAll(() => {
  if (running !== undefined) process.kill(-running, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

it.each(['start', 'dev', 'build', 'types', 'openapi', 'test'])('npm run %s, before npm ci, asks for it', (script) => {
  const { status, stdout, stderr } = run(script);
  expect([status, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^Packages are not installed \([^()]*, @nestjs\/common, [^()]*\): run "npm ci" first\.\n$/);
});

describe('with the packages', () => {
  // Not a link to the folder: with one, `node --watch` of Node 20 mistakes what a package exports.
  beforeAll(() => void execFileSync('cp', ['-al', 'node_modules', clone]));

  it('a start that cannot build says so in one line', () => {
    chmodSync(clone, 0o555);
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const { status, stderr } = spawnSync(process.execPath, ['scripts/start.mjs'], {
      cwd: clone,
      encoding: 'utf8',
      ...nobody,
    });
    chmodSync(clone, 0o755);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^The program cannot be built: dist cannot be written \(EACCES\)\. [^\n]+\.\n$/);
  });

  // The first of them builds.
  it.each(['start', 'dev'].flatMap((script) => Object.keys(SHELLS).map((shell) => [script, shell] as const)))(
    'npm run %s, with %s, serves until SIGTERM',
    async (script, shell) => {
      const env = { ...settings(), ...SHELLS[shell]!() };
      const service = new RunningService(
        spawn('npm', ['run', script], { cwd: clone, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true }),
      );
      running = service.pid;
      await service.greeted(/^Try: .*\n/m);
      expect(await service.add(service.key!, { name: 'Bella', categoryId: 42 })).toContain('"id":1');
      // Resolves once all of its processes have ended.
      expect(await service.end('SIGTERM')).toBe(0);
      running = undefined;
    },
  );

  it('the other scripts need Node, npm and git only', () => {
    // `openapi` builds as `build` does.
    for (const script of ['types', 'openapi']) expect(run(script)).toMatchObject({ status: 0, stderr: '' });
    expect(run('test', '--', 'test/domain/int64')).toMatchObject({ status: 0 });
    const { stdout } = spawnSync('git', ['diff', '--no-index', 'openapi.yaml', join(clone, 'openapi.yaml')]);
    expect(stdout.toString()).toBe('');
  });
});
