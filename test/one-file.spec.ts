import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { copyFileSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { buildProgram } from './support/program.js';
import { WorkingFolder } from './support/working-folder.js';

// Each command is a process of its own, which takes its time where many run at once.
jest.setTimeout(120_000);

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

/** What a command prints; fails where it does not end well. */
async function printed(...args: string[]): Promise<string> {
  const outcome = await folder.run(args);
  expect(outcome).toEqual({ code: 0, out: outcome.out, err: '' });
  return outcome.out;
}

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

  it('after the service, if a command has ended before it, and with nobody else to read what is beside it', async () => {
    const service = await folder.serve();
    await printed('keys', 'create', '--name', 'shop');
    expect(readdirSync(data)).toEqual(['petstore.sqlite', 'petstore.sqlite-shm', 'petstore.sqlite-wal']);
    for (const file of readdirSync(data)) expect([file, modeOf(join('data', file))]).toEqual([file, '600']);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(readdirSync(data)).toEqual(ALONE);
  });
});

function modeOf(path: string): string {
  return (statSync(join(folder.path, path)).mode & 0o777).toString(8);
}

function idOf(pet: string): number {
  return (JSON.parse(pet) as { id: number }).id;
}
