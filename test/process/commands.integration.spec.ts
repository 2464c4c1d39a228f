import { describe, expect, it } from '@jest/globals';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfiguredKeys, readSettings } from '../../src/settings/settings.js';
import { freshFolder } from '../support/fresh-folder.js';
import { freePort } from '../support/servers.js';
import { addPets, mariadb, openStoreAt, postgres, sqlite } from '../support/stores.js';
import { until, withoutDatabase } from '../support/working-folder.js';
import { fileOf, rawQuery } from '../stores/raw-query.js';

const folder = freshFolder();

/** Within what time every instance must reject a revoked key, in milliseconds. */
const REVOCATION = 5_000;

it.each([sqlite, postgres])(
  'keys on $name are created and revoked while two instances serve, which know at once or within five seconds',
  async (kind) => {
    const store = await kind.create();
    const variables = { NODE_ENV: 'production', DATABASE_URL: store.url };
    const services = [await folder().serve(variables), await folder().serve(variables)];
    const petstore = async (line: string) => (await folder().run(line.split(' '), variables)).out.trimEnd();
    const key = await petstore('keys create --name shop --quiet');
    const statuses = () => Promise.all(services.map(async (service) => (await service.send(key)).status));
    expect(await statuses()).toEqual([200, 200]);
    await petstore('keys revoke shop');
    const revoked = performance.now();
    if (kind === sqlite) expect(await statuses()).toEqual([401, 401]);
    while ((await statuses()).some((status) => status !== 401))
      expect(performance.now() - revoked).toBeLessThan(REVOCATION);
    expect(await (await services[0]!.send(key)).json()).toMatchObject({ code: 'api_key_revoked' });
    await folder().remove();
    await store.remove();
  },
);

it('a rotation while a create is retried through two instances adds no second pet', async () => {
  const store = await postgres.create();
  const variables = { NODE_ENV: 'production', DATABASE_URL: store.url };
  const services = [await folder().serve(variables), await folder().serve(variables)];
  const petstore = async (line: string) => (await folder().run(line.split(' '), variables)).out.trimEnd();
  const old = await petstore('keys create --name shop --quiet');
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': 'retried' };
  const create = async (key: string, instance: number) => {
    const init = { method: 'POST', headers, body: '{"name":"Bella","categoryId":1}' };
    const { status, headers: sent } = await services[instance]!.send(key, '/pets', init);
    return [status, sent.get('location'), sent.get('idempotent-replayed')];
  };
  const [, location] = await create(old, 0);
  const key = await petstore('keys rotate shop --quiet');
  for (const [sent, instance] of [
    [key, 0],
    [key, 1],
    [old, 1],
  ] as const)
    expect(await create(sent, instance)).toEqual([201, location, 'true']);
  await folder().remove();
  await store.remove();
});

it.each([
  ...['keys list', 'keys callers', 'keys revoke shop'],
  ...['backup copy.sqlite', 'restore absent', 'copy --from sqlite:absent --to sqlite:b'],
])('a command that only reads creates no database: %s', async (line) => {
  expect(await folder().error(line.split(' '))).toContain('must be a SQLite database; it does not exist in /');
  expect(readdirSync(folder().path)).toEqual([]);
});

