import { describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freshFolder } from '../support/fresh-folder.js';

const folder = freshFolder();

describe('petstore backup and restore', () => {
  it('say how many pets and keys there are', async () => {
    await folder().run(['seed', '--count', '3']);
    await folder().run(['keys', 'create', '--name', 'shop']);
    const backup = await folder().run(['backup', 'backup.sqlite']);
    expect(backup).toMatchObject({ code: 0, out: expect.stringMatching(/3 .*1 key.*backup\.sqlite/), err: '' });
    const restore = await folder().run(['restore', 'backup.sqlite']);
    expect(restore).toMatchObject({ code: 0, out: expect.stringMatching(/3 .*1 key/), err: '' });
  });

  it.each([
    ['a backup to a file that exists', ['backup', 'taken'], {}],
    ['a restore from a file that does not exist', ['restore', 'absent.sqlite'], {}],
    ['a backup of a database server', ['backup', 'copy.sqlite'], { DATABASE_URL: 'postgres://me@127.0.0.1:1/pets' }],
    ['a backup of a database in memory', ['backup', 'copy.sqlite'], { DATABASE_URL: 'memory:' }],
  ])('reject %s with 1 and a line', async (_case, args, variables) => {
    writeFileSync(join(folder().path, 'taken'), '');
    const { code, out, err } = await folder().run(args, variables);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^[^\n]{20,300}\n$/);
  });
});
