import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import mysql from 'mysql2/promise';
import pg from 'pg';
import type { Servers } from './servers.js';

/** What some tests need of a server besides SQL, and not every one has. */
export type Need = 'table locks' | 'lock waits' | 'plans' | 'a way in between';

/** The server that `PETSTORE_TEST_URL` names, as `PETSTORE_TEST_SERVER` tells the tests of it in JSON. */
export interface OwnServer {
  /** Leads to the database in which others are made. */
  readonly url: string;
  /** What it is, as `CockroachDB`. */
  readonly product: string;
  /** How the names of the databases begin that this run makes, and no other run. */
  readonly prefix: string;
  readonly lacks: readonly Need[];
}

const NAME = 'PETSTORE_TEST_URL';

const FORM = 'postgres://USER:PASSWORD@HOST:PORT/DATABASE, mysql://… or mariadb://…';

/** How long a server may take to accept a connection, in milliseconds. */
const CONNECT_TIMEOUT = 5_000;

/** A connection of the tests to a database server, beside those of the service. */
export interface Session {
  /** Resolves to the rows, each of them the values of its columns; none if the statement has no result. */
  query(sql: string): Promise<unknown[][]>;
  /** Ends it, with what it had not committed. */
  end(): Promise<void>;
}

/** Finds out what the server is and can do, and tells the tests; ends the process with one line if it is none to test on. */
export default async function setup(): Promise<void> {
  try {
    const own = await inspect(process.env[NAME]);
    process.env.PETSTORE_TEST_SERVER = JSON.stringify(own);
    // If a test has not come to its end, what it has made is removed at that of the run.
    const remove = async () => {
      for (const database of await databasesLeft(own)) await dropDatabase(own.url, database);
    };
    (globalThis as { petstoreServers?: Servers }).petstoreServers = { started: [{ remove }], missing: [] };
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exit(1);
  }
}

/** Connects to the server of a `DATABASE_URL` that names one host. */
export async function connectTo(url: string): Promise<Session> {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const account = {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || (isPostgres(url) ? 5432 : 3306)),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
  };
  const ca = searchParams.get('sslrootcert');
  const mode = searchParams.get(isPostgres(url) ? 'sslmode' : 'ssl') ?? (ca === null ? 'disable' : 'verify-full');
  const ssl =
    mode === 'disable'
      ? undefined
      : { ...(ca && { ca: readFileSync(ca, 'utf8') }), rejectUnauthorized: mode !== 'require' };
  if (isPostgres(url)) {
    const client = new pg.Client({
      ...account,
      ssl: ssl && { ...ssl, ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }) },
      connectionTimeoutMillis: CONNECT_TIMEOUT,
    });
    client.on('error', () => undefined);
    await client.connect();
    const query = async (text: string) => (await client.query<unknown[]>({ text, rowMode: 'array' })).rows;
    return { query, end: () => client.end() };
  }
  const connection = await mysql.createConnection({
    ...account,
    ssl: ssl && { ...ssl, verifyIdentity: mode === 'verify-full' },
    connectTimeout: CONNECT_TIMEOUT,
  });
  const query = async (sql: string) => {
    const [rows] = await connection.query<mysql.RowDataPacket[]>({ sql, rowsAsArray: true });
    return Array.isArray(rows) ? (rows as unknown as unknown[][]) : [];
  };
  return { query, end: () => connection.end() };
}

/** Says one statement to the database at a URL, and resolves to its rows. */
export async function say(url: string, sql: string): Promise<unknown[][]> {
  const session = await connectTo(url);
  try {
    return await session.query(sql);
  } finally {
    await session.end();
  }
}

/** The same URL with another database on the server. */
export function withDatabase(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.href;
}

/** The same URL with one parameter more, or another value of it. */
export function withParameter(url: string, name: string, value: string | number): string {
  const other = new URL(url);
  other.searchParams.set(name, String(value));
  return other.href;
}

/** Removes a database that this run, or the test that asks for it, has made; refuses any that has not the name of one. */
export async function dropDatabase(url: string, database: string): Promise<void> {
  if (!/^petstore_test_\w+$/.test(database))
    throw new Error(`The tests have not made ${database}, and do not remove it.`);
  const drop = `DROP DATABASE ${database}`;
  if (!isPostgres(url)) await say(url, drop);
  // Not every host that speaks as PostgreSQL can cut off those that are still connected.
  else await say(url, `${drop} WITH (FORCE)`).catch(() => say(url, drop));
}

