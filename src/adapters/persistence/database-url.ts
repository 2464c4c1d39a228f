import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { quoted, UsageError } from '../../application/errors.js';

/** How the connection to a database server is secured. */
export interface Tls {
  /** `require` encrypts, `verify-ca` checks the certificate too, `verify-full` also the name in it. */
  readonly mode: (typeof TLS_MODES)[number];
  /** The certificates, in PEM, of the authorities to trust; the system's if absent. */
  readonly ca?: string;
}

/** A database on a server. */
export interface ServerUrl {
  /** The setting or option that it comes from. */
  readonly name: string;
  readonly engine: 'postgres' | 'mariadb';
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Empty for none. */
  readonly password: string;
  readonly database: string;
  /** Maximum connections of a process for requests: half for reads and half for writes, at least one each. */
  readonly pool: number;
  /** Absent for a connection that is not encrypted. */
  readonly tls?: Tls | undefined;
}

/** A SQLite database. */
export interface SqliteUrl {
  readonly name: string;
  readonly engine: 'sqlite';
  readonly file: string;
}

/** The parsed `DATABASE_URL`. */
export type DatabaseUrl = { readonly name: string; readonly engine: 'memory' } | SqliteUrl | ServerUrl;

/** The URL of a database that outlives the process. */
export type PersistentUrl = SqliteUrl | ServerUrl;

/** Where a database is, for people; without the user and the password. */
export function locationOf(url: PersistentUrl): string {
  return url.engine === 'sqlite' ? resolve(url.file) : `${url.engine}://${url.host}:${url.port}/${url.database}`;
}

/** Narrows a URL to that of a database that outlives the process; throws `UsageError` if it does not. */
export function persistent(url: DatabaseUrl): PersistentUrl {
  if (url.engine !== 'memory') return url;
  throw new UsageError(`${url.name} must not be memory:, which lasts only as long as its process.`);
}

const SCHEMES = {
  'postgres:': { engine: 'postgres', port: 5432, tlsParameter: 'sslmode' },
  'postgresql:': { engine: 'postgres', port: 5432, tlsParameter: 'sslmode' },
  'mariadb:': { engine: 'mariadb', port: 3306, tlsParameter: 'ssl' },
} as const;

const TLS_MODES = ['require', 'verify-ca', 'verify-full'] as const;

/**
 * Parses the URL of a database; throws `UsageError`, one line that begins with the setting's `name`, if it is invalid.
 * The message never repeats the URL, which may have a password in it.
 */
export function databaseUrl(name: string, text: string): DatabaseUrl {
  if (text === 'memory:') return { name, engine: 'memory' };
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1];
  // What begins with a scheme means something else to libsql; sqlite://data/x would be a folder of the root.
  if (file !== undefined && !/^(?:[a-z][a-z0-9+.-]*)?:|^\/\/[^/]/i.test(file)) return { name, engine: 'sqlite', file };
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const scheme = url && SCHEMES[url.protocol as keyof typeof SCHEMES];
  if (!scheme || !url.username || !/^[^,]+$/.test(url.hostname) || !/^\/[^/]+$/.test(url.pathname)) {
    throw new UsageError(
      `${name} must be sqlite:FILE (such as sqlite:./data/pets.sqlite), postgres://USER:PASSWORD@HOST:PORT/DATABASE ` +
        'or mariadb://… with one host, or memory:. MySQL is not supported.',
    );
  }
  const host = urlPart(name, url.hostname.replace(/^\[(.*)\]$/, '$1'));
  const { pool, tls } = parameters(name, url.searchParams, scheme.tlsParameter);
  // mysql2 treats every IP address as localhost when it verifies the name in a certificate.
  if (scheme.engine === 'mariadb' && tls?.mode === 'verify-full' && isIP(host) !== 0) {
    throw new UsageError(`${name} must name the host, not give its address, to verify the name in its certificate.`);
  }
  return {
    name,
    engine: scheme.engine,
    host,
    port: url.port === '' ? scheme.port : Number(url.port),
    user: urlPart(name, url.username),
    password: urlPart(name, url.password),
    database: urlPart(name, url.pathname.slice(1)),
    pool,
    tls,
  };
}

function parameters(name: string, given: URLSearchParams, tlsParameter: string): Pick<ServerUrl, 'pool' | 'tls'> {
  const known = ['pool', tlsParameter, 'sslrootcert'];
  const keys = [...given.keys()];
  // Not repeated: part of a password that should have been encoded may have ended up here.
  if (new Set(keys).size < keys.length || keys.some((key) => !known.includes(key)))
    throw new UsageError(`${name} supports no parameters but ${known.join(', ')}, each once.`);
  const pool = given.get('pool') ?? '10';
  if (!/^[1-9][0-9]{0,2}$/.test(pool))
    throw new UsageError(`${name} must have a number from 1 to 999 for its parameter pool.`);
  const path = given.get('sslrootcert');
  const wanted = given.get(tlsParameter) ?? (path === null ? 'disable' : 'verify-full');
  if (wanted === 'disable') return { pool: Number(pool) };
  // With the certificate of an authority the server's is verified, as with libpq.
  const sought = wanted === 'require' && path !== null ? 'verify-ca' : wanted;
  const mode = TLS_MODES.find((each) => each === sought);
  if (!mode)
    throw new UsageError(`${name} must have disable or one of ${TLS_MODES.join(', ')} for its ${tlsParameter}.`);
  return { pool: Number(pool), tls: { mode, ...(path !== null && { ca: certificates(name, path) }) } };
}

function certificates(name: string, path: string): string {
  let problem = 'contains no certificate';
  try {
    const text = readFileSync(path, 'utf8');
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  } catch (error) {
    problem = `cannot be read (${(error as NodeJS.ErrnoException).code})`;
  }
  throw new UsageError(`${name} must have a PEM file for its parameter sslrootcert; ${quoted(path)} ${problem}.`);
}

/** Decodes a part of a URL; throws `UsageError` with one line that begins with `name` if it is not percent-encoded. */
export function urlPart(name: string, part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new UsageError(`${name} has a % that is not followed by two hexadecimal digits; encode a % as %25.`);
  }
}
