import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { databaseUrl, PersistentUrl } from '../../src/settings/database-url.js';
import { withDataSourceAt } from '../../src/adapters/persistence/typeorm/data-source.js';
import { freshFolder } from '../support/fresh-folder.js';
import { newCertificate, newMariadb, newPgBouncer, newPostgres, TestServer } from '../support/servers.js';
import { query } from '../support/sql.js';
import { checkStore } from './maintenance.js';
import { openStoreAt } from '../support/stores.js';

/** Resolves to 127.0.0.1, but the service takes it for another machine. */
const ELSEWHERE = '127.1';

const { folder, cert, key } = newCertificate();
const servers: TestServer[] = [];

async function started(server: Promise<TestServer | undefined>): Promise<number> {
  const created = (await server)!;
  servers.push(created);
  await created.start();
  return created.port;
}

afterAll(async () => {
  for (const server of servers) await server.remove();
  rmSync(folder, { recursive: true });
});

/** Whether a connection to a URL is encrypted, by what the server says. */
async function isEncrypted(url: string): Promise<boolean> {
  const parsed = databaseUrl('DATABASE_URL', url) as PersistentUrl;
  const ask =
    parsed.engine === 'postgres'
      ? 'SELECT ssl AS found FROM pg_stat_ssl WHERE pid = pg_backend_pid()'
      : `SELECT variable_value <> '' AS found FROM information_schema.session_status WHERE variable_name = 'Ssl_cipher'`;
  const [row] = await withDataSourceAt(parsed, (source) => source.query<{ found: unknown }[]>(ask));
  return Boolean(Number(row?.found));
}

type Row = readonly [what: string, url: string, outcome: boolean | RegExp];

/** Declares the rows as tests. `fill` replaces names of ports by ports, `CERT` by the certificate. */
function describeRows(rows: readonly Row[], ports: () => Readonly<Record<string, number>>): void {
  const fill = (url: string) =>
    Object.entries(ports())
      .reduce((text, [name, port]) => text.replace(name, String(port)), url)
      .replace('CERT', cert)
      .replace('KEY', key)
      .replace('FOLDER', folder);
  it.each(rows)('%s: %s is encrypted, is not, or is rejected for a reason: %s', async (_what, url, outcome) => {
    if (typeof outcome === 'boolean') return expect(await isEncrypted(fill(url))).toBe(outcome);
    await expect(isEncrypted(fill(url))).rejects.toThrow(outcome);
    // The start agrees: it ends.
    await expect(openStoreAt(fill(url))).rejects.toThrow(outcome);
  });
}

describe('PostgreSQL', () => {
  const ports = { TLS: 0, PLAIN: 0, BOUNCER: 0 };

  beforeAll(async () => {
    const tls = [
      'ssl=on',
      `ssl_cert_file=${cert}`,
      `ssl_key_file=${key}`,
      `ssl_ca_file=${cert}`,
      `unix_socket_directories=${folder}`,
    ];
    ports.TLS = await started(newPostgres(...tls, 'password_encryption=scram-sha-256'));
    const admin = (sql: string) => query(`postgres://postgres@127.0.0.1:${ports.TLS}/postgres`, sql);
    const [[file] = []] = await admin('SHOW hba_file');
    const rules = 'hostssl all tls all scram-sha-256\nhost all tls all reject\nhostssl all localhost all cert\n';
    writeFileSync(String(file), rules + readFileSync(String(file), 'utf8'));
    await admin(`CREATE ROLE tls LOGIN SUPERUSER PASSWORD 'secret'`);
    await admin('CREATE ROLE localhost LOGIN SUPERUSER');
    await admin('SELECT pg_reload_conf()');
    ports.PLAIN = await started(newPostgres());
    const client = ['client_tls_sslmode=require', `client_tls_cert_file=${cert}`, `client_tls_key_file=${key}`];
    ports.BOUNCER = await started(newPgBouncer(ports.TLS, ...client));
  });

  describeRows(
    [
      ['another machine', `postgres://postgres@${ELSEWHERE}:TLS/postgres`, true],
      ['another machine without TLS', `postgres://postgres@${ELSEWHERE}:PLAIN/postgres`, false],
      ['this machine', 'postgres://postgres@127.0.0.1:TLS/postgres', false],
      ['this machine, where TLS is demanded', 'postgres://tls:secret@127.0.0.1:TLS/postgres', true],
      [
        'this machine, a wrong password',
        'postgres://tls:other@127.0.0.1:TLS/postgres',
        /password authentication failed/,
      ],
      ['Neon', 'postgresql://tls:secret@localhost:TLS/postgres?sslmode=require&channel_binding=require', true],
      ['verified', 'postgres://tls:secret@localhost:TLS/postgres?sslmode=verify-full&sslrootcert=CERT', true],
      [
        'TLS is demanded',
        'postgres://tls:secret@127.0.0.1:TLS/postgres?sslmode=disable',
        /no encryption.*sslmode=require/,
      ],
      ['no TLS', 'postgres://postgres@127.0.0.1:PLAIN/postgres?sslmode=require', /not support SSL.*sslmode=disable/],
      [
        'unknown authority',
        'postgres://tls:secret@localhost:TLS/postgres?sslmode=verify-full',
        /self-signed.*sslrootcert/,
      ],
      ['another name', `postgres://tls:secret@${ELSEWHERE}:TLS/postgres?sslrootcert=CERT`, /altnames.*sslrootcert/],
      [
        'a certificate of the client',
        'postgres://localhost@localhost:TLS/postgres?sslmode=require&sslcert=CERT&sslkey=KEY',
        true,
      ],
      ['a socket', 'postgres://tls@/postgres?host=FOLDER&port=TLS', false],
      ['a socket, as a host', 'postgres://postgres@FOLDER:TLS/postgres', false],
      ['PgBouncer', `postgres://postgres@${ELSEWHERE}:BOUNCER/postgres`, false],
      ['PgBouncer, this machine', 'postgres://postgres@127.0.0.1:BOUNCER/postgres', false],
      [
        'PgBouncer, where TLS is demanded',
        'postgres://postgres@127.0.0.1:BOUNCER/postgres?sslmode=disable',
        /sslmode=require/,
      ],
    ].map(
      ([what, url, outcome]) =>
        [what, String(url).replace('@FOLDER', `@${encodeURIComponent(folder)}`), outcome] as Row,
    ),
    () => ports,
  );

  it('is checked with a warning of a connection to another machine that is not encrypted', async () => {
    const found = async (host: string, port: number) =>
      (await checkStore(`postgres://postgres@${host}:${port}/postgres`, 1)).some(({ name }) => name === 'encryption');
    expect(await found(ELSEWHERE, ports.PLAIN)).toBe(true);
    expect(await found('127.0.0.1', ports.PLAIN)).toBe(false);
    expect(await found(ELSEWHERE, ports.TLS)).toBe(false);
  });

  it('has the parameters of libpq that its URL gives it', async () => {
    const parameters = 'application_name=shop&options=-c%20search_path%3Dshop%20-c%20geqo%3Doff';
    const url = `postgres://127.0.0.1:${ports.TLS}/?user=postgres&dbname=postgres&${parameters}`;
    const settings = ['application_name', 'search_path', 'geqo'].map((name) => `current_setting('${name}') AS ${name}`);
    const [row] = await withDataSourceAt(databaseUrl('DATABASE_URL', url) as PersistentUrl, (source) =>
      source.query<unknown[]>(`SELECT ${settings.join()}`),
    );
    expect(row).toEqual({ application_name: 'shop', search_path: 'shop', geqo: 'off' });
  });

  describe('with variables of libpq', () => {
    const run = freshFolder();

    it('is the database of the URL all the same', async () => {
      const variables = {
        ...{
          PGOPTIONS: '-c search_path=nowhere',
          PGSSLMODE: 'require',
          PGSSLNEGOTIATION: 'direct',
          PGHOST: '/nowhere',
        },
        ...{ PGPORT: '1', PGUSER: 'nobody', PGPASSWORD: 'other', PGDATABASE: 'nothing', PGAPPNAME: 'other' },
        ...{ PGREPLICATION: 'true', PGCONNECT_TIMEOUT: '1', PGTARGETSESSIONATTRS: 'standby' },
      };
      const DATABASE_URL = `postgres://postgres@127.0.0.1:${ports.PLAIN}/postgres`;
      expect(await run().run(['migrate'], { ...variables, DATABASE_URL })).toMatchObject({ code: 0 });
      const [[tables] = []] = await query(
        DATABASE_URL,
        `SELECT count(*)::int FROM pg_tables WHERE schemaname = 'public'`,
      );
      expect(tables).toBeGreaterThan(3);
    });
  });
});