it.each([sqlite, postgres, mariadb])('keys list and keys callers on $name change nothing', async (kind) => {
  const store = await kind.create();
  const variables = { DATABASE_URL: store.url };
  const run = (line: string) => folder().run(line.split(' '), variables);
  const state = async () => [
    await rawQuery(store.url, 'SELECT name FROM migrations').catch(() => 'none'),
    kind === sqlite && readFileSync(fileOf(store.url)),
  ];
  await (await openStoreAt(store.url)).close();
  for (const sql of kind === sqlite ? ['PRAGMA journal_mode = DELETE'] : []) await rawQuery(store.url, sql);
  const pending = /^DATABASE_URL \(.*pending: .*"petstore migrate" or .*\.\n$/;
  for (const [sql, line] of [
    ['', 'keys list'],
    ['', 'keys callers'],
    [`DELETE FROM migrations WHERE name LIKE 'Unique%'`, 'keys list'],
    ['DROP TABLE migrations', 'keys callers'],
  ] as const) {
    if (sql) await rawQuery(store.url, sql);
    const before = await state();
    const { code, out, err } = await run(line);
    expect([code, sql ? err : out]).toEqual([sql ? 1 : 0, expect.stringMatching(sql ? pending : /^NAME /) as unknown]);
    expect(await state()).toEqual(before);
  }
  await store.remove();
});

it('a command says why the database cannot be used, if it only reads, too', async () => {
  const variables = { DATABASE_URL: 'postgres://shop:hunter2@127.0.0.1:1/pets', STATEMENT_TIMEOUT: '100' };
  const running = ['keys list', 'keys create --name shop'].map((line) => folder().run(line.split(' '), variables));
  for (const { code, err } of await Promise.all(running)) {
    expect(code).toBe(1);
    expect(withoutDatabase(err)).toMatch(/^DATABASE_URL \(.*\): connect ECONNREFUSED 127\.0\.0\.1:1\.\n$/);
  }
});

it('check prints warnings and a summary, and everything with --verbose', async () => {
  const warned = await folder().output('check');
  expect(warned).toContain('warn');
  expect(warned).toMatch(/none failed, 1 warning\.\n$/);
  expect(warned).not.toMatch(/^ok/m);
  expect(await folder().output('check', '--verbose')).toMatch(/^ok +PORT +3000$/m);
  expect(readdirSync(folder().path)).toEqual([]);
});

it('copy takes the names of variables, so that no list of processes shows a password', async () => {
  await addPets(folder().database, 2);
  writeFileSync(join(folder().path, '.env'), 'NEW_URL=sqlite:new.sqlite\n');
  const OLD_URL = 'sqlite:data/petstore.sqlite';
  const { out } = await folder().run(['copy', '--from', 'OLD_URL', '--to', 'NEW_URL'], { OLD_URL });
  expect(out).toContain('Copied 2 pets');
  const copy = ['copy', '--from', 'OLD_URL', '--to', 'NEW_URL'];
  expect(await folder().error(copy, { OLD_URL: 'memory:' })).toMatch(/^OLD_URL must not be memory:/);
});

it('openapi prints openapi.yaml, and opens no database', async () => {
  expect(await folder().output('openapi')).toBe(readFileSync('openapi.yaml', 'utf8'));
  expect(folder().files()).toEqual([]);
});

it("TypeORM's own commands print what they do, and create a database for its owner alone", () => {
  const file = join(folder().path, 'pets.sqlite');
  const env = { ...process.env, FORCE_COLOR: '0', DATABASE_URL: `sqlite:${file}` };
  const options = ['-d', join(folder().program, 'ormconfig.js')];
  const run = (command: string) =>
    execFileSync(process.execPath, ['node_modules/typeorm/cli.js', command, ...options], { env, encoding: 'utf8' });
  expect(run('migration:run')).toMatch(/^Migration \w+ has been executed successfully\.$/m);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(run('migration:show')).toMatch(/^\[X] 1 \w+\n(\[X] .*\n)*$/);
  // The latest one cannot be undone.
  expect(() => run('migration:revert')).toThrow('Restore a backup.');
});

it('API keys are read from a pipe once, as a shell hands one over', async () => {
  const [pipe, key] = [join(folder().path, 'pipe'), 'key-of-the-commands-test'];
  execFileSync('mkfifo', [pipe]);
  const write = () => spawn('sh', ['-c', `echo ${key} > "${pipe}"`]);
  write();
  expect(readConfiguredKeys(readSettings({ API_KEYS_FILE: pipe }))).toEqual([key]);
  const checked = folder().run(['check'], { API_KEYS_FILE: pipe });
  write();
  expect((await checked).out).toContain('1 configured with less than 32');
});

describe('a command', () => {
  it('fails if its output cannot be written', async () => {
    const full = openSync('/dev/full', 'w');
    await folder().output('migrate');
    for (const line of ['keys list', 'openapi', '--version', '--help', 'keys --help']) {
      const { code, err } = await folder().run(line.split(' '), {}, full);
      expect([line, code, err]).toEqual([line, 1, expect.stringMatching(/^[^\n]*ENOSPC[^\n]*\n$/)]);
    }
    closeSync(full);
  });

  it('that makes a key changes nothing if nobody can see the key', async () => {
    const old = (await folder().output('keys', 'create', '--name', 'shop', '--quiet')).trim();
    const before = await folder().output('keys', 'list', '--json');
    const run = (line: string) => {
      const { program, path, database } = folder();
      const env = { PATH: process.env.PATH, DATABASE_URL: database };
      const command = `"${process.execPath}" "${join(program, 'src', 'main.js')}" ${line}`;
      return spawnSync('bash', ['-o', 'pipefail', '-c', command], { cwd: path, env, encoding: 'utf8' });
    };
    // A full disk, a pipe whose reader has gone, what discards everything, and nothing at all.
    const outputs = ['>/dev/full', '| true', '>/dev/null', '>&-'].map((output) => `keys create --name till ${output}`);
    for (const line of [...outputs, 'keys create --name till --quiet >/dev/full', 'keys rotate shop >/dev/full']) {
      const { status, stderr } = run(line);
      const message = expect.stringMatching(/^The new key could not be printed: nothing was changed\.$/m);
      expect([line, status, stderr]).toEqual([line, 1, message]);
    }
    expect(await folder().output('keys', 'list', '--json')).toBe(before);
    const service = await folder().serve();
    expect((await service.send(old)).status).toBe(200);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('creates the first key at the first start whose output somebody can see', async () => {
    const full = openSync('/dev/full', 'w');
    const port = await freePort();
    const unseen = folder().start({ PORT: String(port) }, full);
    const ready = `http://127.0.0.1:${port}/health/ready`;
    await until(() =>
      fetch(ready).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    expect(await unseen.end('SIGTERM')).toBe(0);
    closeSync(full);
    expect(await folder().output('keys', 'list', '--json')).toBe('[]\n');
    const seen = await folder().serve();
    expect(seen.key).toMatch(/^pets_/);
    expect(await seen.end('SIGTERM')).toBe(0);
  });

  it('that may create or change a database says which', async () => {
    await folder().run(['seed', '--count', '1'], { DATABASE_URL: 'sqlite:backup.sqlite' });
    const data = join(folder().path, 'data');
    const told = async (line: string) => [line, (await folder().run(line.split(' '))).err];
    const path = join(data, 'petstore.sqlite');
    for (const line of [
      ...['seed --count 1', 'migrate', 'restore backup.sqlite'],
      ...['copy --from sqlite:backup.sqlite --to sqlite:data/petstore.sqlite', 'keys create --name shop'],
    ]) {
      rmSync(data, { recursive: true, force: true });
      expect(await told(line)).toEqual([line, `New database: ${path}\n`]);
    }
    for (const line of ['seed --count 1', 'migrate', 'keys revoke shop'])
      expect(await told(line)).toEqual([line, `Database: ${path}\n`]);
  });

  it('rejects a file or a database that is no regular file', async () => {
    execFileSync('mkfifo', [join(folder().path, 'pipe')]);
    mkdirSync(join(folder().path, 'data'));
    for (const url of ['sqlite:pipe', 'sqlite:data', 'sqlite:/dev/null'])
      for (const args of [['serve'], ['migrate']])
        expect(await folder().error(args, { DATABASE_URL: url })).toContain('no regular file');
    expect(await folder().error(['restore', 'pipe'])).toContain('no regular file');
    expect(readdirSync(folder().path).sort()).toEqual(['data', 'pipe']);
  });

  it('reads .env, which may begin with a byte order mark, behind the environment', async () => {
    writeFileSync(
      join(folder().path, '.env'),
      '\u{feff}STAGING_BASE_URL=https://staging.example.com/v1\nPRODUCTION_BASE_URL=https://example.com/v1\n',
    );
    const { out } = await folder().run(['openapi'], { PRODUCTION_BASE_URL: 'https://other.example.com/v1' });
    expect(out).toContain('https://staging.example.com/v1');
    expect(out).toContain('https://other.example.com/v1');
    expect(out).not.toContain('https://example.com/v1');
  });

  it('fails if .env is not UTF-8', async () => {
    writeFileSync(join(folder().path, '.env'), Buffer.from('\uFEFFRATE_LIMIT=5\n', 'utf16le'));
    expect(await folder().error(['openapi'])).toMatch(/^The file \.env must be a readable file in UTF-8 \(ERR_/);
  });

  it('fails if .env cannot be read', async () => {
    mkdirSync(join(folder().path, '.env'));
    expect(await folder().error(['openapi'])).toBe('The file .env must be a readable file in UTF-8 (EISDIR).');
    await folder().output('--version');
  });

  it('needs no setting but its own', async () => {
    const others = { PORT: 'http', CORS_ORIGINS: '*', API_KEYS_FILE: 'absent', NODE_ENV: 'staging', API_KEYS: 'x' };
    for (const line of [
      ...['migrate', 'keys create --name shop', 'keys rotate shop', 'keys list', 'keys callers', 'keys revoke shop'],
      ...['seed --count 1', 'backup a.sqlite', 'restore a.sqlite', 'openapi'],
      'copy --from sqlite:a.sqlite --to sqlite:b.sqlite',
    ])
      expect([line, await folder().run(line.split(' '), others)]).toMatchObject([line, { code: 0 }]);
    expect(await folder().run(['backup', 'c.sqlite'], { ...others, DATABASE_URL: 'memory:' })).toMatchObject({
      code: 1,
    });
  });

  it('names an invalid setting in one line, and repeats no password', async () => {
    expect(await folder().error(['serve'], { PORT: 'http' })).toMatch(/^PORT must be .*\.$/);
    for (const args of [['serve'], ['keys', 'list']]) {
      const message = await folder().error(args, { DATABASE_URL: 'oracle://user:hunter2@host/db' });
      expect(message).toMatch(/^DATABASE_URL /);
      expect(message).not.toContain('hunter2');
    }
    expect(await folder().error(['openapi'], { STAGING_BASE_URL: 'pets' })).toMatch(/^STAGING_BASE_URL must be .*\.$/);
  });
});
