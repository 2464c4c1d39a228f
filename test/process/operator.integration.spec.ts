import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshFolder } from '../support/fresh-folder.js';
import { newMariadb, newPostgres, postgresBinary, TestServer } from '../support/servers.js';
import { query } from '../support/sql.js';
import { until } from '../support/working-folder.js';

const KEY = 'key-of-the-operator-test-0123456789';

const pet = { name: 'Bella', categoryId: 1 };

/** The recipe of a page for one of the engines: the block of SQL that has this word. */
function recipe(word: string): string {
  const blocks = [...readFileSync('docs/databases.md', 'utf8').matchAll(/^```sql\n([^]*?)^```$/gm)];
  return blocks.map(([, sql = '']) => sql).find((sql) => sql.includes(word))!;
}

const ENGINES = [
  {
    engine: 'postgres',
    create: () => newPostgres(),
    admin: 'postgres',
    /** Has the server ask for the passwords of the roles of the docs. */
    secure: async (admin: (sql: string) => Promise<unknown[][]>) => {
      const [[file] = []] = await admin('SHOW hba_file');
      const rules = readFileSync(String(file), 'utf8');
      const rule = 'host all petstore,petstore_owner 127.0.0.1/32 scram-sha-256';
      writeFileSync(String(file), `${rule}\n${rules}`);
      await admin('SELECT pg_reload_conf()');
    },
    client: (port: number) => [
      postgresBinary('psql')!,
      '-qv',
      'ON_ERROR_STOP=1',
      `postgres://postgres@127.0.0.1:${port}`,
    ],
    recipe: recipe('CONNECTION LIMIT'),
    grant:
      /^DATABASE_URL \(postgres:.*petstore\): The role petstore may not create tables in the schema public\. .*GRANT USAGE, CREATE ON SCHEMA public TO petstore\.\n$/,
    owner: /The role petstore does not own the tables\. The role that owns them migrates them: "petstore migrate"\.\n$/,
    readOnly: [
      'CREATE ROLE reader LOGIN',
      'GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader',
      'GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO reader',
    ],
    missingRight: /The role reader lacks rights: INSERT ON pet, .*Roles and rights/,
    lockAccount: [
      'ALTER ROLE petstore NOLOGIN',
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'petstore'`,
    ],
    unlockAccount: 'ALTER ROLE petstore LOGIN',
  },
  {
    engine: 'mariadb',
    create: () => newMariadb(),
    admin: 'root',
    client: (port: number) => ['mariadb', '--no-defaults', '-h', '127.0.0.1', '-u', 'root', '-P', String(port)],
    recipe: recipe('MAX_USER_CONNECTIONS'),
    grant:
      /^DATABASE_URL \(mariadb:.*petstore\): DROP, ALTER command denied to user 'petstore'@.*GRANT .* ON `petstore`\.\* TO `petstore`\. Migrations need ALL\.\n$/,
    owner: /ALTER command denied to user 'petstore'@.*\. Migrations need ALL\.\n$/,
    readOnly: ['CREATE USER reader', 'GRANT SELECT ON petstore.* TO reader'],
    missingRight: /INSERT command denied to user 'reader'.* table `petstore`\.`pet`.*GRANT/,
    lockAccount: ['ALTER USER petstore ACCOUNT LOCK', 'KILL USER petstore'],
    unlockAccount: 'ALTER USER petstore ACCOUNT UNLOCK',
  },
];

describe.each(ENGINES)('on a server of $engine whose roles are those of the docs', (given) => {
  const folder = freshFolder();
  let server: TestServer;

  const url = (user: string, database = 'petstore') => `${given.engine}://${user}@127.0.0.1:${server.port}/${database}`;
  const admin = (sql: string) => query(url(given.admin), sql);
  const run = (command: string, user: string) =>
    folder().run([command], { DATABASE_URL: url(user), PORT: '0', API_KEYS: KEY });

  beforeAll(async () => {
    server = (await given.create())!;
    await server.start();
    const [client = '', ...options] = given.client(server.port);
    execFileSync(client, options, { input: given.recipe });
    await given.secure?.(admin);
  });

  afterAll(() => server.remove());

  it('a start that may not migrate ends and says what grants it; then the owner migrates, and it serves', async () => {
    expect(await run('serve', 'petstore:PASSWORD')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(given.grant) as unknown,
    });
    expect(await run('migrate', 'petstore_owner:OWNER')).toMatchObject({ code: 0 });
    const service = await folder().serve({ DATABASE_URL: url('petstore:PASSWORD'), API_KEYS: KEY });
    for (const more of [{}, { headers: { 'Idempotency-Key': 'once' } }]) {
      const headers = { 'Content-Type': 'application/json', ...more.headers };
      const response = await service.send(KEY, '/pets', { method: 'POST', headers, body: JSON.stringify(pet) });
      expect(response.status).toBe(201);
    }
    expect(await run('check', 'petstore:PASSWORD')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/ 0 warnings\.\n$/) as unknown,
    });
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('a start that would have to change tables of their owner ends, and says who may', async () => {
    const pending = 'UniqueKeyNames1795651200000';
    await admin(`UPDATE migrations SET name = 'Earlier' WHERE name = '${pending}'`);
    expect(await run('serve', 'petstore:PASSWORD')).toMatchObject({
      code: 1,
      err: expect.stringMatching(given.owner) as unknown,
    });
    await admin(`UPDATE migrations SET name = '${pending}' WHERE name = 'Earlier'`);
  });

  it('a start of a role that may only read ends, and check fails: which right on which table', async () => {
    for (const sql of given.readOnly) await admin(sql);
    expect((await run('serve', 'reader')).err).toMatch(given.missingRight);
    expect(await run('check', 'reader')).toMatchObject({
      code: 1,
      out: expect.stringMatching(given.missingRight) as unknown,
    });
  });

  if (given.engine === 'postgres')
    it('row-level security ends a start and fails the check; while it serves it is 503 until that is disabled', async () => {
      const service = await folder().serve({ DATABASE_URL: url('petstore:PASSWORD'), API_KEYS: KEY });
      const ready = async () => (await fetch(new URL('/health/ready', service.address))).status;
      for (const [table, mode, user] of [
        ['pet', 'ENABLE', 'petstore:PASSWORD'],
        ['migrations', 'ENABLE', 'petstore:PASSWORD'],
        // Of the owner too.
        ['key_use', 'FORCE', 'petstore_owner:OWNER'],
      ]) {
        await admin(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY, ${mode} ROW LEVEL SECURITY`);
        const reason = new RegExp(`role petstore\\w* on ${table}, .* DISABLE ROW LEVEL SECURITY.* BYPASSRLS\\.`);
        expect((await run('serve', user!)).err).toMatch(reason);
        expect(await run('check', user!)).toMatchObject({ code: 1, out: expect.stringMatching(reason) as unknown });
        await until(async () => (await ready()) === 503);
        expect((await service.send(KEY)).status).toBe(503);
        await admin(`ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`);
        await until(async () => (await ready()) === 200);
        expect((await service.send(KEY)).status).toBe(200);
      }
      await service.end('SIGTERM');
    });

  it.each([
    ['a database', 'petstore:PASSWORD', 'absent', /absent/],
    ['a role', 'absent:PASSWORD', 'petstore', /absent/],
    ['a password', 'petstore', 'petstore', /The user and the password must be those of 127\.0\.0\.1/],
    ['the right password', 'petstore:other', 'petstore', /The user and the password must be those of 127\.0\.0\.1/],
  ])('a start ends without %s', async (_what, user, database, reason) => {
    const { code, out, err } = await folder().run(['serve'], { DATABASE_URL: url(user, database), PORT: '0' });
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^DATABASE_URL \([^\n]*\.\n$/);
    expect(err).toMatch(reason);
    expect(err).not.toContain('PASSWORD');
  });

  it('that rejects the role later is logged once for many requests, and used again once it admits the role', async () => {
    const service = await folder().serve({ DATABASE_URL: url('petstore:PASSWORD'), API_KEYS: KEY });
    expect((await service.send(KEY)).status).toBe(200);
    for (const sql of given.lockAccount) await admin(sql).catch(() => undefined);
    await until(async () => (await service.send(KEY)).status === 503);
    for (let i = 0; i < 50; i++) expect((await service.send(KEY, '/pets/1')).status).toBe(503);
    expect(service.log.match(/ DATABASE_URL \(/g)?.length).toBeLessThan(25);
    expect(service.log).not.toMatch(/^ +at /m);
    await admin(given.unlockAccount);
    await until(async () => (await service.send(KEY)).status === 200, 2_000);
    expect(await service.end('SIGTERM')).toBe(0);
  });
});
