import { expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Libsql from 'libsql';
import { fileOf, rawQuery } from '../stores/raw-query.js';
import { freshFolder } from '../support/fresh-folder.js';
import { NOBODY } from '../support/servers.js';
import { addPets, openStoreAt } from '../support/stores.js';
import { withoutDatabase } from '../support/working-folder.js';

const folder = freshFolder();

it('commands that start together on one database wait for each other', async () => {
  for (const round of ['a', 'b']) {
    const commands = [
      ['migrate'],
      ['keys', 'create', '--name', `${round}1`],
      ['keys', 'create', '--name', `${round}2`],
      ['seed', '--count', '2000'],
      ['check'],
    ];
    // That limit is for requests, not for commands.
    const outcomes = await Promise.all(commands.map((command) => folder().run(command, { MAX_WAITING: '1' })));
    expect(outcomes.map(({ err }) => withoutDatabase(err))).toEqual(commands.map(() => ''));
  }
});

it('copy waits for another process that has locked the target', async () => {
  await addPets(folder().database, 2);
  const url = `sqlite:${join(folder().path, 'target.sqlite')}`;
  await (await openStoreAt(url)).close();
  const other = new Libsql(fileOf(url));
  other.exec('BEGIN IMMEDIATE');
  const copied = folder().output('copy', '--from', 'sqlite:data/petstore.sqlite', '--to', url);
  await Promise.race([copied, delay(1_500)]).finally(() => other.exec('ROLLBACK'));
  other.close();
  expect(await copied).toContain('2');
});

it.each([
  ['a folder', 'data', 0o555, 'data/pets.sqlite'],
  ['the folder above it', 'data', 0o555, 'data/new/deep/pets.sqlite'],
  ['the folder of the file to which a link leads', 'data', 0o555, 'link'],
  ['the file', 'pets.sqlite', 0o444, 'pets.sqlite'],
  ['its log', 'pets.sqlite-wal', 0o444, 'pets.sqlite'],
])(
  'check fails as the start does if the service may not write to %s, and creates nothing',
  (_what, name, mode, file) => {
    const { path, program } = folder();
    if (mode === 0o555) mkdirSync(join(path, name));
    else writeFileSync(join(path, name), '');
    symlinkSync('data/pets.sqlite', join(path, 'link'));
    chmodSync(join(path, name), mode);
    const uid = process.getuid!() || NOBODY;
    chownSync(path, uid, -1);
    const run = (command: string) => {
      const options = { cwd: path, uid, env: { DATABASE_URL: `sqlite:${file}`, API_KEYS: 'x'.repeat(32), PORT: '0' } };
      return spawnSync(process.execPath, [join(program, 'src/main.js'), command], { ...options, encoding: 'utf8' });
    };
    const reason =
      `DATABASE_URL: the ${mode === 0o555 ? 'folder' : 'file'} "${join(path, name)}" must be writable for uid ${uid}, ` +
      `as which this process runs. It belongs to uid ${process.getuid!()} and has mode ${mode.toString(8)} (EACCES).\n`;
    expect(run('serve')).toMatchObject({ status: 1, stdout: '', stderr: reason });
    expect(run('check')).toMatchObject({ status: 1, stdout: `fail  database  ${reason}` });
    expect(readdirSync(path, { recursive: true }).sort()).toEqual([name, 'link'].sort());
  },
);

it('restore says where', async () => {
  await addPets(folder().database, 2);
  await folder().output('backup', 'a.sqlite');
  const data = join(folder().path, 'data');
  rmSync(data, { recursive: true });
  expect(await folder().output('restore', 'a.sqlite')).toBe(
    `Restored 2 pets and 0 keys from a.sqlite to ${data}/petstore.sqlite.\n`,
  );
});

it.each([
  ['keys create --name shop', 'new/deep/pets.sqlite'],
  ['restore a.sqlite', 'new/deep/pets.sqlite'],
  ['copy --from sqlite:a.sqlite --to sqlite:new/deep/pets.sqlite', 'new/deep/pets.sqlite'],
  ['backup b.sqlite', 'b.sqlite'],
])('what root creates by %s has the owner of the folder around it', async (line, created) => {
  await addPets(folder().database, 2);
  await folder().output('backup', 'a.sqlite');
  chownSync(folder().path, 1_000, 1_000);
  const variables: Record<string, string> = line.startsWith('backup') ? {} : { DATABASE_URL: `sqlite:${created}` };
  expect(await folder().run(line.split(' '), variables)).toMatchObject({ code: 0 });
  for (let path = created; path !== '.'; path = dirname(path))
    expect([path, statSync(join(folder().path, path))]).toMatchObject([path, { uid: 1_000, gid: 1_000 }]);
});

it('backup has every pet that was acknowledged before it began, while 32 clients write', async () => {
  const service = await folder().serve();
  const acknowledged: number[] = [];
  let done = false;
  const client = async () => {
    while (!done) {
      const pet = await service.add(service.key!, { name: 'Bella', categoryId: 1 });
      acknowledged.push((JSON.parse(pet) as { id: number }).id);
    }
  };
  const clients = Array.from({ length: 32 }, client);
  for (let i = 0; i < 3; i++) {
    const before = [...acknowledged];
    await folder().output('backup', `${i}.sqlite`);
    const url = `sqlite:${join(folder().path, `${i}.sqlite`)}`;
    const ids = new Set((await rawQuery(url, 'SELECT id FROM pet')).map(([id]) => id));
    expect(before.filter((id) => !ids.has(id))).toEqual([]);
  }
  done = true;
  await Promise.all(clients);
});

it.each<[string, Record<string, string>, string]>([
  ['a database that cannot be reached', { DATABASE_URL: 'postgres://shop:hunter2@127.0.0.1:1/pets' }, 'database'],
  ['an invalid setting', { PORT: 'http' }, 'settings'],
  ['a file that is no database', { DATABASE_URL: 'sqlite:text' }, 'database'],
])('check fails for %s, and shows no secret', async (_what, variables, name) => {
  writeFileSync(join(folder().path, 'text'), 'x'.repeat(4_096));
  const environment = { API_KEYS: 'a-configured-key', PORTT: 'hunter2', ...variables };
  const { code, out, err } = await folder().run(['check'], environment);
  expect([code, err]).toEqual([1, `1 check failed: ${name}.\n`]);
  expect(out).toMatch(/^warn +PORTT +No setting has this name\. Did you mean PORT\?$/m);
  expect(out + err).not.toMatch(/hunter2|a-configured-key/);
});
