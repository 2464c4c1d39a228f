// Runs `npm test` on another version of Node: `npm run test:node -- 22`. The npm registry has the binaries.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { arch, argv, env, exit, platform } from 'node:process';

const [version = '', ...args] = argv.slice(2);
const name = `node-${platform}-${arch}`;
const folder = resolve('test-output', `node-${version}`);
const bin = resolve(folder, 'node_modules', name, 'bin');

function run(command, options = {}) {
  const { status } = spawnSync(command[0], command.slice(1), { stdio: 'inherit', ...options });
  if (status !== 0) exit(status ?? 1);
}

if (!existsSync(bin)) run(['npm', 'install', '--no-save', '--silent', '--prefix', folder, `${name}@${version}`]);
const onVersion = { env: { ...env, PATH: `${bin}${delimiter}${env.PATH}` } };
run(['node', '--version'], onVersion);
run(['npm', 'test', '--', ...args], onVersion);
