import mysql from 'mysql2/promise';
import pg from 'pg';

/** A connection of the tests to a database server, beside those of the service. */
export interface Session {
  /** Resolves to the rows, each of them the values of its columns; none if the statement has no result. */
  query(sql: string): Promise<unknown[][]>;
  /** Ends it, with what it had not committed. */
  end(): Promise<void>;
}

const isPostgres = (url: string): boolean => url.startsWith('postgres');

/** Connects to the server of a `DATABASE_URL`. */
export async function connectTo(url: string): Promise<Session> {
  const { hostname, port, username, password, pathname } = new URL(url);
  const account = {
    host: hostname,
    port: Number(port || (isPostgres(url) ? 5432 : 3306)),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
  };
  if (isPostgres(url)) {
    const client = new pg.Client(account);
    client.on('error', () => undefined);
    await client.connect();
    const query = async (text: string) => (await client.query<unknown[]>({ text, rowMode: 'array' })).rows;
    return { query, end: () => client.end() };
  }
  const connection = await mysql.createConnection({ ...account, multipleStatements: true });
  const query = async (sql: string) => {
    const [rows] = await connection.query<mysql.RowDataPacket[]>({ sql, rowsAsArray: true });
    return Array.isArray(rows) ? (rows as unknown as unknown[][]) : [];
  };
  return { query, end: () => connection.end() };
}

/** Runs one statement on the database at a URL, and resolves to its rows; or several, whose rows it leaves out. */
export async function query(url: string, sql: string): Promise<unknown[][]> {
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

/** Removes a database that a test has created, with its connections; rejects any other name. */
export async function dropDatabase(url: string, database: string): Promise<void> {
  if (!/^petstore_test_\w+$/.test(database)) throw new Error(`${database} was not created by a test.`);
  await query(url, `DROP DATABASE ${database}${isPostgres(url) ? ' WITH (FORCE)' : ''}`);
}
