// Runs tests on another version of Node, "npm run test:node -- VERSION [ARGUMENTS OF JEST]": without arguments those that lean most on what Node's
// HTTP does, on the binaries that are loaded, on how a process ends, and on the program as it is built. Node comes from the npm registry.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { arch, argv, exit, platform } from 'node:process';

const TESTS = [
  'test/adapters/http/protocol.spec.ts',
  'test/adapters/persistence/typeorm/pets/typeorm-pet.repository.spec.ts',
  'test/hostile/order.spec.ts',
  'test/process/graceful-stop.spec.ts',
];

const [version = '', ...others] = argv.slice(2);
if (!/^\d+(?:\.\d+){0,2}$/.test(version)) {
  console.error(`The first argument must be a version of Node, such as 22 or 24.0.0, not "${version}".`);
  exit(2);
}

const name = `node-${platform}-${arch}`;
const folder = join('test-output', `node-${version}`);
const node = join(folder, 'node_modules', name, 'bin', 'node');
if (!existsSync(node)) {
  const options = ['--no-save', '--no-package-lock', '--silent', '--prefix', folder];
  if (spawnSync('npm', ['install', ...options, `${name}@${version}`], { stdio: 'inherit' }).status !== 0) {
    console.error(`${name}@${version} cannot be fetched: npm's registry must be in reach, and have that version.`);
    exit(1);
  }
}
console.log(`Node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`);
const options = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
const { status } = spawnSync(node, [...options, ...(others.length > 0 ? others : TESTS)], { stdio: 'inherit' });
exit(status ?? 1);
