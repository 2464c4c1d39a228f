import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { describeOnServers } from './support/on-servers.js';
import { dropDatabase, say } from './support/own-server.js';
import { freePort } from './support/servers.js';
import { TestStore } from './support/stores.js';

// Each run is one of Jest, of its own.
jest.setTimeout(120_000);

/** Runs the suites of a file against the server at a URL. */
function run(url: string, file: string): Promise<{ code: number; out: string; err: string }> {
  const args = ['run', '--silent', 'test:store', '--', file];
  const env = { ...process.env, PETSTORE_TEST_URL: url, FORCE_COLOR: '0' };
  return new Promise((resolve) =>
    execFile('npm', args, { env }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err: err.replace(/^npm warn .*\n/gm, '') }),
    ),
  );
}

describe('the suite against a server of one’s own', () => {
  it.each([
    ['', 'PETSTORE_TEST_URL must name a database on the server to test'],
    ['sqlite:./pets.sqlite', 'PETSTORE_TEST_URL must name a database on one server'],
    ['postgres://me@a:5432,b:5432/pets', 'PETSTORE_TEST_URL must name a database on one server'],
    ['postgres://me:c0ffee@127.0.0.1:PORT/pets', 'PETSTORE_TEST_URL must lead to a database that lets its user in'],
    ['mysql://me:c0ffee@127.0.0.1:PORT/pets', 'PETSTORE_TEST_URL must lead to a database that lets its user in'],
  ])('ends at once for the URL "%s", with one line', async (url, message) => {
    const { code, out, err } = await run(url.replace('PORT', String(await freePort())), 'test/parity.spec.ts');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^[^\n]+\n$/);
    expect(err).toContain(message);
    expect(err).not.toContain('c0ffee');
  });
});

describeOnServers('the suite against a $name that PETSTORE_TEST_URL names', (kind) => {
  let store: TestStore;

  beforeEach(async () => {
    store = await kind.create();
    await say(store.url, `CREATE TABLE mine (id int)`);
  });

  afterEach(() => store.remove());

  it('removes no database but those that tests have made', async () => {
    await expect(dropDatabase(store.url, 'petstore')).rejects.toThrow('The tests have not made petstore');
  });

  it('says what it tests, uses databases of its own alone, and leaves none behind', async () => {
    const { code, out, err } = await run(store.url, 'typeorm-installation.spec.ts');
    expect(code).toBe(0);
    const name = new URL(store.url).host;
    const [, prefix] =
      new RegExp(
        `^Testing ${kind.name} \\d[^ ]* at ${name}, in databases of this run, whose names begin with (\\w+)\\.\n`,
      ).exec(out) ?? [];
    expect(prefix).toMatch(/^petstore_test_[0-9a-f]{8}_$/);
    expect(err).toMatch(/^Tests: .*\b[1-9]\d* passed/m);
    expect(err).not.toMatch(/failed/);
    const isPostgres = kind.dialect === 'PostgreSQL';
    const databases = await say(store.url, isPostgres ? 'SELECT datname FROM pg_database' : 'SHOW DATABASES');
    expect(databases.flat().filter((database) => String(database).startsWith(prefix as string))).toEqual([]);
    const schema = isPostgres ? `'public'` : 'DATABASE()';
    const tables = await say(
      store.url,
      `SELECT table_name FROM information_schema.tables WHERE table_schema = ${schema}`,
    );
    expect(tables).toEqual([['mine']]);
  });
});

describeOnServers(
  'the suite against a $name that does not let its user do all',
  (kind) => {
    let store: TestStore;
    const user = `petstore_test_${randomBytes(4).toString('hex')}`;
    const rights = 'SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER';

    beforeEach(async () => {
      store = await kind.create();
      await say(store.url, `CREATE USER ${user}`);
    });

    afterEach(async () => {
      await say(store.url, `DROP USER ${user}`);
      await store.remove();
    });

    const url = () => {
      const other = new URL(store.url);
      other.username = user;
      return other.href;
    };

    it('leaves out what needs more, and says so', async () => {
      await say(store.url, `GRANT ${rights} ON \`petstore\\_test\\_%\`.* TO ${user}`);
      const { code, out, err } = await run(url(), 'typeorm/pools.spec.ts');
      expect(code).toBe(0);
      expect(out).toMatch(
        /^Left out: what waits for the lock of a table, for the server says: Access denied for user .*\.$/m,
      );
      expect(err).toMatch(/^Tests: .*\b[1-9]\d* skipped/m);
    });

    it('ends with one line if it may make no database', async () => {
      await say(store.url, `GRANT SELECT ON *.* TO ${user}`);
      const { code, out, err } = await run(url(), 'typeorm/pools.spec.ts');
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toMatch(
        /^PETSTORE_TEST_URL must name a user who may make databases\. It was tried: Access denied[^\n]*\n$/,
      );
    });
  },
  'MariaDB',
);