/** The databases that this run has made and that are still there. */
export async function databasesLeft({ url, prefix }: OwnServer): Promise<string[]> {
  const sql = isPostgres(url) ? 'SELECT datname FROM pg_database' : 'SHOW DATABASES';
  return (await say(url, sql)).map(([name]) => String(name)).filter((name) => name.startsWith(prefix));
}

async function inspect(url: string | undefined): Promise<OwnServer> {
  if (!url) throw new Error(`${NAME} must name a database on the server to test, as ${FORM}; it is not set.`);
  const whole = URL.canParse(url) ? new URL(url) : undefined;
  if (
    !whole ||
    !/^(?:postgres(?:ql)?|mysql|mariadb):$/.test(whole.protocol) ||
    !whole.username ||
    whole.pathname.length < 2
  )
    throw new Error(`${NAME} must name a database on one server, as ${FORM}.`);
  // Tests look for the port in the URL.
  whole.port ||= isPostgres(url) ? '5432' : '3306';
  const session = await connectTo(whole.href).catch((error: unknown) => {
    throw new Error(`${NAME} must lead to a database that lets its user in. It was tried: ${messageOf(error)}`);
  });
  try {
    const text = String((await session.query('SELECT VERSION()'))[0]?.[0]);
    const [product, version] = productOf(text, isPostgres(url));
    if (product === 'MySQL' && whole.protocol === 'mariadb:')
      throw new Error(`${NAME} must begin with mysql://, for the server is MySQL ${version}.`);
    const prefix = `petstore_test_${randomBytes(4).toString('hex')}_`;
    const own = { url: whole.href, product, prefix, lacks: [] };
    const lacking = await lackingOf(session, own);
    process.stdout.write(
      `Testing ${product} ${version} at ${whole.host}, in databases of this run, whose names begin with ${prefix}.\n` +
        lacking.map(([, tests, reason]) => `Left out: ${tests}, for ${reason}.\n`).join('') +
        'Left out: what starts, stops or sets servers of its own; npm test does that.\n',
    );
    return { ...own, lacks: lacking.map(([need]) => need) };
  } finally {
    await session.end();
  }
}

/** The name and the version of a server, of what it says to `SELECT VERSION()`. */
function productOf(text: string, speaksPostgres: boolean): readonly [product: string, version: string] {
  const version = /\bv?(\d[^\s,]*)/.exec(text)?.[1] ?? text;
  if (!speaksPostgres) return [text.includes('MariaDB') ? 'MariaDB' : 'MySQL', version];
  const product = text.includes('CockroachDB') ? 'CockroachDB' : text.includes('-YB-') ? 'YugabyteDB' : 'PostgreSQL';
  return [product, version];
}

/** What the server cannot do, which tests are left out for it, and why: tried in a database of its own. */
async function lackingOf(
  session: Session,
  own: OwnServer,
): Promise<(readonly [need: Need, tests: string, reason: string])[]> {
  const database = `${own.prefix}probe`;
  await session.query(`CREATE DATABASE ${database}`).catch((error: unknown) => {
    throw new Error(`${NAME} must name a user who may make databases. It was tried: ${messageOf(error)}`);
  });
  const lacking: (readonly [Need, string, string])[] = [];
  try {
    const url = withDatabase(own.url, database);
    await say(url, 'CREATE TABLE probe (id int PRIMARY KEY)');
    const probe = await connectTo(url);
    try {
      await probe.query(isPostgres(url) ? 'BEGIN; LOCK TABLE probe IN SHARE MODE' : 'LOCK TABLES probe READ');
    } catch (error) {
      lacking.push(['table locks', 'what waits for the lock of a table', `the server says: ${messageOf(error)}`]);
    } finally {
      await probe.end();
    }
  } finally {
    await dropDatabase(own.url, database);
  }
  if (!['PostgreSQL', 'MariaDB'].includes(own.product))
    lacking.push(['plans', 'how statements are planned', `the plans of ${own.product} read otherwise`]);
  if (!['PostgreSQL', 'MariaDB', 'MySQL'].includes(own.product))
    lacking.push(['lock waits', 'what asks who waits for a lock', `${own.product} is not known to tell`]);
  if (/[?&](?:sslrootcert=|(?:sslmode|ssl)=verify)/.test(own.url))
    lacking.push(['a way in between', 'what cuts connections', 'the certificate has the name of the server']);
  return lacking;
}

const isPostgres = (url: string): boolean => url.startsWith('postgres');

/** What an error says; its code if it says nothing, as it does when several addresses were tried in vain. */
function messageOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}
