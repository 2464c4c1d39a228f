import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Libsql from 'libsql';
import { buildProgram } from './support/program.js';
import { WorkingFolder } from './support/working-folder.js';

// Each command is a process of its own, which takes its time if many run at once.
jest.setTimeout(120_000 + 10_000 * Number(process.env.BACKUPS ?? 0));

let program: string;
let folder: WorkingFolder;
let data: string;

beforeAll(() => {
  program = buildProgram();
});

beforeEach(() => {
  folder = new WorkingFolder(program);
  data = join(folder.path, 'data');
});

afterEach(() => folder.remove());

/** What a command prints; fails if it does not end well. */
async function printed(...args: string[]): Promise<string> {
  const outcome = await folder.run(args);
  expect(outcome).toEqual({ code: 0, out: outcome.out, err: '' });
  return outcome.out;
}

/** What a command says, in one line, when it does not end well. */
async function complaint(...args: string[]): Promise<string> {
  const { code, out, err } = await folder.run(args);
  expect([code, out]).toEqual([1, '']);
  expect(err).toMatch(/^[^\n]+\n$/);
  return err.trimEnd();
}

const file = () => join(data, 'petstore.sqlite');

/** How many backups are made below the load. */
const BACKUPS = Number(process.env.BACKUPS ?? 20);

const ALONE = ['petstore.sqlite'];

