import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { newPetJson } from '../support/fields.js';
import { freshFolder } from '../support/fresh-folder.js';
import { RunningService } from '../support/working-folder.js';

const folder = freshFolder();
let service: RunningService;

beforeEach(async () => {
  service = await folder().serve();
});

afterEach(() => service.end('SIGKILL'));

/** Lets the service write no further than so many bytes into any file; SQLite is told of that as of a full disk. */
function limitFiles(bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:`]);
}

const add = () =>
  service.send(service.key!, '/pets', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: newPetJson(),
  });

it('a full disk is 503 for writes, reads go on, and so do writes once there is room', async () => {
  expect((await add()).status).toBe(201);
  limitFiles(0);
  const before = await (await service.send(service.key!)).text();
  for (const { status, headers } of await Promise.all([add(), add(), add()]))
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
  const during = await service.send(service.key!);
  expect([during.status, await during.text()]).toEqual([200, before]);
  limitFiles('unlimited');
  const { id } = (await (await add()).json()) as { id: number };
  expect((await service.send(service.key!, `/pets/${id}`)).status).toBe(200);
});
