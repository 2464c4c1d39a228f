import { beforeAll, describe, expect, it } from '@jest/globals';
import { textFault } from '../../src/domain/text.js';
import { NAME_MAX_LENGTH } from '../../src/domain/pets/pet.js';
import { memory, openStoreAt } from '../support/stores.js';
import { PetstoreCommand } from './command.js';
import packageJson from '../../package.json' with { type: 'json' };

let command: PetstoreCommand;

beforeAll(async () => {
  command = new PetstoreCommand(await openStoreAt((await memory.create()).url));
});

describe('petstore --help', () => {
  /** The names of the subcommands that a help lists. */
  const listed = (help: string) =>
    [...(help.split('\nCommands:\n')[1]?.split('\n\n')[0] ?? '').matchAll(/^ {2}(\w[\w-]*)/gm)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'help');

  it('describes every command and subcommand', async () => {
    const names = listed((await command.run('--help')).out);
    expect(names).toEqual(expect.arrayContaining(['serve', 'keys', 'seed', 'copy', 'check', 'backup', 'openapi']));
    for (const name of names) {
      const { code, out } = await command.run(`${name} --help`);
      expect([code, out]).toEqual([0, expect.stringContaining(`Usage: petstore ${name}`)]);
      for (const subcommand of listed(out)) {
        const help = (await command.run(`${name} ${subcommand} --help`)).out;
        expect(help).toContain(`Usage: petstore ${name} ${subcommand}`);
      }
    }
  });

  it('is followed by the version if asked for it', async () => {
    expect(await command.run('--version')).toEqual({ code: 0, out: `${packageJson.version}\n`, err: '' });
  });
});

describe('a command line that is not understood', () => {
  it.each([
    ...['keyz', 'keys', 'keys make', 'serve now', 'serve --port 1', 'migrate show', 'keys create --nam x'],
    ...['keys create', 'keys create --name x --json', 'keys revoke', 'openapi --xml', 'copy --from x'],
    ...['backup', 'restore', 'seed', 'seed --count 0', 'seed --count 1.5'],
  ])('exits with 2 and prints nothing but how to get help: %s', async (line) => {
    const { code, out, err } = await command.run(line);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/--help|^Usage: /m);
  });

  it('suggests the command that was probably meant', async () => {
    expect((await command.run('keyz')).err).toContain('keys');
  });
});

it('petstore seed creates as many valid pets as asked for, of every status', async () => {
  expect(await command.run('seed --count 600')).toMatchObject({ code: 0, out: expect.stringContaining('600') });
  const pets = await command.store.pets.list({ limit: 1_000 });
  expect(pets).toHaveLength(600);
  expect(pets.filter(({ name }) => textFault(name, NAME_MAX_LENGTH) !== undefined)).toEqual([]);
  expect(new Set(pets.map(({ status }) => status)).size).toBe(3);
});

it.each([
  ['postgres://user@host/db', 'pg_dump'],
  ['mariadb://user@host/db', 'mariadb-dump'],
  ['memory:', 'must not be memory:'],
])('petstore backup and restore are for SQLite, and on %s name %s', async (url, named) => {
  command.url = url;
  for (const line of ['backup a', 'restore a'])
    expect(await command.run(line)).toMatchObject({ code: 1, out: '', err: expect.stringContaining(named) });
});
