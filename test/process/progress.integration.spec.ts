import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { rawQuery } from '../stores/raw-query.js';
import { freshFolder } from '../support/fresh-folder.js';
import { openStoreAt, postgres, type TestStore } from '../support/stores.js';

const folder = freshFolder();

const pathOf = (name: string) => join(folder().path, name);
const countOf = async (url: string) => Number((await rawQuery(url, 'SELECT count(*) FROM pet'))[0]![0]);

/** Adds this many pets to a SQLite database. */
async function fill(url: string, count: number): Promise<void> {
  await (await openStoreAt(url)).close();
  await rawQuery(
    url,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO pet (name, category_id, status) SELECT 'Pet ' || i, 1, 'sold' FROM n`,
  );
}

/** A migrated SQLite database in which an INSERT of a pet takes half a millisecond or so. */
async function slowTarget(): Promise<string> {
  const url = `sqlite:${pathOf('target.sqlite')}`;
  await (await openStoreAt(url)).close();
  await rawQuery(
    url,
    `CREATE TRIGGER slow BEFORE INSERT ON pet BEGIN
       SELECT (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT max(i) FROM n);
     END`,
  );
  return url;
}

describe('on a terminal', () => {
  const PETS = 10_000;
  const copy = (to: string) => ['copy', '--from', 'sqlite:data/petstore.sqlite', '--to', to];
  /** The lines that a terminal shows one after the other. */
  const statesOf = (got: string) => got.split(/\r|\n|\u001b\[1G/).map((line) => line.replaceAll(/\u001b\[\d?K/g, ''));
  const shares = (got: string) =>
    statesOf(got)
      .flatMap((state) => /^Copying \[=* *\] (\d+) %/.exec(state)?.[1] ?? [])
      .map(Number);

  beforeEach(() => fill(folder().database, PETS));

  it('a copy has a bar, which never goes back and is gone in the end', async () => {
    const { code, got } = await folder().onTerminal(copy(await slowTarget()));
    const seen = shares(got);
    expect(new Set(seen.filter((share) => share > 0 && share < 100)).size).toBeGreaterThanOrEqual(5);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(statesOf(got).filter((state) => state.length >= 80)).toEqual([]);
    expect([code, got]).toEqual([
      0,
      expect.stringMatching(/\u001b\[1G\u001b\[2KCopied 10000 pets and 0 keys\.\r\n.*\r\n$/),
    ]);
    // It changes no color, and no setting of the terminal.
    expect(got.replaceAll(/\u001b\[(?:1G|[02]?K)/g, '')).not.toContain('\u001b');
  });

  it('a copy that Ctrl-C ends leaves a whole line, and says what is left behind', async () => {
    const url = await slowTarget();
    const { code, got } = await folder().onTerminal(copy(url), (seen) => shares(seen).length >= 3);
    expect([code, got.split('\u001b[2K').at(-1)]).toEqual([
      130,
      expect.stringMatching(
        /^Copying: \d+ %, [\d,]+ of 10,000 rows, .*\.\r\nInterrupted \(SIGINT\)\. Nothing was copied: .*\.\r\n$/,
      ),
    ]);
    expect(await countOf(url)).toBe(0);
    await rawQuery(url, 'DROP TRIGGER slow');
    expect((await folder().run(copy(url))).out).toContain('Copied 10000 pets');
  });

  it('check marks what it found by color, in groups', async () => {
    const { code, got } = await folder().onTerminal(['check', '--verbose']);
    const [, warned] = got.split('\r\n\r\n');
    expect(got).toMatch(/^\u001b\[32mok\u001b\[39m +DATABASE_URL /);
    expect([code, warned]).toEqual([
      0,
      expect.stringMatching(/^\u001b\[33mwarn\u001b\[39m +API keys +No key [^]* 1 warning\.\r\n$/),
    ]);
  });

  it('a copy with --quiet has none', async () => {
    const { got } = await folder().onTerminal([...copy(await slowTarget()), '--quiet']);
    expect(got).toMatch(/^Database: .*\r\nCopied 10000 pets and 0 keys\.\r\n.*\r\n$/);
  });
});

describe('a command that is interrupted says what is left behind:', () => {
  const beginnings = (name: string) =>
    readdirSync(dirname(pathOf(name))).filter((each) => each.includes('.unfinished-'));

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('backup, by %s', async (signal) => {
    await fill(folder().database, 500_000);
    const begun = () => beginnings('a.sqlite').length > 0;
    const { code, out, err } = await folder().interrupt(['backup', 'a.sqlite'], begun, {}, signal);
    expect([code, out]).toEqual([{ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }[signal], '']);
    expect(err).toMatch(/Interrupted \(\w+\)\. There is no backup, and the database is as it was\..*\n$/);
    expect([beginnings('a.sqlite'), existsSync(pathOf('a.sqlite'))]).toEqual([[], false]);
    expect((await folder().run(['backup', 'a.sqlite'])).out).toContain('Backed up 500000 pets');
  });

  it('restore', async () => {
    const other = `sqlite:${pathOf('other.sqlite')}`;
    await fill(other, 500_000);
    await folder().output('seed', '--count', '2');
    const begun = () => beginnings('data/petstore.sqlite').length > 0;
    const { code, err } = await folder().interrupt(['restore', 'other.sqlite'], begun);
    expect([code, err]).toEqual([130, expect.stringMatching(/Interrupted.*Nothing was restored.*\n$/)]);
    expect([beginnings('data/petstore.sqlite'), await countOf(folder().database)]).toEqual([[], 2]);
    expect((await folder().run(['restore', 'other.sqlite'])).out).toContain('Restored 500000 pets');
  });

  it('seed', async () => {
    await folder().output('migrate');
    // It may be locked for a moment.
    const begun = () =>
      countOf(folder().database).then(
        (count) => count > 1_000,
        () => false,
      );
    const { code, err } = await folder().interrupt(['seed', '--count', '1000000'], begun);
    const [, created] = /^Creating: \d+ %, ([\d,]+) of 1,000,000 pets/m.exec(err)!;
    expect([code, err]).toEqual([130, expect.stringContaining('They stay, and at most 256 more.')]);
    const more = (await countOf(folder().database)) - Number(created!.replaceAll(',', ''));
    expect(more).toBeGreaterThanOrEqual(0);
    expect(more).toBeLessThanOrEqual(256);
  });
});

it('every exit code in docs/cli.md is one of the program, and every one of the program is there', async () => {
  const codes: Record<string, number | null> = {};
  const lines = ['--version', 'keys create --name shop', 'keys list', 'keys revoke nobody', 'key list'];
  for (const line of lines) codes[line] = (await folder().run(line.split(' '))).code;
  const asked: unknown[] = [];
  const silent = createServer((socket) => void asked.push(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const variables = { DATABASE_URL: `postgres://me@127.0.0.1:${port}/pets` };
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
    asked.length = 0;
    const { code, err } = await folder().interrupt(['check'], () => asked.length > 0, variables, signal);
    codes[signal] = code;
    expect(err).toBe(`Checking: 0 s.\nInterrupted (${signal}). Nothing was changed.\n`);
  }
  silent.close();
  expect(Object.values(codes)).toEqual([0, 0, 0, 1, 2, 129, 130, 143]);
  const documented = readFileSync('docs/cli.md', 'utf8').matchAll(/^\| (\d+) +\|/gm);
  expect(Array.from(documented, ([, code]) => Number(code))).toEqual([...new Set(Object.values(codes))]);
});

