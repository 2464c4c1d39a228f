// Changes the source in small ways, one at a time, and reports what none of the nearest unit tests notices:
// `npm run test:mutation`, or of some folders or files only: `npm run test:mutation -- src/domain src/settings/path.ts`.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { argv, env, exit } from 'node:process';

// The newest release that runs on Node 20.
const PACKAGES = ['@stryker-mutator/core@9.6.1', '@stryker-mutator/jest-runner@9.6.1'];

const HTTP = 'src/adapters/http';
const TYPEORM = 'src/adapters/persistence/typeorm';

/** What is changed, and the unit tests that show it, the nearest ones: each file that runs costs seconds per change. */
const PARTS = {
  'src/domain': ['domain', 'application'],
  'src/application': ['application', 'cli/keys', 'http/get-pet', 'http/list-pets', 'http/idempotency'],
  'src/messages': ['messages', 'settings', 'cli/progress'],
  'src/settings': ['settings', 'stores/connection-strings'],
  [`${HTTP}/body`]: ['http/json-object', 'http/create-pet', 'http/requests', 'http/protocol'],
  [`${HTTP}/errors`]: [
    ...['http/create-pet', 'http/auth', 'http/idempotency', 'http/list-pets', 'http/get-pet', 'http/protocol'],
    ...['http/health-and-docs', 'http/order-of-checks', 'observability/log'],
  ],
  [`${HTTP}/pets`]: [
    ...['http/create-pet', 'http/list-pets', 'http/get-pet', 'http/idempotency', 'http/cache', 'http/document'],
  ],
  [`${HTTP}/auth`]: ['http/auth', 'http/get-pet', 'limits/limits'],
  [`${TYPEORM}/pets`]: ['stores/sqlite', 'stores/key-expiry'],
  [`${TYPEORM}/keys`]: ['stores/sqlite'],
  [`${TYPEORM}/batcher.ts`]: ['stores/batcher'],
  [`${TYPEORM}/executor.ts`]: ['stores/batcher', 'stores/sqlite'],
  [`${TYPEORM}/consequences.ts`]: ['stores/consequences', 'stores/batcher'],
};

/** The parts in this folder; within a part, the path with the tests of that part. */
function partsOf(path) {
  const found = Object.entries(PARTS).flatMap(([part, tests]) => {
    if (part.startsWith(path)) return [{ part, path: part, tests }];
    return path.startsWith(`${part}/`) ? [{ part, path, tests }] : [];
  });
  if (found.length === 0) throw new Error(`${path} is in no part.`);
  return found;
}

/** The hash of everything that a test may import. */
function hashOfTests() {
  const hash = createHash('sha256');
  const names = readdirSync('test', { recursive: true }).filter((name) => name.endsWith('.ts'));
  for (const name of names.sort()) hash.update(readFileSync(join('test', name)));
  return hash.digest('hex').slice(0, 8);
}

const output = resolve('test-output/mutation');
const modules = resolve(output, 'node_modules/@stryker-mutator');

function run(command, args) {
  const { status } = spawnSync(command, args, { stdio: 'inherit', env: { ...env, CI: 'true' } });
  if (status !== 0) exit(status ?? 1);
}

run('npm', ['install', '--silent', '--no-audit', '--no-fund', '--no-save', '--prefix', output, ...PACKAGES]);
for (const { part, path, tests } of argv.length > 2 ? argv.slice(2).flatMap(partsOf) : partsOf('')) {
  const report = resolve(output, path.replaceAll(/\W+/g, '-'));
  const config = {
    // No unit test has a Redis.
    mutate: [path.endsWith('.ts') ? path : `${path}/**/*.ts`, '!**/*.docs.ts', '!**/redis.ts'],
    plugins: [resolve(modules, 'jest-runner/dist/src/index.js'), resolve('test/mutation-ignored.mjs')],
    ignorers: ['wording'],
    testRunner: 'jest',
    testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
    jest: {
      configFile: 'jest.config.js',
      // A test of `PARTS` is a file or a folder.
      config: { testMatch: tests.map((path) => `<rootDir>/test/${path}{.spec.ts,/**/*.spec.ts}`) },
    },
    coverageAnalysis: 'perTest',
    // What runs when a module is loaded is known to no test: each such change would need all tests.
    ignoreStatic: !['src/domain', 'src/messages'].includes(part),
    // Jest keeps the modules of all its runs.
    maxTestRunnerReuse: 40,
    // On a busy machine a slow test is no endless loop.
    timeoutMS: 15_000,
    concurrency: 2,
    tempDirName: 'test-output/mutation/sandbox',
    ignorePatterns: ['dist', 'test-output'],
    incremental: true,
    // Stryker would take a test for the same while its name is.
    incrementalFile: `${report}.${hashOfTests()}.json`,
    reporters: ['progress-append-only', 'clear-text', 'json', 'html'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
    jsonReporter: { fileName: `${report}.json` },
    htmlReporter: { fileName: `${report}.html` },
    // The types are stripped.
    disableTypeChecks: false,
  };
  writeFileSync(`${report}.config.json`, JSON.stringify(config));
  run('node', [resolve(modules, 'core/bin/stryker.js'), 'run', `${report}.config.json`]);
}
