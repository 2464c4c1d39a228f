import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { UsageError } from '../../application/errors.js';

/** How the connection to a database server is secured. */
export interface Tls {
  /** Whether the server's certificate is checked, and whether its name is too. */
  readonly mode: 'require' | 'verify-ca' | 'verify-full';
  /** The certificates, in PEM, of the authorities to trust; the system's if absent. */
  readonly ca?: string;
}

/** A database on a server. */
export interface ServerUrl {
  readonly engine: 'postgres' | 'mysql' | 'mariadb';
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password?: string;
  readonly database: string;
  /** The most connections that this instance opens. */
  readonly pool: number;
  readonly tls?: Tls;
}

/** Where the pets are kept, as `DATABASE_URL` says it. */
export type DatabaseUrl =
  { readonly engine: 'memory' } | { readonly engine: 'sqlite'; readonly file: string } | ServerUrl;

/** A URL of a database that outlives the process. */
export type LastingUrl = Exclude<DatabaseUrl, { engine: 'memory' }>;

/** For how long the service waits for a database server, in milliseconds, and how much of it. */
export interface DatabaseLimits {
  /** For a connection: a free one of the pool, or a new one. */
  readonly poolTimeout: number;
  /** For the answer to one statement. */
  readonly statementTimeout: number;
  /** How many requests may wait at a time; what comes beyond is refused at once. */
  readonly maxWaiting: number;
}

/** The engine of each scheme, its port, and the parameter by which it names the mode of TLS. */
const SCHEMES: Readonly<Record<string, { engine: ServerUrl['engine']; port: number; modeName: string }>> = {
  'postgres:': { engine: 'postgres', port: 5432, modeName: 'sslmode' },
  'postgresql:': { engine: 'postgres', port: 5432, modeName: 'sslmode' },
  'mysql:': { engine: 'mysql', port: 3306, modeName: 'ssl' },
  'mariadb:': { engine: 'mariadb', port: 3306, modeName: 'ssl' },
};

const MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;

/** The parameter that names a file of certificates. */
const CA_NAME = 'sslrootcert';

const DEFAULT_POOL = '10';

/**
 * Reads the URL of a database; throws `UsageError`, one line that begins with the setting's `name`, if it is none. The message never
 * repeats the URL, which may have a password in it.
 */
export function databaseUrl(name: string, text: string): DatabaseUrl {
  if (text === 'memory:') return { engine: 'memory' };
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1];
  if (file !== undefined) {
    // What begins with a scheme means something else to libsql, and what is left of sqlite://data/x a folder of the root.
    if (/^(?:[a-z][a-z0-9+.-]*)?:|^\/\/[^/]/i.test(file)) {
      throw new UsageError(
        `${name} must be sqlite:FILE, the path of a file: sqlite:./data/petstore.sqlite from the working folder, or sqlite:///data/petstore.sqlite from the root.`,
      );
    }
    return { engine: 'sqlite', file };
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const scheme = url && SCHEMES[url.protocol];
  if (!url || !scheme || !url.hostname || !url.username || !/^\/[^/]+$/.test(url.pathname)) {
    throw new UsageError(
      `${name} must be sqlite:FILE, postgres://USER:PASSWORD@HOST:PORT/DATABASE, mysql://… or mariadb://… likewise, or memory:.`,
    );
  }
  const host = decoded(name, url.hostname.replace(/^\[(.*)\]$/, '$1'));
  const { pool, tls } = parameters(name, url.searchParams, scheme.modeName);
  // mysql2 takes every address for localhost when it compares the names of a certificate.
  if (scheme.engine !== 'postgres' && tls?.mode === 'verify-full' && isIP(host) !== 0) {
    throw new UsageError(
      `${name} must name the host, not give its address, where the certificate is to be compared with it.`,
    );
  }
  return {
    engine: scheme.engine,
    host,
    port: url.port === '' ? scheme.port : Number(url.port),
    user: decoded(name, url.username),
    ...(url.password !== '' && { password: decoded(name, url.password) }),
    database: decoded(name, url.pathname.slice(1)),
    pool,
    ...(tls && { tls }),
  };
}

function parameters(name: string, given: URLSearchParams, modeName: string): Pick<ServerUrl, 'pool' | 'tls'> {
  const known = ['pool', modeName, CA_NAME];
  const keys = [...given.keys()];
  // Not repeated: a part of a password that should have been encoded may have come to stand here.
  if (keys.some((key) => !known.includes(key)))
    throw new UsageError(`${name} takes no parameters but ${known.join(', ')}.`);
  if (new Set(keys).size < keys.length) throw new UsageError(`${name} has a parameter more than once.`);
  const pool = given.get('pool') ?? DEFAULT_POOL;
  if (!/^[1-9][0-9]{0,2}$/.test(pool))
    throw new UsageError(`${name} must have a number from 1 to 999 for its parameter pool.`);
  const ca = given.get(CA_NAME);
  // A certificate to check against is there to be checked against, as with libpq.
  const wanted = given.get(modeName) ?? (ca === null ? 'disable' : 'verify-full');
  const mode = MODES.find((each) => each === wanted);
  if (!mode) throw new UsageError(`${name} must have one of ${MODES.join(', ')} for its parameter ${modeName}.`);
  if (mode === 'disable') return { pool: Number(pool) };
  return { pool: Number(pool), tls: { mode, ...(ca !== null && { ca: certificates(name, ca) }) } };
}

function certificates(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `${name} must have the path of a PEM file for its parameter ${CA_NAME}; "${path}" cannot be read (${code}).`,
    );
  }
}

function decoded(name: string, part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new UsageError(`${name} has a % that is not followed by two hexadecimal digits; write a % itself as %25.`);
  }
}