describe('MariaDB', () => {
  const ports = { TLS: 0, PLAIN: 0 };

  beforeAll(async () => {
    ports.TLS = await started(newMariadb(`--ssl-cert=${cert}`, `--ssl-key=${key}`, `--socket=${folder}/mysqld.sock`));
    const admin = (sql: string) => query(`mariadb://root@127.0.0.1:${ports.TLS}/mysql`, sql);
    await admin('CREATE DATABASE petstore');
    await admin(`CREATE USER tls IDENTIFIED BY 'secret' REQUIRE SSL`);
    await admin('GRANT ALL ON petstore.* TO tls');
    ports.PLAIN = await started(newMariadb('--skip-ssl'));
  });

  describeRows(
    [
      ['another machine', `mariadb://root@${ELSEWHERE}:TLS/mysql`, true],
      ['another machine without TLS', `mysql://root@${ELSEWHERE}:PLAIN/mysql`, false],
      ['this machine', 'mariadb://root@127.0.0.1:TLS/mysql', false],
      ['this machine, where TLS is demanded', 'mysql://tls:secret@127.0.0.1:TLS/petstore', true],
      ['verified', 'mariadb://tls:secret@localhost:TLS/petstore?ssl=verify-full&sslrootcert=CERT', true],
      ['TLS is demanded', 'mariadb://tls:secret@127.0.0.1:TLS/petstore?ssl=disable', /Access denied.*ssl=require/],
      ['a wrong password', 'mariadb://tls:other@127.0.0.1:TLS/petstore', /Access denied/],
      ['no TLS', 'mariadb://root@127.0.0.1:PLAIN/mysql?ssl=require', /not support secure connection.*ssl=disable/],
      ['unknown authority', 'mariadb://tls:secret@localhost:TLS/petstore?ssl=verify-full', /self-signed.*sslrootcert/],
      ['a socket', 'mysql://root@/mysql?socket=FOLDER/mysqld.sock', false],
    ],
    () => ports,
  );

  it('that accepts no connection without TLS says so', async () => {
    const url = `mariadb://root@127.0.0.1:${ports.TLS}/mysql`;
    await query(url, 'SET GLOBAL require_secure_transport = ON');
    expect(await isEncrypted(url)).toBe(true);
    await expect(isEncrypted(`${url}?ssl=disable`)).rejects.toThrow(/ssl=require/);
  });

  it('is told from MySQL, to which mysql:// may lead', async () => {
    const port = await started(newMariadb('--version=8.0.40'));
    await expect(openStoreAt(`mysql://root@127.0.0.1:${port}/mysql`)).rejects.toThrow('The server is MySQL');
  });
});
