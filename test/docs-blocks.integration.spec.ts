import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { buildProgram } from './support/program.js';
import { freePort } from './support/servers.js';
import { addPets } from './support/stores.js';

/** A command of a page, and what the page shows of its output. */
interface Block {
  readonly text: string;
  readonly shown: readonly string[];
}

const { PATH, HOME, PETSTORE_TEST_POSTGRES: POSTGRES } = process.env;

/** The database that stands in for the one that a page creates. */
const DATABASE = `petstore_blocks_${process.pid}`;

/** How the commands begin that are not run. */
const EXCEPTED = [
  'npm ci && npm test ', // would run the tests in the tests
  'npm test ',
  'npm run build && npm pack ./dist/client', // test/client/package.integration.spec.ts packs and installs it
  'npm install ../petstore/petstore-client-*.tgz',
  'pg_dump ', // name a server of the reader
  'createdb --host',
  'mariadb',
  'npx --no petstore check', // shows an installation with a fault of each kind
  'docker ', // needs a container engine
  'METRICS_PORT=9464 ', // its port may be in use
  'curl -s http://127.0.0.1:9464',
];

/** What a page presumes: for the first, a database with 1,000 pets, too. */
const GIVEN: Record<string, string> = {
  'docs/databases.md': 'npx --no petstore keys create --name shop --quiet',
  'docs/observability.md': 'npm start',
};

/** The blocks of a page that a reader can paste: those in sh, and those behind a prompt of a user in a console. */
function blocksOf(page: string): Block[] {
  const fences = /^```(sh|console)\n([^]*?)^```\n(?:\n```(?:json)?\n([^]*?)^```\n)?/gm;
  const fenced = [...readFileSync(page, 'utf8').matchAll(fences)];
  const blocks = fenced.flatMap(([, kind, text = '', output = '']): Block[] => {
    if (kind === 'sh') return [{ text, shown: linesOf(output) }];
    const commands = [...text.matchAll(/^\$ (.*\n)((?:(?![$#] ).*\n)*)/gm)];
    return commands.map(([, command = '', shown = '']) => ({ text: command, shown: linesOf(shown) }));
  });
  return blocks.filter(({ text }) => !EXCEPTED.some((beginning) => text.startsWith(beginning)));
}

/** The lines of an output, without what differs each time. */
function linesOf(output: string): string[] {
  return output
    .replace(/pets_\w{36}|[0-9a-f]{64}|\d{4}-\d\d-\d\dT[\d:.-]+Z|(?<=:)\d{4,5}(?=\/)|(?<="key";)r=\d+;t=\d+/g, '…')
    .split(/\r?\n/)
    .filter(Boolean);
}

const PAGES = ['README.md', 'CONTRIBUTING.md', ...readdirSync('docs').map((name) => `docs/${name}`)]
  .filter((name) => name.endsWith('.md'))
  .filter((page) => blocksOf(page).length > 0);

const running = new Set<ChildProcess>();
let program: string;
let folder: string;
let port: number;
let key: string;

/** Runs the command without npx, which takes ten times as long: only the blocks of one page use npx itself. */
const NPX = 'npx() { [ "$1 $2" = "--no petstore" ] && node dist/src/main.js "${@:3}"; }';
let npx: string;

/** Runs a block in a shell, until it ends or the service has started, and resolves to its output. */
async function run(text: string): Promise<string> {
  const block = text
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)
    .replaceAll('postgres://postgres@127.0.0.1/petstore', `${POSTGRES}/${DATABASE}`)
    .replace('--template=template0 petstore\n', `--template=template0 ${DATABASE}\n`);
  const starts = block.includes('npm start');
  if (starts) await stop();
  const child = shell(block);
  const closed = once(child, 'close').then(() => running.delete(child));
  let [out, err] = ['', ''];
  child.stderr?.on('data', (bytes: Buffer) => (err += bytes.toString()));
  const started = new Promise<void>((resolve) => {
    child.stdout?.on('data', (bytes: Buffer) => {
      out += bytes.toString();
      if (starts && /^(Try|Keys): .*\n/m.test(out)) resolve();
    });
  });
  await Promise.race([started, closed]);
  if (child.exitCode !== (starts ? null : 0)) throw new Error(`${block}ended with ${child.exitCode}:\n${out}\n${err}`);
  key = /^Keep: export KEY=(\w+)$/m.exec(out)?.[1] ?? key;
  // The pages show a clone in this folder.
  return `${out}\n${err}`.replaceAll(folder, '/opt/petstore');
}

function shell(commands: string): ChildProcess {
  // The packages are installed.
  const npm = 'npm() { [ "$1" = ci ] || command npm "$@"; }';
  const lines = `set -eo pipefail\n${npm}\n${npx}\n${commands}`;
  const { hostname: PGHOST, port: PGPORT, username: PGUSER } = new URL(POSTGRES as string);
  const env = { PATH, HOME, PORT: String(port), KEY: key, PGHOST, PGPORT, PGUSER };
  // In a process group of its own, as in a terminal, so that Ctrl-C reaches all of it.
  const child = spawn('bash', ['-c', lines], { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  return child;
}

/** Stops the service, as Ctrl-C does. */
async function stop(): Promise<void> {
  for (const child of running) {
    const closed = once(child, 'close');
    process.kill(-(child.pid as number), 'SIGINT');
    await closed;
  }
}

beforeAll(() => {
  program = buildProgram();
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'petstore-blocks-'));
  port = await freePort();
  key = '';
  // A clone of the project, without what is kept beside it and with the program built.
  const files = readdirSync('.').filter((name) => !['data', 'dist', '.env'].includes(name));
  for (const name of files) symlinkSync(resolve(name), join(folder, name));
  symlinkSync(program, join(folder, 'dist'));
  // Newer than all of them, so that `npm start` does not build again.
  const later = new Date(Date.now() + 1_000);
  utimesSync(join(program, 'src', 'main.js'), later, later);
});

afterEach(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

afterAll(async () => {
  folder = tmpdir();
  await run(`dropdb --if-exists --force ${DATABASE}`);
});

it.each(PAGES)(
  'the commands of %s print what it shows',
  async (page) => {
    npx = page === 'README.md' ? '' : NPX;
    if (GIVEN[page] !== undefined) await run(GIVEN[page]);
    if (page === 'docs/databases.md') await addPets(`sqlite:${join(folder, 'data/petstore.sqlite')}`, 1_000);
    for (const { text, shown } of blocksOf(page)) {
      const output = linesOf(await run(text));
      const missing = shown.filter((line) => !output.includes(line));
      const errors = output.filter((line) => /"status":[45]\d\d\}/.test(line));
      expect({ text, output, missing, errors }).toEqual({ text, output, missing: [], errors: [] });
    }
  },
  120_000,
);