describe('on PostgreSQL', () => {
  let store: TestStore;
  let other: pg.Client;

  beforeEach(async () => {
    store = await postgres.create();
    await (await openStoreAt(store.url)).close();
    other = new pg.Client(store.url);
    await other.connect();
  });

  afterEach(async () => {
    await other.end();
    await store.remove();
  });

  it('a migration that is interrupted continues', async () => {
    await other.query(`ALTER TABLE pet DROP COLUMN request_key, DROP COLUMN fingerprint, DROP COLUMN requested_at,
      DROP COLUMN replays; ALTER TABLE api_key DROP COLUMN owner;
      DELETE FROM migrations WHERE name LIKE 'AddRequests%'`);
    await other.query('BEGIN; LOCK TABLE pet IN ACCESS EXCLUSIVE MODE');
    const isWaiting = async () =>
      (await other.query('SELECT 1 FROM pg_locks WHERE relation = to_regclass($1) AND NOT granted', ['pet'])).rows
        .length > 0;
    const variables = { DATABASE_URL: store.url };
    const { code, err } = await folder().interrupt(['migrate'], isWaiting, variables);
    await other.query('ROLLBACK');
    expect([code, err]).toEqual([
      130,
      expect.stringMatching(
        /^Applying AddRequests\d+: \d s\.\nInterrupted \(SIGINT\)\. The schema is that before AddR/m,
      ),
    ]);
    expect(await folder().run(['migrate'], variables)).toMatchObject({
      code: 0,
      out: 'Applied AddRequests1795824000000.\n',
    });
  });

  it('a copy without a terminal has a line after ten seconds', async () => {
    await fill(folder().database, 1_000);
    // It copies 500 rows by one INSERT.
    await other.query(`CREATE FUNCTION wait() RETURNS trigger AS 'BEGIN PERFORM pg_sleep(6); RETURN NULL; END'
      LANGUAGE plpgsql; CREATE TRIGGER slow BEFORE INSERT ON pet EXECUTE FUNCTION wait()`);
    const copy = ['copy', '--from', 'sqlite:data/petstore.sqlite', '--to', store.url];
    expect(await folder().run(copy)).toEqual({
      code: 0,
      out: expect.stringContaining('Copied 1000 pets'),
      err: expect.stringMatching(/^Copying: 50 %, 500 of 1,000 rows, \d+ s left, \d+\/s\.\n$/m),
    });
  });
});
