import { isIP } from 'node:net';
import { quoted, UsageError } from '../../application/errors.js';
import { readSettingFile } from '../files/setting-file.js';
import { urlPart } from '../net/url-part.js';

/** How the connection to a database server is secured. */
export interface Tls {
  /** Whether the server's certificate is checked, and whether its name is too. */
  readonly mode: 'require' | 'verify-ca' | 'verify-full';
  /** The certificates, in PEM, of the authorities to trust; the system's if absent. */
  readonly ca?: string;
}

/** A server's address. */
export interface Host {
  readonly host: string;
  readonly port: number;
}

/** A database on a server, or on several of which one is the primary. */
export interface ServerUrl {
  readonly engine: 'postgres' | 'mysql' | 'mariadb';
  /** At least one; the first that is a primary is used. */
  readonly hosts: readonly [Host, ...Host[]];
  readonly user: string;
  readonly password?: string;
  readonly database: string;
  /** The most connections that this instance opens. */
  readonly pool: number;
  readonly tls?: Tls;
  /** What a pooler in between lends a connection for: `transaction` if for no longer than that; a session if absent, or no pooler is there. */
  readonly pooler?: 'transaction';
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

/** What a scheme stands for. */
interface Scheme {
  readonly engine: ServerUrl['engine'];
  readonly port: number;
  /** The parameter that names the mode of TLS. */
  readonly modeName: string;
  /** The parameter that names the mode of a pooler; absent if there are none that need it. */
  readonly poolerName?: string;
}

const POSTGRES: Scheme = { engine: 'postgres', port: 5432, modeName: 'sslmode', poolerName: 'pooler' };

const SCHEMES: Readonly<Record<string, Scheme>> = {
  'postgres:': POSTGRES,
  'postgresql:': POSTGRES,
  'mysql:': { engine: 'mysql', port: 3306, modeName: 'ssl' },
  'mariadb:': { engine: 'mariadb', port: 3306, modeName: 'ssl' },
};

/** A URL in front of its hosts, and behind them: the standard's knows but one (https://www.postgresql.org/docs/current/libpq-connect.html). */
const AROUND_HOSTS = /^([a-z]+:\/\/[^/?#]*@)([^/?#@]+)(\/.*)$/is;

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
  const [, start = '', list = '', rest = ''] = AROUND_HOSTS.exec(text) ?? [];
  const urls = list.split(',').map((host) => urlOf(start + host + rest));
  const [url] = urls;
  const scheme = url && SCHEMES[url.protocol];
  if (!scheme || urls.some((each) => !each?.hostname) || !url.username || !/^\/[^/]+$/.test(url.pathname)) {
    throw new UsageError(
      `${name} must be sqlite:FILE, postgres://USER:PASSWORD@HOST:PORT/DATABASE, mysql://… or mariadb://… likewise, or memory:. Of several hosts, as in HOST:PORT,HOST:PORT, the primary is used.`,
    );
  }
  const hosts = urls.map((each) => hostOf(name, each as URL, scheme.port)) as [Host, ...Host[]];
  const { pool, tls, pooler } = parameters(name, url.searchParams, scheme);
  // mysql2 takes every address for localhost when it compares the names of a certificate.
  if (scheme.engine !== 'postgres' && tls?.mode === 'verify-full' && hosts.some(({ host }) => isIP(host) !== 0)) {
    throw new UsageError(
      `${name} must name the host, not give its address, where the certificate is to be compared with it.`,
    );
  }
  return {
    engine: scheme.engine,
    hosts,
    user: urlPart(name, url.username),
    ...(url.password !== '' && { password: urlPart(name, url.password) }),
    database: urlPart(name, url.pathname.slice(1)),
    pool,
    ...(tls && { tls }),
    ...(pooler && { pooler }),
  };
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

function hostOf(name: string, { hostname, port }: URL, usual: number): Host {
  return {
    host: urlPart(name, hostname.replace(/^\[(.*)\]$/, '$1')),
    port: port === '' ? usual : Number(port),
  };
}

type Parameters = Pick<ServerUrl, 'pool' | 'tls' | 'pooler'>;

function parameters(name: string, given: URLSearchParams, { modeName, poolerName }: Scheme): Parameters {
  const known = ['pool', modeName, CA_NAME, ...(poolerName ? [poolerName] : [])];
  const keys = [...given.keys()];
  // Not repeated: a part of a password that should have been encoded may have come to stand here.
  if (keys.some((key) => !known.includes(key)))
    throw new UsageError(`${name} takes no parameters but ${known.join(', ')}.`);
  if (new Set(keys).size < keys.length) throw new UsageError(`${name} has a parameter more than once.`);
  const pool = given.get('pool') ?? DEFAULT_POOL;
  if (!/^[1-9][0-9]{0,2}$/.test(pool))
    throw new UsageError(`${name} must have a number from 1 to 999 for its parameter pool.`);
  const lent = (poolerName && given.get(poolerName)) ?? 'session';
  if (lent !== 'session' && lent !== 'transaction')
    throw new UsageError(`${name} must have session or transaction for its parameter ${poolerName}.`);
  const connections: Parameters = { pool: Number(pool), ...(lent === 'transaction' && { pooler: lent }) };
  const ca = given.get(CA_NAME);
  // A certificate to check against is there to be checked against, as with libpq.
  const wanted = given.get(modeName) ?? (ca === null ? 'disable' : 'verify-full');
  const mode = MODES.find((each) => each === wanted);
  if (!mode) throw new UsageError(`${name} must have one of ${MODES.join(', ')} for its parameter ${modeName}.`);
  if (mode === 'disable') return connections;
  return { ...connections, tls: { mode, ...(ca !== null && { ca: certificates(name, ca) }) } };
}

function certificates(name: string, path: string): string {
  try {
    const text = readSettingFile(path);
    if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error('it has no certificate in it');
    return text;
  } catch (error) {
    throw new UsageError(
      `${name} must have the path of a PEM file for its parameter ${CA_NAME}; of ${quoted(path)}, ${(error as Error).message}.`,
    );
  }
}
