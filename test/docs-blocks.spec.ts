import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { buildProgram } from './support/program.js';
import { freePort } from './support/servers.js';

/** Some commands of a page, and what the page shows of their output. */
interface Block {
  readonly text: string;
  readonly shown: readonly string[];
}

const { PATH, HOME, PETSTORE_TEST_POSTGRES: POSTGRES } = process.env;

/** What stands in the place of the database that a page makes. */
const DATABASE = `petstore_blocks_${process.pid}`;

/** What `npm start` and `npx petstore` take of a clone, besides the program. */
const CLONE = ['build-if-newer.mjs', 'bundle.mjs', 'node_modules', 'ormconfig.ts', 'package-lock.json', 'package.json'];
CLONE.push('src', 'tsconfig.build.json', 'tsconfig.json');

/** Blocks that are not run, by how they begin, and why. */
const EXCEPTED: [begins: string, reason: string][] = [
  ['npm ci && npm test ', 'it would run this test again'],
  ['npm init -y', 'its packages are fetched; test/clients/openapi-fetch.spec.ts has them'],
  ['npx tsx client.ts', 'test/clients/openapi-fetch.spec.ts runs that client'],
  ['pg_dump ', 'it names a server of its reader'],
  ['mariadb-dump ', 'it names a server of its reader'],
  ['npx petstore check', 'it shows an installation with a fault of each kind'],
  ['docker ', 'it needs a container engine'],
  ['METRICS_PORT=9464 ', 'its port may be taken'],
  ['curl -s http://127.0.0.1:9464', 'what it shows was counted in between'],
  ['PETSTORE_TEST_URL=', 'it is a suite of its own'],
  ...(POSTGRES === undefined ? ([['createdb ', 'there is no PostgreSQL']] as typeof EXCEPTED) : []),
];

const STORE = 'npx petstore keys create --name shop --quiet && npx petstore seed --count 1000';

/** What a page takes for granted. */
const GIVEN: Record<string, string> = {
  'docs/backup.md': STORE,
  'docs/databases.md': STORE,
  'docs/running.md': 'npm start',
};

/** The blocks of a page that a person can paste: those in sh, and in a console what is behind each prompt of who is not root. */
function blocksOf(page: string): Block[] {
  const fences = /^```(sh|console)\n([^]*?)^```\n(?:\n```(?:json)?\n([^]*?)^```\n)?/gm;
  const blocks = [...readFileSync(page, 'utf8').matchAll(fences)].flatMap(
    ([, kind, text = '', answer = '']): Block[] => {
      if (kind === 'sh') return [{ text, shown: linesOf(answer) }];
      const commands = [...text.matchAll(/^\$ (.*\n)((?:(?![$#] ).*\n)*)/gm)];
      return commands.map(([, command = '', output = '']) => ({ text: command, shown: linesOf(output) }));
    },
  );
  return blocks.filter(({ text }) => !EXCEPTED.some(([begins]) => text.startsWith(begins)));
}

/** The lines of an output, without what is another one each time. */
function linesOf(output: string): string[] {
  return output
    .replace(/pets_\w{36}|[0-9a-f]{64}|\d{4}-\d\d-\d\dT[\d:.-]+Z|(?<=:)\d{4,5}(?=\/)|(?<="key";)r=\d+;t=\d+/g, '…')
    .split(/\r?\n/)
    .filter(Boolean);
}

const PAGES = ['README.md', 'CONTRIBUTING.md', ...readdirSync('docs').map((name) => join('docs', name))].filter(
  (page) => page.endsWith('.md'),
);

const running = new Set<ChildProcess>();
let program: string;
let folder: string;
let port: number;
let key: string;

/** Runs a block as a person in a shell of this folder does, up to the greeting if it starts the service, and resolves to its output. */
async function run(text: string): Promise<string> {
  const block = text
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)
    .replaceAll('postgres://postgres@127.0.0.1/petstore', `${POSTGRES}/${DATABASE}`)
    .replace('createdb petstore', `createdb ${DATABASE}`);
  const starts = block.includes('npm start');
  if (starts) await stop();
  const child = shell(block);
  const closed = once(child, 'close').then(() => running.delete(child));
  let [out, err] = ['', ''];
  child.stderr?.on('data', (bytes: Buffer) => (err += bytes.toString()));
  const greeted = new Promise<void>((resolve) => {
    child.stdout?.on('data', (bytes: Buffer) => {
      out += bytes.toString();
      if (starts && /^(Try|Keys): .*\n/m.test(out)) resolve();
    });
  });
  await Promise.race([greeted, closed]);
  if (child.exitCode !== (starts ? null : 0)) throw new Error(`${block}ended with ${child.exitCode}:\n${out}\n${err}`);
  key = /^Keep: export KEY=(\w+)$/m.exec(out)?.[1] ?? key;
  return `${out}\n${err}`;
}

function shell(commands: string): ChildProcess {
  // The packages are there.
  const lines = `set -eo pipefail\nnpm() { [ "$1" = ci ] || command npm "$@"; }\n${commands}`;
  const { hostname: PGHOST = '', port: PGPORT = '', username: PGUSER = '' } = POSTGRES ? new URL(POSTGRES) : {};
  const env = { PATH, HOME, PORT: String(port), KEY: key, PGHOST, PGPORT, PGUSER };
  // In a process group of its own, as of a terminal, so that nothing of it is left behind.
  const child = spawn('bash', ['-c', lines], { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  return child;
}

/** Stops what runs, as Ctrl-C does. */
async function stop(): Promise<void> {
  const ends = [...running].map((child) => {
    process.kill(-(child.pid as number), 'SIGINT');
    return once(child, 'close');
  });
  await Promise.all(ends);
}

beforeAll(() => {
  program = buildProgram();
  // Newer than its sources, so that `npm start` takes it.
  utimesSync(join(program, 'src', 'main.js'), new Date(), new Date());
}, 60_000);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'petstore-blocks-'));
  port = await freePort();
  key = '';
  for (const name of CLONE) symlinkSync(resolve(name), join(folder, name));
  symlinkSync(program, join(folder, 'dist'));
});

afterEach(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

afterAll(async () => {
  folder = tmpdir();
  if (POSTGRES !== undefined) await run(`dropdb --if-exists --force ${DATABASE}`);
});

it.each(PAGES.filter((page) => blocksOf(page).length > 0))(
  'what %s says to paste does what it shows',
  async (page) => {
    if (GIVEN[page] !== undefined) await run(GIVEN[page]);
    for (const { text, shown } of blocksOf(page)) {
      const output = linesOf(await run(text));
      expect({ text, missing: shown.filter((line) => !output.includes(line)), output }).toMatchObject({
        text,
        missing: [],
      });
      expect({ text, errors: output.filter((line) => /"status":[45]\d\d\}/.test(line)) }).toEqual({ text, errors: [] });
    }
  },
  120_000,
);

it.each(EXCEPTED)('a block that begins with "%s" is there, and not run: %s', (begins) => {
  const lines = PAGES.flatMap((page) => readFileSync(page, 'utf8').split('\n'));
  expect(lines.some((line) => line.replace(/^\$ /, '').startsWith(begins))).toBe(true);
});
