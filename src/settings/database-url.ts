import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { UsageError } from '../messages/usage-error.js';
import { filePath } from './path.js';

/** How the connection to a database server is secured. */
export interface Tls {
  /**
   * As libpq's `sslmode`: `allow` encrypts if the server demands it, `prefer` if it can, `require` always; `verify-ca`
   * also verifies the certificate, `verify-full` also the name in it.
   */
  readonly mode: Exclude<(typeof TLS_MODES)[number], 'disable' | 'no-verify'>;
  /** In PEM: the certificates of the authorities to trust (the system's if absent), and those of the client. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly crl?: string | undefined;
}

/** A database on a server. */
export interface ServerUrl {
  /** The setting or option that it comes from. */
  readonly name: string;
  readonly engine: 'postgres' | 'mariadb';
  /** A name, an address or, with a leading slash, the folder of PostgreSQL's socket or the socket of MariaDB. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Empty for none. */
  readonly password: string;
  readonly database: string;
  /** Maximum connections of a process for requests: half for reads and half for writes, at least one each. */
  readonly pool: number;
  /** For how long one attempt to connect may take, in milliseconds; undefined if the URL does not say. */
  readonly connectTimeout: number | undefined;
  /** Absent for a connection that is never encrypted. */
  readonly tls?: Tls | undefined;
  /** Every parameter, validated. */
  readonly parameters: UrlParameters;
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
  if (url.engine === 'sqlite') return resolve(url.file);
  const { engine, host, port, database } = url;
  if (!host.startsWith('/')) return `${engine}://${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
  return `${engine}:///${database}?${engine === 'postgres' ? `host=${host}&port=${port}` : `socket=${host}`}`;
}

/** Whether a server is reached without a network. */
export function isOnThisMachine({ host }: Pick<ServerUrl, 'host'>): boolean {
  return /^(\/.*|localhost|::1|127(\.\d{1,3}){3})$/i.test(host);
}

/** Narrows a URL to that of a database that outlives the process; throws `UsageError` if it does not. */
export function persistent(url: DatabaseUrl): PersistentUrl {
  if (url.engine !== 'memory') return url;
  throw new UsageError(`${url.name} must not be memory:, which lasts only as long as its process.`);
}

const TLS_MODES = ['disable', 'allow', 'prefer', 'require', 'no-verify', 'verify-ca', 'verify-full'] as const;

/** Returns the normal form of a valid value of a parameter, undefined of any other; and says which are valid. */
type Rule = readonly [valid: (value: string) => string | undefined, words: string];

/** One of these words, in any case. */
const wordOf = (...words: readonly string[]): Rule => [
  (value) => words.find((word) => word.toLowerCase() === value.toLowerCase()),
  words.join(' or '),
];
const matching = (form: RegExp, words: string): Rule => [(value) => form.exec(value)?.[0], words];
const ANY = matching(/^[^]*$/, 'any text');
const TLS_VERSION = wordOf('TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3');
const SECONDS = matching(/^\d{1,5}$/, 'a number of seconds');

const OF_BOTH = {
  pool: matching(/^[1-9]\d{0,2}$/, 'a number from 1 to 999'),
  connect_timeout: SECONDS,
  sslrootcert: ANY,
  sslcert: ANY,
  sslkey: ANY,
};

/** Those of libpq that pg implements: https://www.postgresql.org/docs/current/libpq-connect.html, section 34.1.2. */
const OF_POSTGRES = {
  ...OF_BOTH,
  host: ANY,
  port: matching(/^\d{1,5}$/, 'a number'),
  user: ANY,
  password: ANY,
  dbname: ANY,
  sslmode: wordOf(...TLS_MODES),
  ssl: wordOf('true'),
  sslpassword: ANY,
  sslcrl: ANY,
  sslnegotiation: wordOf('postgres', 'direct'),
  ssl_min_protocol_version: TLS_VERSION,
  ssl_max_protocol_version: TLS_VERSION,
  channel_binding: wordOf('disable', 'prefer', 'require'),
  // The service writes, and rejects a server that is not the primary by itself.
  target_session_attrs: wordOf('any', 'read-write', 'primary'),
  gssencmode: wordOf('disable', 'prefer'),
  client_encoding: matching(/^(auto|utf-?8)$/i, 'UTF8'),
  application_name: ANY,
  fallback_application_name: ANY,
  options: ANY,
  keepalives: wordOf('0', '1'),
  keepalives_idle: SECONDS,
};

const OF_MARIADB = {
  ...OF_BOTH,
  ssl: wordOf(...TLS_MODES, 'true'),
  socket: matching(/^\/.*$/, 'a path with a leading /'),
};

type UrlParameters = Readonly<Partial<Record<keyof typeof OF_POSTGRES | keyof typeof OF_MARIADB, string>>>;

const POSTGRES = { engine: 'postgres', port: 5432, tlsParameter: 'sslmode', rules: OF_POSTGRES } as const;
const MARIADB = { engine: 'mariadb', port: 3306, tlsParameter: 'ssl', rules: OF_MARIADB } as const;
const SCHEMES = new Map<string, typeof POSTGRES | typeof MARIADB>([
  ['postgres', POSTGRES],
  ['postgresql', POSTGRES],
  ['mariadb', MARIADB],
  ['mysql', MARIADB],
]);

const SERVER_FORM = 'postgres://USER:PASSWORD@HOST:PORT/DATABASE';

/**
 * Parses the URL of a database; throws `UsageError`, one line that begins with the setting's `name`, if it is invalid.
 * The message never repeats the URL, which may have a password in it.
 */
export function databaseUrl(name: string, given: string): DatabaseUrl {
  const text = given.trim().replace(/^(?:memory|sqlite):/i, (scheme) => scheme.toLowerCase());
  if (text === 'memory:') return { name, engine: 'memory' };
  const file = /^sqlite:(?:\/\/(?=\/))?(.+)$/.exec(text)?.[1];
  // What begins with a scheme means something else to libsql; sqlite://data/x would be a folder of the root.
  // One letter is a drive of Windows.
  if (file !== undefined && !/^(?:[a-z][a-z0-9+.-]+)?:|^\/\/[^/]/i.test(file))
    return { name, engine: 'sqlite', file: filePath(name, file) };
  if (text.startsWith('sqlite:'))
    throw new UsageError(
      `${name} must be sqlite:FILE, such as sqlite:./data/pets.sqlite or sqlite:///srv/pets.sqlite.`,
    );
  return serverUrl(name, text);
}

/** By libpq's grammar: `URL` rejects a user without a host, and drops tabs and line breaks. */
function serverUrl(name: string, text: string): ServerUrl {
  const need = (condition: unknown, rule: string) => {
    if (!condition) throw new UsageError(`${name} must ${rule}.`);
  };
  need(!/^["'`]|["'`]$/.test(text), 'be a URL without quotes or a command around it');
  const [, protocol = '', account, address = '', path = '', query = ''] =
    /^(\w+):\/\/(?:([^/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?/.exec(text) ?? [];
  const scheme = SCHEMES.get(protocol.toLowerCase());
  need(
    scheme,
    'begin with sqlite:, memory:, postgres://, postgresql://, mariadb:// or mysql:// (for MariaDB), without a prefix ' +
      `such as jdbc: or a driver such as +psycopg2: ${SERVER_FORM}`,
  );
  need(!text.includes('#'), 'not contain a #; write it as %23');
  const isSplit = /[/@]/.test(path) || (account === undefined && query.includes('@') && !query.includes('user='));
  need(!isSplit, 'not contain a /, ? or @ in a user or password; write them as %2F, %3F and %40');
  need(!/\p{Cc}/u.test(text), 'be on one line, without tabs');

  const { engine, tlsParameter, rules } = scheme!;
  const parameters = parametersOf(name, query, rules);
  const [user = '', password = ''] = (account ?? '').split(/:(.*)/s).map((part) => urlPart(name, part));
  const [isValid, literal = '', port = ''] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(address) ?? [];
  const host = parameters.socket ?? parameters.host ?? urlPart(name, literal.replace(/^\[(.*)\]$/, '$1'));
  const url = {
    name,
    engine,
    host,
    port: Number(parameters.port ?? (port || scheme!.port)),
    user: parameters.user ?? user,
    password: parameters.password ?? password,
    database: parameters.dbname ?? urlPart(name, path),
    pool: Number(parameters.pool ?? 10),
    // libpq waits without limit for 0, the service never.
    connectTimeout: Number(parameters.connect_timeout ?? 0) * 1_000 || undefined,
    parameters,
  };
  need(!`${address}${host}`.includes(','), 'name one host: a proxy or an endpoint that leads to the primary');
  need(url.user, `name a user: ${SERVER_FORM}`);
  need(isValid !== undefined, `have a port that is a number: ${SERVER_FORM}`);
  need(url.port > 0 && url.port < 65_536, 'have a port from 1 to 65535');
  need(host, `name a host: ${SERVER_FORM}`);
  need(host.startsWith('/') || !host.includes('/'), 'name a host, or the path of a socket with a leading /');
  need(url.database, `name a database: ${SERVER_FORM}`);
  const tls = tlsOf(url, tlsParameter);
  const { sslnegotiation } = parameters;
  need(
    sslnegotiation !== 'direct' || !/^(allow|prefer)?$/.test(tls?.mode ?? ''),
    'have sslmode=require or a stricter one for sslnegotiation=direct',
  );
  // mysql2 treats every IP address as localhost when it verifies the name in a certificate.
  need(
    engine !== 'mariadb' || tls?.mode !== 'verify-full' || isIP(host) === 0,
    'name the host, not give its address, to verify the name in its certificate',
  );
  return { ...url, tls };
}

function parametersOf(name: string, query: string, rules: Readonly<Record<string, Rule>>): UrlParameters {
  const pairs = query === '' ? [] : query.split('&').map((pair) => pair.split(/=(.*)/s));
  const given = new Map(pairs.map(([key = '', value = '']) => [key, urlPart(name, value)]));
  if (given.size < pairs.length) throw new UsageError(`${name} must have each parameter once.`);
  const supported = Object.keys(rules).join(', ');
  for (const [index, [key, value]] of [...given].entries()) {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    // Its name is not repeated: part of a password that should have been encoded may have ended up here.
    if (!rule)
      throw new UsageError(`${name}: parameter ${index + 1} of the URL is not supported. Supported are ${supported}.`);
    const valid = rule[0](value);
    if (valid === undefined) throw new UsageError(`${name} must have ${rule[1]} for its parameter ${key}.`);
    given.set(key, valid);
  }
  return Object.fromEntries(given);
}

/** libpq's rules, but stricter: with the certificate of an authority and no mode the server is verified. */
function tlsOf(url: Omit<ServerUrl, 'tls'>, parameter: 'ssl' | 'sslmode'): Tls | undefined {
  const { parameters: given, host, name } = url;
  const { ssl, sslrootcert } = given;
  const usual = sslrootcert !== undefined ? 'verify-full' : isOnThisMachine(url) ? 'allow' : 'prefer';
  const word = (given[parameter] ?? ssl ?? usual) as (typeof TLS_MODES)[number] | 'true';
  if (word === 'disable' || host.startsWith('/')) return undefined;
  const verified = sslrootcert === 'system' ? 'verify-full' : sslrootcert !== undefined ? 'verify-ca' : 'require';
  const mode = word === 'true' || word === 'require' ? verified : word === 'no-verify' ? 'require' : word;
  const pem = (key: 'sslrootcert' | 'sslcert' | 'sslkey' | 'sslcrl') =>
    given[key] === undefined || given[key] === 'system' ? undefined : pemFile(name, key, given[key]);
  return { mode, ca: pem('sslrootcert'), cert: pem('sslcert'), key: pem('sslkey'), crl: pem('sslcrl') };
}

function pemFile(name: string, parameter: string, path: string): string {
  filePath(`${name}: ${parameter}`, path);
  let problem = 'has nothing in that format';
  try {
    const text = readFileSync(path, 'utf8');
    if (text.includes('-----BEGIN ')) return text;
  } catch (error) {
    problem = `cannot be read (${(error as NodeJS.ErrnoException).code})`;
  }
  throw new UsageError(`${name} must have a PEM file for its parameter ${parameter}; the given one ${problem}.`);
}

/** Decodes a part of a URL; throws `UsageError` with one line that begins with `name` if it is not percent-encoded. */
export function urlPart(name: string, part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new UsageError(`${name} has a % that is not followed by two hexadecimal digits; encode a % as %25.`);
  }
}