describe('all that SQLite keeps is in the one file', () => {
  it.each(['1', '2'])(
    'once %s process(es) have stopped in order: a copy of it alone has every animal and key',
    async (n) => {
      const service = await folder.serve({ WEB_CONCURRENCY: n });
      const key = service.key as string;
      const added = await Promise.all(
        Array.from({ length: 50 }, (_, i) => service.add(key, { name: `Pet ${i}`, categoryId: i })),
      );
      expect(await service.end('SIGTERM')).toBe(0);
      expect(readdirSync(data)).toEqual(ALONE);

      const elsewhere = join(folder.path, 'elsewhere');
      mkdirSync(elsewhere);
      copyFileSync(join(data, 'petstore.sqlite'), join(elsewhere, 'copy.sqlite'));
      const second = await folder.serve({ DATABASE_URL: 'sqlite:elsewhere/copy.sqlite' });
      expect(second.key).toBeUndefined();
      const pets = (await (await second.send(key, '/pets?limit=100')).json()) as { id: number }[];
      expect(pets.map((pet) => JSON.stringify(pet))).toEqual(added.sort((a, b) => idOf(b) - idOf(a)));
      expect(await second.end('SIGINT')).toBe(0);
      expect(readdirSync(elsewhere)).toEqual(['copy.sqlite']);
    },
  );

  it("after each command, and the files are their owner's alone", async () => {
    const commands = [
      ['migrate', 'run'],
      ['migrate'],
      ['keys', 'create', '--name', 'shop'],
      ['keys', 'list'],
      ['keys', 'callers'],
      ['seed', '--count', '600'],
      ['keys', 'revoke', 'shop'],
    ];
    for (const command of commands) {
      await printed(...command);
      expect([command, readdirSync(data)]).toEqual([command, ALONE]);
    }
    await printed('copy', '--from', 'sqlite:data/petstore.sqlite', '--to', 'sqlite:copy/copy.sqlite');
    expect(readdirSync(data)).toEqual(ALONE);
    expect(readdirSync(join(folder.path, 'copy'))).toEqual(['copy.sqlite']);
    expect(modeOf('copy')).toBe('700');
    expect(modeOf('copy/copy.sqlite')).toBe('600');
    await printed('migrate', 'revert');
    expect(readdirSync(data)).toEqual(ALONE);
    // What cannot be done is no reason to leave something.
    expect((await folder.run(['keys', 'revoke', 'nobody'])).code).toBe(1);
    expect(readdirSync(data)).toEqual(ALONE);
  });

  it('and none is made by a copy of what is not there', async () => {
    expect(await complaint('copy', '--from', 'sqlite:typo', '--to', 'sqlite:copy/copy.sqlite')).toBe(
      '--from must name a SQLite database that is there; "typo" cannot be opened (ENOENT).',
    );
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it('after the service, if a command has ended before it, and with nobody else to read what is beside it', async () => {
    const service = await folder.serve();
    await printed('keys', 'create', '--name', 'shop');
    expect(readdirSync(data)).toEqual(['petstore.sqlite', 'petstore.sqlite-shm', 'petstore.sqlite-wal']);
    for (const file of readdirSync(data)) expect([file, modeOf(join('data', file))]).toEqual([file, '600']);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(readdirSync(data)).toEqual(ALONE);
  });
});

describe('backup and restore', () => {
  const BACKUP = ['backup', 'backups/a.sqlite'];
  const checksumIn = (text: string) => /checksum ([0-9a-f]{64})\.$/m.exec(text)?.[1];

  it('bring all back, the counter of the ids too, and keep what was there under another name', async () => {
    const first = await folder.serve();
    const key = first.key as string;
    const bella = await first.add(key, { name: 'Bella', categoryId: 1 });
    const rex = await first.add(key, { name: 'Rex', categoryId: 1 });
    const other = new Libsql(file());
    other.exec(`DELETE FROM pet WHERE name = 'Rex'`);
    other.close();
    const told = await printed(...BACKUP);
    expect(told).toMatch(/^Backed up 1 animals and 1 keys to backups\/a\.sqlite; they have the checksum \S{64}\.\n$/);
    expect([modeOf('backups'), modeOf('backups/a.sqlite')]).toEqual(['700', '600']);
    expect(readdirSync(join(folder.path, 'backups'))).toEqual(['a.sqlite']);
    await first.add(key, { name: 'Lost', categoryId: 1 });
    await first.end('SIGKILL');
    expect(readdirSync(data)).toContain('petstore.sqlite-wal');

    const restored = await printed('restore', 'backups/a.sqlite');
    expect(checksumIn(restored)).toBe(checksumIn(told));
    const kept = /^What was there before is kept in (\.\/data\/\S+)\.$/m.exec(restored)?.[1] as string;
    expect(modeOf('data/petstore.sqlite')).toBe('600');
    const names = readdirSync(data).filter((name) => !join('data', name).startsWith(join(kept)));
    expect(names).toEqual(ALONE);
    const second = await folder.serve();
    expect(await (await second.send(key)).text()).toBe(`[${bella}]`);
    expect(idOf(await second.add(key, { name: 'New', categoryId: 1 }))).toBe(idOf(rex) + 1);
    expect(await second.end('SIGTERM')).toBe(0);
    const third = await folder.serve({ DATABASE_URL: `sqlite:${kept}` });
    expect(await (await third.send(key)).text()).toContain('Lost');
  });

  it('never write over a file, and leave nothing of an attempt', async () => {
    await printed('seed', '--count', '3');
    await printed(...BACKUP);
    const before = readFileSync(join(folder.path, 'backups/a.sqlite'));
    expect(await complaint(...BACKUP)).toBe(
      'The backup must be a file that is not there yet; "backups/a.sqlite" is there.',
    );
    expect(readFileSync(join(folder.path, 'backups/a.sqlite'))).toEqual(before);
    expect(readdirSync(join(folder.path, 'backups'))).toEqual(['a.sqlite']);
  });

  it('leave nothing under the name if they are killed, and what they leave says what it is', async () => {
    await printed('seed', '--count', '20000');
    const backups = join(folder.path, 'backups');
    const child = spawn(process.execPath, [join(program, 'src/main.js'), ...BACKUP], { cwd: folder.path });
    const ended = once(child, 'close');
    while (child.exitCode === null && !readdirIn(backups).some((name) => name.includes('unfinished')))
      await new Promise((resolve) => setTimeout(resolve, 1));
    child.kill('SIGKILL');
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect(readdirSync(backups)).toEqual([expect.stringMatching(/^a\.sqlite\.unfinished-\w{6}$/)]);
    expect(await printed(...BACKUP)).toContain('Backed up 20000 animals');
  });

  it('make no store if there is none to back up', async () => {
    expect(await complaint(...BACKUP)).toMatch(
      /^DATABASE_URL must name a SQLite database that is there; .* \(ENOENT\)\.$/,
    );
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it.each(['1', '2'])('refuse to restore below a service of %s process(es) that has nothing to do', async (n) => {
    const service = await folder.serve({ WEB_CONCURRENCY: n });
    const key = service.key as string;
    await printed(...BACKUP);
    const bella = await service.add(key, { name: 'Bella', categoryId: 1 });
    const before = readdirSync(data);
    expect(await complaint('restore', 'backups/a.sqlite')).toBe(
      '"./data/petstore.sqlite" is open in another process; stop the service, and all that works on it, first.',
    );
    expect(readdirSync(data)).toEqual(before);
    expect(await (await service.send(key)).text()).toBe(`[${bella}]`);
  });

  it('refuse a backup that is damaged, or none, and change nothing', async () => {
    await printed('seed', '--count', '2000');
    await printed(...BACKUP);
    const stored = readFileSync(file());
    const bytes = readFileSync(join(folder.path, 'backups/a.sqlite'));
    bytes.fill(7, bytes.length / 2, bytes.length / 2 + 8_192);
    writeFileSync(join(folder.path, 'damaged.sqlite'), bytes);
    writeFileSync(join(folder.path, 'empty.sqlite'), '');
    writeFileSync(join(folder.path, 'text'), 'a backup, one might think');
    expect(await complaint('restore', 'damaged.sqlite')).toMatch(/^"damaged\.sqlite" is damaged: /);
    expect(await complaint('restore', 'empty.sqlite')).toMatch(/^"empty\.sqlite" has not the schema of this build/);
    expect(await complaint('restore', 'text')).toMatch(/is no SQLite database\.$/);
    expect(await complaint('restore', 'nowhere')).toMatch(/\(ENOENT\)\.$/);
    expect(readdirSync(data)).toEqual(ALONE);
    expect(readFileSync(file())).toEqual(stored);
    expect(readdirSync(folder.path)).not.toContain('nowhere');
  });

  it('restore if a file was put by hand beside the log of another, and if it is damaged, or gone', async () => {
    const service = await folder.serve();
    const key = service.key as string;
    const bella = await service.add(key, { name: 'Bella', categoryId: 1 });
    await printed(...BACKUP);
    for (let i = 0; i < 20; i++) await service.add(key, { name: 'Rex', categoryId: 1 });
    await service.end('SIGKILL');
    const spoil = [
      () => copyFileSync(join(folder.path, 'backups/a.sqlite'), file()),
      () => writeFileSync(file(), 'what is this'),
      () => rmSync(file()),
    ];
    for (const spoilt of spoil) {
      spoilt();
      await printed('restore', 'backups/a.sqlite');
      expect(readdirSync(data).filter((name) => !name.includes('.before-'))).toEqual(ALONE);
      const next = await folder.serve();
      expect(await (await next.send(key)).text()).toBe(`[${bella}]`);
      await next.end('SIGKILL');
    }
  });

  it('make whole backups while 32 clients write: each has every pet that was acknowledged before it began', async () => {
    const service = await folder.serve();
    const key = service.key as string;
    const acknowledged: number[] = [];
    let isDone = false;
    const write = async () => {
      while (!isDone) acknowledged.push(idOf(await service.add(key, { name: 'Bella', categoryId: 1 })));
    };
    const clients = Array.from({ length: 32 }, write);
    for (let i = 0; i < BACKUPS; i++) {
      const before = [...acknowledged];
      const told = await printed('backup', `backups/${i}.sqlite`);
      const backup = new Libsql(join(folder.path, `backups/${i}.sqlite`));
      const ids = new Set((backup.prepare('SELECT id FROM pet').raw().all() as [number][]).map(([id]) => id));
      expect(before.filter((id) => !ids.has(id))).toEqual([]);
      expect(backup.prepare('PRAGMA integrity_check').raw().all()).toEqual([['ok']]);
      expect(told).toContain(`Backed up ${ids.size} animals and 1 keys`);
      backup.close();
    }
    isDone = true;
    await Promise.all(clients);
    expect(acknowledged.length).toBeGreaterThan(BACKUPS);
  });

  it.each([
    ['memory:', 'DATABASE_URL=memory: is gone with its process, and has no backup.'],
    ['postgres://x@127.0.0.1:1/x', /pg_dump and pg_restore; docs\/backup\.md shows how\.$/],
    ['mariadb://x@127.0.0.1:1/x', /mariadb-dump and mariadb; docs\/backup\.md shows how\.$/],
    ['mysql://x@127.0.0.1:1/x', /mysqldump and mysql; docs\/backup\.md shows how\.$/],
  ])('are the own tools of a database that is none of SQLite: %s', async (url, line) => {
    for (const command of ['backup', 'restore']) {
      const { code, err } = await folder.run([command, 'a'], { DATABASE_URL: url });
      expect([code, err.trimEnd()]).toEqual([1, typeof line === 'string' ? line : expect.stringMatching(line)]);
    }
  });
});

/** The names in a folder; none if it is not there. */
function readdirIn(path: string): string[] {
  return existsSync(path) ? readdirSync(path) : [];
}

function modeOf(path: string): string {
  return (statSync(join(folder.path, path)).mode & 0o777).toString(8);
}

function idOf(pet: string): number {
  return (JSON.parse(pet) as { id: number }).id;
}
