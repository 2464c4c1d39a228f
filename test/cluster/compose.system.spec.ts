import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { buildProgram } from '../support/program.js';
import { binary, postgresBinary, server, TestServer } from '../support/servers.js';
import { WorkingFolder } from '../support/working-folder.js';
import { expectFound, underLoad } from './instances.js';
import { pause } from './ledger.js';
import { say } from './say.js';

// Not a spec: `npm run test:cluster` runs it.

const SCRIPTS = 'deploy/compose';
const PASSWORD = 'password-of-the-cluster-test';

/** What the scripts find where they run: the programs, and their secrets. */
const PATH = [
  dirname(postgresBinary('postgres')!),
  dirname(binary('pgbouncer', ['/usr/sbin'])!),
  process.env.PATH,
].join(delimiter);

/** Does what the image of PostgreSQL does before it starts the server for good. */
const AS_THE_IMAGE = `
  printf %s "$PASSWORD" > "$PGDATA-password"
  initdb --username="$POSTGRES_USER" --pwfile="$PGDATA-password" --auth-local=trust --auth-host=scram-sha-256 --no-sync --encoding=UTF8 --locale=C
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  export PGHOST="$(dirname "$PGDATA")"
  pg_ctl --wait --options="-c listen_addresses='' -k '$PGHOST'" start
  createdb --username="$POSTGRES_USER" "$POSTGRES_DB"
  sh "$SCRIPTS/primary.sh"
  pg_ctl --wait stop`;

describe('the scripts of deploy/compose', () => {
  let folder: string;
  let servers: TestServer[];
  let primary: TestServer;
  let standby: TestServer;
  let url: string;

  /** A command with what the containers have in their environment and their files. */
  const run = (variables: Record<string, string>, ...command: string[]): string[] => [
    'env',
    `PATH=${PATH}`,
    `SCRIPTS=${folder}`,
    `DATABASE_PASSWORD_FILE=${join(folder, 'password')}`,
    `REPLICATION_PASSWORD_FILE=${join(folder, 'password')}`,
    ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    ...command,
  ];

  /** Asks the database of the service. */
  const ask = (one: TestServer, sql: string) =>
    say(one, sql, { user: 'petstore', password: PASSWORD, database: 'petstore' });

  const pgbouncerOf = ({ port }: TestServer): Promise<TestServer> =>
    server(
      undefined,
      (_data, own) =>
        run(
          { SERVER: '127.0.0.1', SERVER_PORT: `${port}`, PORT: `${own}`, TMPDIR: folder },
          'sh',
          `${folder}/pgbouncer.sh`,
        ),
      'process up',
    );

  beforeEach(async () => {
    // The servers run as another user, who can read what is here.
    folder = mkdtempSync(join(tmpdir(), 'petstore-compose-'));
    for (const script of readdirSync(SCRIPTS)) copyFileSync(join(SCRIPTS, script), join(folder, script));
    writeFileSync(join(folder, 'password'), PASSWORD);
    chmodSync(folder, 0o1777);
    primary = await server(
      (data) =>
        run(
          { PGDATA: data, POSTGRES_USER: 'petstore', POSTGRES_DB: 'petstore', PASSWORD },
          ...['sh', '-ec', AS_THE_IMAGE],
        ),
      (data, port) => run({}, 'postgres', '-D', data, '-p', `${port}`, '-h', '127.0.0.1', '-k', ''),
      'ready to accept connections',
    );
    servers = [primary];
    await primary.start();
    standby = await server(
      (data) => ['mkdir', data],
      (data, port) =>
        run(
          { PGDATA: data, PRIMARY: '127.0.0.1', PRIMARY_PORT: `${primary.port}` },
          ...['sh', join(folder, 'standby.sh'), '-p', `${port}`, '-h', '127.0.0.1', '-k', ''],
        ),
      'ready to accept',
    );
    servers.push(standby);
    await standby.start();
    while ((await ask(primary, `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)).length === 0)
      await pause(50);
    const poolers = [await pgbouncerOf(primary), await pgbouncerOf(standby)];
    servers.push(...poolers);
    for (const pooler of poolers) await pooler.start();
    const hosts = poolers.map(({ port }) => `127.0.0.1:${port}`).join();
    url = `postgres://petstore:${PASSWORD}@${hosts}/petstore?pool=10&pooler=transaction`;
  });

  afterEach(async () => {
    for (const one of servers.reverse()) await one.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it('let the command work through PgBouncer, as it does beside a service', async () => {
    const program = new WorkingFolder(buildProgram());
    try {
      const run = (...args: string[]) => program.run(args, { DATABASE_URL: url.replace('?pool=10&', '?') });
      expect(await run('keys', 'create', '--name', 'shop', '--quiet')).toMatchObject({ code: 0 });
      expect(await run('keys', 'list')).toMatchObject({ code: 0, out: expect.stringContaining('shop') });
      expect(await run('check')).toMatchObject({ out: expect.stringContaining('a primary that can be written') });
    } finally {
      await program.remove();
    }
  });

  it('lose nothing when the primary is killed and the standby promoted', async () => {
    await underLoad(url, async (ledger) => {
      await primary.end('SIGKILL');
      await ask(standby, 'SELECT pg_promote()');
      await expectFound(ledger, performance.now());
    });
  });
});
