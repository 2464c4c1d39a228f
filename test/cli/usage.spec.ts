import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NAME_MAX_LENGTH } from '../../src/domain/pets/pet.js';
import { textFault } from '../../src/domain/text.js';
import { openStoreAt, sqlite } from '../support/stores.js';
import { petstore } from './command.js';
import packageJson from '../../package.json' with { type: 'json' };

const run = (line: string, url = 'sqlite:pets.sqlite') => petstore(line, url);

describe('petstore --help', () => {
  /** The names of the subcommands that a help lists. */
  const listed = (help: string) =>
    [...(help.split('\nCommands:\n')[1]?.split('\n\n')[0] ?? '').matchAll(/^ {2}(\w[\w-]*)/gm)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'help');

  function expectExample(command: string, help: string): void {
    const [usage, line = ''] = help.split('\nExample:\n  ');
    expect(line).toMatch(new RegExp(`^(?:[A-Z_]+=\\S+ )?petstore ${command}(?: .*)?\n$`));
    for (const [option] of line.matchAll(/--\w+/g)) expect(usage).toContain(`  ${option}`);
  }

  it('describes every command and subcommand, with an example of its own options', async () => {
    const names = listed((await run('--help')).out);
    expect(names).toEqual(expect.arrayContaining(['serve', 'keys', 'seed', 'copy', 'check', 'backup', 'openapi']));
    for (const name of names) {
      const { code, out } = await run(`${name} --help`);
      expect([code, out]).toEqual([0, expect.stringContaining(`Usage: petstore ${name}`)]);
      for (const subcommand of listed(out)) {
        const help = (await run(`${name} ${subcommand} --help`)).out;
        expect(help).toContain(`Usage: petstore ${name} ${subcommand}`);
        expectExample(`${name} ${subcommand}`, help);
      }
      if (listed(out).length === 0) expectExample(name, out);
    }
  });
});

it('petstore --version prints the version', async () => {
  expect(await run('--version')).toEqual({ code: 0, out: `${packageJson.version}\n`, err: '' });
});

describe('a command line that is not understood', () => {
  it.each([
    ...['keyz', 'keys', 'keys make', 'serve now', 'serve --port 1', 'migrate show', 'keys create --nam x'],
    ...['keys create', 'keys create --name x --json', 'keys revoke', 'openapi --xml', 'copy --from x'],
    ...['backup', 'restore', 'seed', 'seed --count 0', 'seed --count 1.5'],
  ])('exits with 2, and says how to get help: %s', async (line) => {
    const { code, out, err } = await run(line);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/--help|^Usage: /m);
  });

  it('suggests the command or the option that was probably meant', async () => {
    expect((await run('keyz')).err).toContain('(Did you mean keys?)');
    expect((await run('keys lst')).err).toContain('(Did you mean list?)');
    expect((await run('check --verbos')).err).toContain('(Did you mean --verbose?)');
  });
});

it('petstore migrate prints what it applies, as JSON with --json', async () => {
  const store = await sqlite.create('empty');
  const applied = JSON.parse((await run('migrate --json', store.url)).out) as string[];
  expect(applied).toEqual(applied.map(() => expect.stringMatching(/^[A-Z]\w+\d{13}$/)));
  expect(applied.length).toBeGreaterThanOrEqual(4);
  expect(await run('migrate --json', store.url)).toMatchObject({ code: 0, out: '[]\n' });
  expect((await run('migrate', store.url)).out).toBe('The schema is up to date.\n');
  await store.remove();
});

it('petstore seed creates as many valid pets as asked for, of every status', async () => {
  const store = await sqlite.create();
  expect(await run('seed --count 600', store.url)).toMatchObject({ code: 0, out: expect.stringContaining('600') });
  const { pets, close } = await openStoreAt(store.url);
  const created = await pets.list({ limit: 1_000 });
  await close();
  expect(created).toHaveLength(600);
  expect(created.filter(({ name }) => textFault(name, NAME_MAX_LENGTH) !== undefined)).toEqual([]);
  expect(new Set(created.map(({ status }) => status)).size).toBe(3);
  await store.remove();
});

it.each([
  ['postgres://user@host/db', 'pg_dump'],
  ['mariadb://user@host/db', 'mariadb-dump'],
  ['memory:', 'must not be memory:'],
])('petstore backup and restore are for SQLite, and on %s name %s', async (url, named) => {
  for (const line of ['backup a', 'restore a'])
    expect(await run(line, url)).toMatchObject({ code: 1, out: '', err: expect.stringContaining(named) });
});

describe('a command that reads or writes a file', () => {
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-files-'));
    await run('migrate', `sqlite:${folder}/pets.sqlite`);
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ...['backup /dev/stdout', 'backup /dev/null', 'backup DIR', 'restore /dev/null', 'restore DIR'],
    'copy --from sqlite:DIR --to sqlite:DIR/b.sqlite',
  ])('rejects what is no regular file: %s', async (line) => {
    const rejected = await run(line.replaceAll('DIR', folder), `sqlite:${folder}/pets.sqlite`);
    expect(rejected).toMatchObject({ code: 1, out: '', err: expect.stringContaining('regular file') });
    expect(readdirSync(folder).filter((name) => !name.startsWith('pets.sqlite'))).toEqual([]);
  });

  it.each([
    ...['backup -', 'restore -', 'copy --from sqlite:- --to sqlite:b.sqlite'].map((line) => [line, 'not -']),
    ...['backup ~/a', 'restore $HOME/a', 'copy --from sqlite:~/a --to sqlite:b.sqlite'].map((line) => [
      line,
      'in full',
    ]),
  ])('rejects what is no path: %s', async (line = '', message) => {
    expect(await run(line)).toMatchObject({ code: 1, out: '', err: expect.stringContaining(message ?? '') });
  });
});
