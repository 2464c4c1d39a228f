import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { LastingUrl } from '../src/adapters/persistence/database-url.js';
import { sqliteFileFindings } from '../src/adapters/persistence/file-findings.js';
import { withEngine } from '../src/adapters/persistence/typeorm/open-database.js';
import { inspectStore } from '../src/adapters/persistence/typeorm/inspect-store.js';
import { Finding, words } from '../src/application/finding.js';
import { readConfig } from '../src/config.js';
import { strayVariables } from '../src/setting-findings.js';
import { describeOnServers } from './support/on-servers.js';
import { buildProgram } from './support/program.js';
import { newMariadb, newPostgres, TestServer } from './support/servers.js';
import { lastingKinds, openStoreAt, TestStore } from './support/stores.js';
import { WorkingFolder } from './support/working-folder.js';

// Servers are set up, and each command is a process of its own.
jest.setTimeout(120_000);

const DAY = 86_400_000;

/** What a check finds at a URL, the first finding of each name. */
async function found(url: string, configured = 0): Promise<Record<string, Finding>> {
  return byName(await findings(url, configured));
}

function findings(url: string, configured = 0): Promise<Finding[]> {
  const { database, databaseLimits } = readConfig({ DATABASE_URL: url });
  return inspectStore(database, databaseLimits, configured);
}

function byName(all: readonly Finding[]): Record<string, Finding> {
  return Object.fromEntries(all.toReversed().map((finding) => [finding.name, finding]));
}

/** Says SQL to the database at a URL. */
function say(url: string, ...statements: string[]): Promise<void> {
  const { database, databaseLimits } = readConfig({ DATABASE_URL: url });
  return withEngine(database as LastingUrl, databaseLimits, async ({ dataSource }) => {
    for (const statement of statements) await dataSource.query(statement);
  });
}

async function migrate(url: string): Promise<void> {
  await (await openStoreAt(url)).close();
}

describe.each(lastingKinds)('the check of a store on $name', (kind) => {
  const { name } = kind;
  let store: TestStore;

  beforeEach(async () => {
    store = await kind.create();
  });

  afterEach(() => store.remove());

  it('finds no key if nothing is stored yet, and makes no table and no file', async () => {
    for (let i = 0; i < 2; i++) {
      const { database, schema, 'API keys': keys } = await found(store.url);
      expect(database?.state).toBe('ok');
      expect(keys).toMatchObject({ state: 'warn', advice: expect.stringContaining('petstore keys create') });
      if (name === 'SQLite') expect(database?.found).toContain('none yet');
      else expect(schema).toMatchObject({ state: 'warn', advice: expect.stringContaining('petstore migrate run') });
    }
    if (name === 'SQLite') expect(readdirSync(dirname(store.url.replace('sqlite:', '')))).toEqual([]);
  });

  it('finds all well once the service has been there, and a key', async () => {
    const open = await openStoreAt(store.url);
    await open.keys.add(key('shop', null));
    const during = await findings(store.url, 2);
    await open.close();
    const after = await findings(store.url, 2);
    for (const all of [during, after]) {
      expect(all.filter(({ state }) => state !== 'ok')).toEqual([]);
      const { version, writing, durability, encoding, schema, 'API keys': keys } = byName(all);
      expect(version?.found).toMatch(kind.name === 'MariaDB' ? /MariaDB|MySQL/ : (kind.name as string));
      for (const each of [writing, durability, schema]) expect(each?.found).toBeDefined();
      expect(encoding?.found).toMatch(/^utf-?8(mb4)?$/i);
      expect(keys?.found).toBe('1 stored, 2 configured');
    }
  });

  it('names the keys that end within 30 days, and counts none that has ended', async () => {
    const open = await openStoreAt(store.url);
    const now = Date.now();
    await open.keys.add(key('gone', new Date(now - DAY)));
    await open.keys.add({ ...key('revoked', null), revokedAt: new Date(now) });
    expect((await found(store.url))['API keys']).toMatchObject({ state: 'warn' });
    await open.keys.add(key('soon', new Date(now + 29 * DAY)));
    await open.keys.add(key('later', new Date(now + 31 * DAY)));
    // One that has been replaced ends as it should.
    await open.keys.add(key('later.old', new Date(now + DAY)));
    await open.close();
    const keys = (await findings(store.url)).filter((finding) => finding.name === 'API keys');
    expect(keys.map(({ state, found }) => [state, found])).toEqual([
      ['ok', '3 stored, 0 configured'],
      ['warn', expect.stringMatching(/^The key "soon" ends on \d{4}-\d\d-\d\dT.*Z\.$/)],
    ]);
  });

  it('fails if a newer build has changed the schema', async () => {
    await migrate(store.url);
    await say(store.url, `INSERT INTO migrations (timestamp, name) VALUES (1, 'Later1')`);
    expect((await found(store.url)).schema).toMatchObject({ state: 'fail', found: expect.stringContaining('Later1') });
  });

  it('changes nothing of what is stored', async () => {
    if (name !== 'SQLite') return;
    await migrate(store.url);
    const file = store.url.replace('sqlite:', '');
    // As a copy has it that was made while nothing was open.
    await say(store.url, 'PRAGMA wal_checkpoint(TRUNCATE)');
    for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true });
    const before = readFileSync(file);
    expect((await found(store.url)).schema?.state).toBe('ok');
    expect(readdirSync(dirname(file))).toEqual(['test.sqlite']);
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});

/** Expects a start to end with what the check has found, said in one line. */
async function expectRefused(url: string, finding: Finding | undefined): Promise<void> {
  const folder = new WorkingFolder(buildProgram());
  try {
    const start = await folder.run(['serve'], { DATABASE_URL: url, PORT: '0' });
    expect(start).toEqual({ code: 1, out: '', err: `${words(finding as Finding)}\n` });
  } finally {
    await folder.remove();
  }
}

function key(name: string, expiresAt: Date | null) {
  const digest = name.padEnd(64, '0');
  return { digest, name, prefix: 'pets_abcd', createdAt: new Date(0), expiresAt, revokedAt: null };
}

describeOnServers(
  'the check of a $name',
  (kind) => {
    let store: TestStore;

    beforeEach(async () => {
      store = await kind.create();
    });

    afterEach(() => store.remove());

    it.each(['SQL_ASCII', 'LATIN1'])('fails if its encoding is %s, and a start says the same', async (encoding) => {
      const name = `${new URL(store.url).pathname.slice(1)}_other`;
      await say(
        store.url,
        `CREATE DATABASE ${name} ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
      );
      const url = `${store.url}_other`;
      const folder = new WorkingFolder(buildProgram());
      try {
        const finding = (await found(url)).encoding as Finding;
        expect(finding).toMatchObject({ state: 'fail', found: expect.stringContaining(encoding) });
        const start = await folder.run(['serve'], { DATABASE_URL: url, PORT: '0' });
        expect(start).toEqual({ code: 1, out: '', err: `${words(finding)}\n` });
        expect((await found(url)).schema?.found).toContain('not applied');
      } finally {
        await folder.remove();
        await say(store.url, `DROP DATABASE ${name} WITH (FORCE)`);
      }
    });

    it('fails if its transactions are read-only unless they say otherwise, and a start says the same', async () => {
      const name = new URL(store.url).pathname.slice(1);
      await say(store.url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
      const { writing } = await found(store.url);
      expect(writing).toMatchObject({
        state: 'fail',
        found: expect.stringContaining('default_transaction_read_only'),
      });
      await expectRefused(store.url, writing);
    });

    it.each([
      ['off', 'on'],
      ['local', 'on'],
      ['remote_write', 'on'],
      ['remote_apply', 'remote_apply'],
    ])('finds synchronous_commit, which the database says is %s, %s, as the service sets it', async (said, set) => {
      await say(store.url, `ALTER DATABASE ${new URL(store.url).pathname.slice(1)} SET synchronous_commit = ${said}`);
      expect((await found(store.url)).durability).toMatchObject({
        found: expect.stringContaining(`synchronous_commit=${set},`),
      });
    });
  },
  'PostgreSQL',
);

describeOnServers(
  'the check of a $name of its own',
  () => {
    let server: TestServer | undefined;

    beforeAll(async () => {
      server = await newPostgres();
      await server?.start();
    });

    afterAll(() => server?.remove());

    it('warns of torn pages, and fails if nothing is written through', async () => {
      if (!server) return;
      const url = `postgres://postgres@127.0.0.1:${server.port}/postgres`;
      const set = async (name: string) => {
        await say(url, `ALTER SYSTEM SET ${name} = off`, 'SELECT pg_reload_conf()');
        let durability: Finding | undefined;
        while (!(durability = (await found(url)).durability)?.found.includes(`${name}=off`));
        return durability;
      };
      expect(await set('full_page_writes')).toMatchObject({ state: 'warn' });
      expect(await set('fsync')).toMatchObject({ state: 'fail', found: expect.stringContaining('not on disk') });
    });
  },
  'PostgreSQL',
);

describeOnServers(
  'the check of a $name',
  (kind) => {
    let store: TestStore;

    beforeEach(async () => {
      store = await kind.create();
      await migrate(store.url);
    });

    afterEach(() => store.remove());

    it('fails if a column cannot hold every name, and a start says the same', async () => {
      await say(store.url, 'ALTER TABLE pet MODIFY name varchar(255) CHARACTER SET latin1 NOT NULL');
      const finding = (await found(store.url)).encoding as Finding;
      expect(finding).toMatchObject({ state: 'fail', found: expect.stringContaining('pet.name') });
      await expect(openStoreAt(store.url)).rejects.toThrow(words(finding));
    });

    it('warns if a column takes different texts for the same', async () => {
      const column = 'varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL';
      await say(store.url, `ALTER TABLE idempotency_key MODIFY token ${column}`);
      expect((await found(store.url)).encoding).toMatchObject({
        state: 'warn',
        found: expect.stringContaining('idempotency_key.token has the collation utf8mb4_general_ci'),
      });
    });
  },
  'MariaDB',
);

describeOnServers(
  'the check of a $name of its own',
  () => {
    let server: TestServer | undefined;

    beforeAll(async () => {
      server = await newMariadb('--log-bin', '--sync-binlog=0', '--skip-innodb-doublewrite');
      await server?.start();
    });

    afterAll(() => server?.remove());

    it('warns of what a crash can harm and of what is too small, and fails if nothing is written through, or nothing at all', async () => {
      if (!server) return;
      const url = `mariadb://root@127.0.0.1:${server.port}/mysql`;
      const { durability, writing } = await found(url);
      expect(durability).toMatchObject({ state: 'warn', advice: 'sync_binlog should be 1.' });
      expect(writing?.state).toBe('ok');
      await say(url, 'SET GLOBAL sync_binlog = 1');
      expect((await found(url)).durability).toMatchObject({
        state: 'warn',
        advice: 'innodb_doublewrite should be on.',
      });
      expect((await found(url)).packets).toMatchObject({ state: 'ok' });
      await say(url, 'SET GLOBAL max_allowed_packet = 524288');
      expect((await found(url)).packets).toMatchObject({
        state: 'warn',
        advice: 'max_allowed_packet should be 1048576 at the least.',
      });
      await say(url, 'SET GLOBAL innodb_flush_log_at_trx_commit = 2', 'SET GLOBAL read_only = 1');
      const after = await found(url);
      expect(after.durability).toMatchObject({ state: 'fail', found: expect.stringContaining('not on disk') });
      expect(after.writing).toMatchObject({ state: 'fail', found: expect.stringContaining('read-only') });
      // Who may do everything may write all the same; it is not to be relied on.
      await expectRefused(url, after.writing);
    });
  },
  'MariaDB',
);

describe('the variables that look like settings', () => {
  it.each([
    ['PORTT', 'PORT'],
    ['PROT', 'PORT'],
    ['port', 'PORT'],
    ['RATELIMIT', 'RATE_LIMIT'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['DATABASE_ULR', 'DATABASE_URL'],
    ['API_KEY', 'API_KEYS'],
    ['STATMENT_TIMOUT', 'STATEMENT_TIMEOUT'],
  ])('%s is told from %s', (given, meant) => {
    expect(strayVariables({ [given]: 'secret' })).toEqual([
      { name: given, state: 'warn', found: 'No setting has this name.', advice: `Did you mean ${meant}?` },
    ]);
  });

  it('are none of those that are settings, nor what else an environment has', () => {
    const usual = ['PATH', 'HOME', 'SHELL', 'TERM', 'LANG', 'USER', 'PWD', 'HOSTNAME', 'HTTP_PROXY', 'NODE_OPTIONS'];
    const all = [...usual, 'PORT', 'HOST', 'DATABASE_URL'];
    expect(strayVariables(Object.fromEntries(all.map((name) => [name, 'x'])))).toEqual([]);
  });
});

describe('petstore check', () => {
  let folder: WorkingFolder;

  beforeEach(() => {
    folder = new WorkingFolder(buildProgram());
  });

  afterEach(() => folder.remove());

  async function check(variables: Record<string, string> = {}) {
    const { code, out, err } = await folder.run(['check', '--json'], variables);
    const all = JSON.parse(out) as Finding[];
    return { code, out, err, all, by: byName(all) };
  }

  it('tells every setting, and reads each that there is', async () => {
    const read = new Set<string>();
    const variables: Record<string, string | undefined> = { METRICS_PORT: '1' };
    const env = new Proxy(variables, { get: (_variables, name: string) => variables[(read.add(name), name)] });
    readConfig(env);
    const { code, all, by } = await check({ PORT: '8080', API_KEYS: 'a-configured-key' });
    expect(code).toBe(0);
    expect(by.PORT).toEqual({ name: 'PORT', state: 'ok', found: '8080' });
    expect(by.API_KEYS?.found).toBe('set, not shown');
    expect(by['API keys']?.found).toBe('0 stored, 1 configured');
    expect(
      all
        .map(({ name }) => name)
        .filter((name) => /^[A-Z_]+$/.test(name))
        .sort(),
    ).toEqual([...read].sort());
    expect(folder.files()).toEqual([]);
    expect((await folder.run(['check'])).out).toMatch(/^STATE {2}NAME .*\n(?:(?:ok {3}|warn ) {2}\S.*\n)+$/);
  });

  it('tells the rest if the database cannot be reached, and no password', async () => {
    writeFileSync(join(folder.path, '.env'), 'DATABASE_URL=postgres://shop:hunter2@127.0.0.1:1/pets\n', {
      mode: 0o600,
    });
    const { code, out, err, by } = await check({ API_KEYS: 'a-configured-key', PORTT: 'hunter2' });
    expect([code, err]).toEqual([1, 'Not as it must be: database.\n']);
    expect(by.database).toMatchObject({ state: 'fail', found: expect.stringContaining('ECONNREFUSED') });
    expect(by.DATABASE_URL?.found).toBe('postgres://127.0.0.1:1/pets (pool 10, TLS disable)');
    expect(by.PORTT?.state).toBe('warn');
    expect(by['.env']?.state).toBe('ok');
    expect(out).not.toMatch(/hunter2|a-configured-key/);
  });

  it('looks at the Redis of the limits only if one is named, and shows no password of it', async () => {
    expect((await check()).by.limits).toBeUndefined();
    const { code, out, err, by } = await check({
      RATE_LIMIT: '5',
      RATE_LIMIT_URL: 'rediss://shop:hunter2@127.0.0.1:1/2',
    });
    expect([code, err]).toEqual([1, 'Not as it must be: limits.\n']);
    expect(by.RATE_LIMIT_URL?.found).toBe('rediss://127.0.0.1:1/2');
    expect(by.limits).toMatchObject({ state: 'fail', found: expect.stringContaining('ECONNREFUSED') });
    expect(out).not.toContain('hunter2');
  });

  it('tells what it can if a setting is bad', async () => {
    const { code, by } = await check({ PORT: 'http', PORTT: '1' });
    expect(code).toBe(1);
    expect(by.settings).toMatchObject({ state: 'fail', found: expect.stringMatching(/^PORT must be/) });
    expect(by.PORTT?.state).toBe('warn');
  });

  it('warns of files that others can read', async () => {
    const path = (name: string) => join(folder.path, name);
    writeFileSync(path('api-keys'), 'a-configured-key\n');
    writeFileSync(path('.env'), 'PORT=8080\n');
    await (await folder.serve({ API_KEYS: 'a-configured-key' })).end('SIGTERM');
    const variables = { API_KEYS_FILE: 'api-keys' };
    const names = ['the SQLite file', 'the folder of the SQLite file', 'the file of API keys', '.env'];
    const states = async () => {
      const { by, code } = await check(variables);
      expect(code).toBe(0);
      return names.map((name) => by[name]?.state);
    };
    chmodSync(path('api-keys'), 0o600);
    expect(await states()).toEqual(['ok', 'ok', 'ok', undefined]);
    writeFileSync(path('.env'), 'POSTGRES_PASSWORD=hunter2\n');
    chmodSync(path('.env'), 0o640);
    chmodSync(path('api-keys'), 0o644);
    chmodSync(path('data'), 0o755);
    chmodSync(path('data/petstore.sqlite'), 0o604);
    expect(await states()).toEqual(['warn', 'warn', 'warn', 'warn']);
  });

  it('fails if the SQLite file, or the folder it is to be made in, cannot be written', async () => {
    if (process.getuid?.() !== 0) return;
    const program = join(buildProgram(), 'src', 'main.js');
    chmodSync(folder.path, 0o755);
    mkdirSync(join(folder.path, 'data'));
    const nobody = { cwd: folder.path, uid: 65_534, gid: 65_534, env: { PATH: process.env.PATH } };
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'check', '--json'], nobody).catch(
      (error: { stdout: string }) => error,
    );
    expect(byName(JSON.parse(stdout) as Finding[]).writing).toMatchObject({
      state: 'fail',
      found: `${join(folder.path, 'data')} cannot be written.`,
    });
  });

  it('warns if the disk is nearly full', () => {
    // The file system of Linux's processes has no room.
    if (process.platform !== 'linux') return;
    expect(byName(sqliteFileFindings('/proc/petstore.sqlite'))['the disk']).toMatchObject({
      state: 'warn',
      found: 'Only 0 MB are free for the SQLite file.',
    });
  });

  it('fails if the file is no database', async () => {
    writeFileSync(join(folder.path, 'notes'), 'x'.repeat(4096), { mode: 0o600 });
    const { code, by } = await check({ DATABASE_URL: 'sqlite:notes' });
    expect([code, by.database?.state]).toEqual([1, 'fail']);
  });
});
