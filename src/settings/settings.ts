import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { parseEnv } from 'node:util';
import proxyAddr from 'proxy-addr';
import { UsageError } from '../messages/usage-error.js';
import { type Finding, ok, warn } from '../messages/finding.js';
import { nearName, quoted } from '../messages/texts.js';
import { databaseUrl, type DatabaseUrl, persistent, type PersistentUrl, urlPart } from './database-url.js';
import { filePath } from './path.js';

/** Throws `UsageError` with one line that begins with the name and repeats no secret. */
type Parse<Value> = (name: string, text: string) => Value;

interface Setting<Value> {
  readonly default?: string;
  readonly parse: Parse<Value>;
}

const integer =
  (min: number, max: number): Parse<number> =>
  (name, text) => {
    if (/^[0-9]{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
    throw new UsageError(`${name} must be an integer from ${min} to ${max}, not ${quoted(text)}.`);
  };

const milliseconds = integer(1, 3_600_000);

/** One of these words, in any case. */
const oneOf =
  <Value extends string>(...allowed: Value[]): Parse<Value> =>
  (name, text) => {
    const found = allowed.find((each) => each === text.toLowerCase());
    if (found) return found;
    throw new UsageError(`${name} must be one of ${allowed.join(', ')}, not ${quoted(text)}.`);
  };

/** A host name or address, without the brackets in which URLs have an IPv6 address. */
const host: Parse<string> = (_name, text) => text.replace(/^\[(.*)\]$/, '$1');

/** The URL in its normal form, with other characters in punycode or percent-encoded. */
function baseUrl(name: string, text: string): string {
  if (text === '/v1') return text;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:\/\/[^@?#]+\/v1$/.test(url.href)) return url.href;
  // The value may contain a password, so the message does not repeat it.
  const rule = 'an http or https URL that ends in /v1, without user, password and query';
  throw new UsageError(`${name} must be ${rule}, such as https://pets.example.com/v1.`);
}

/** The URL of a Redis database. The message does not repeat the value, which may contain a password. */
function redisUrl(name: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isValid = url?.hostname && /^rediss?:$/.test(url.protocol) && /^\/?$|^\/[0-9]{1,5}$/.test(url.pathname);
  if (!isValid || url.search || url.hash) {
    const form = 'redis://USER:PASSWORD@HOST:PORT/DATABASE, or rediss://… for TLS';
    throw new UsageError(`${name} must be ${form}; user, password, port (6379) and database (0) may be left out.`);
  }
  for (const part of [url.username, url.password]) urlPart(name, part);
  // With its scheme in lower case, as ioredis expects it.
  return text.replace(/^\w+/, (scheme) => scheme.toLowerCase());
}

/** Items separated by commas or line breaks. `problemOf` says what is wrong with one, if anything is. */
function list(name: string, text: string, item: string, problemOf: (text: string) => string | false): string[] {
  if (text === '') return [];
  return text.split(/[,\n]/).map((part, index) => {
    const problem = problemOf(part.trim());
    if (problem) throw new UsageError(`${name}: ${item} ${index + 1} ${problem}.`);
    return part.trim();
  });
}

/** Each key is a token68 (RFC 9110, section 11.2). */
function apiKeys(name: string, text: string): readonly string[] {
  const rule = 'must be 16 to 255 of the characters A-Z a-z 0-9 - . _ ~ + /, with = at the end only';
  return list(name, text, 'key', (key) => !/^(?=.{16,255}$)[A-Za-z0-9\-._~+/]+=*$/.test(key) && rule);
}

/**
 * The keys in a file, and its path if it can be read again, as a pipe cannot. Blank lines, and those that begin with #,
 * are skipped.
 */
function apiKeysFile(name: string, path: string): { readonly path: string; readonly keys: readonly string[] } {
  if (path === '') return { path, keys: [] };
  filePath(name, path);
  let problem = 'has none';
  try {
    const lines = readFileSync(path, 'utf8').split('\n');
    const text = lines.filter((line) => !/^\s*(?:#|$)/.test(line)).join('\n');
    if (text !== '') return { path: statSync(path).isFile() ? path : '', keys: apiKeys(name, text) };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    problem = `cannot be read (${(error as NodeJS.ErrnoException).code})`;
  }
  // The message does not repeat the path: it may be a key, set by mistake.
  throw new UsageError(`${name} must be a file of API keys, one per line, but it ${problem}.`);
}

function origins(name: string, text: string): readonly string[] {
  return list(name, text, 'origin', originProblem).map((origin) => originOf(new URL(origin)));
}

/** The origin as browsers send it. That of a scheme of its own, such as `capacitor:`, is `null` by `URL.origin`. */
function originOf({ protocol, host }: URL): string {
  return `${protocol}//${host}`;
}

function originProblem(origin: string): string | false {
  if (origin.includes('*')) return 'must not contain *; name each origin, such as https://shop.example.com';
  if (origin === 'null') return 'must not be null, which every sandboxed page and local file has';
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(origin)) return 'has no scheme; write one, as in https://shop.example.com';
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  if (!url?.host) return 'has no valid host and port; write it with them, such as https://shop.example.com:8443';
  const isOrigin = url.href.replace(/\/$/, '') === originOf(url);
  return !isOrigin && 'must be a scheme, a host and a port, without a path, such as https://shop.example.com';
}

function proxies(name: string, text: string): readonly string[] {
  const rule = 'must be an IP address, a range such as 10.0.0.0/8, loopback, linklocal or uniquelocal';
  return list(name, text.toLowerCase(), 'proxy', (proxy) => !isProxy(proxy) && rule);
}

function isProxy(text: string): boolean {
  try {
    proxyAddr.compile(text);
    // The library takes 1 for an address, by which Express means a number of proxies.
    return isIP(text.split('/', 1)[0] ?? '') > 0 || /^[a-z]+$/.test(text);
  } catch {
    return false;
  }
}

/** Every setting, in the order of docs/settings.md, which says what each is for, as `.env.example` does. */
export const SETTINGS = {
  DATABASE_URL: { default: 'sqlite:./data/petstore.sqlite', parse: databaseUrl },
  PORT: { default: '3000', parse: integer(0, 65_535) },
  HOST: { default: '127.0.0.1', parse: host },
  WEB_CONCURRENCY: { default: '1', parse: integer(1, 64) },
  NODE_ENV: { parse: oneOf('production', 'development', 'test') },
  API_KEYS: { default: '', parse: apiKeys },
  API_KEYS_FILE: { default: '', parse: apiKeysFile },
  PUBLIC_BASE_URL: { default: '/v1', parse: baseUrl },
  PRODUCTION_BASE_URL: { default: '/v1', parse: baseUrl },
  STAGING_BASE_URL: { default: '/v1', parse: baseUrl },
  CORS_ORIGINS: { default: '', parse: origins },
  RATE_LIMIT: { parse: integer(1, 1_000_000) },
  AUTH_FAILURE_LIMIT: { parse: integer(1, 1_000_000) },
  TRUSTED_PROXIES: { default: '', parse: proxies },
  RATE_LIMIT_URL: { parse: redisUrl },
  LOG_LEVEL: { parse: oneOf('silent', 'error', 'warn', 'info', 'debug') },
  METRICS_PORT: { parse: integer(0, 65_535) },
  METRICS_HOST: { default: '127.0.0.1', parse: host },
  REQUEST_TIMEOUT: { default: '15000', parse: milliseconds },
  KEEP_ALIVE_TIMEOUT: { default: '75000', parse: milliseconds },
  STATEMENT_TIMEOUT: { default: '5000', parse: milliseconds },
  MAX_CONNECTIONS: { default: '10000', parse: integer(1, 1_000_000) },
  MAX_WAITING: { default: '1000', parse: integer(1, 1_000_000) },
  STOP_DELAY: { default: '0', parse: integer(0, 3_600_000) },
  STOP_TIMEOUT: { default: '10000', parse: milliseconds },
} satisfies Readonly<Record<string, Setting<unknown>>>;

/** The parsed values by name; undefined if a setting is neither set nor has a default. */
export type Settings = {
  readonly [N in keyof typeof SETTINGS]:
    ReturnType<(typeof SETTINGS)[N]['parse']> | ((typeof SETTINGS)[N] extends { default: string } ? never : undefined);
} & {
  /** Whether the variables of OpenTelemetry ask for traces. Its SDK reads all others itself. */
  readonly isTraced: boolean;
};

const ENTRIES = Object.entries<Setting<unknown>>(SETTINGS);

/**
 * Adds the variables of `.env`, if it exists, to the environment, and removes those that have no effect.
 * `process.loadEnvFile` takes a byte order mark for part of the first name, and a file that it may not read for absent.
 */
export function prepareEnvironment(): void {
  try {
    const variables = parseEnv(new TextDecoder('utf-8', { fatal: true }).decode(readFileSync('.env')));
    for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw new UsageError(`The file .env must be a readable file in UTF-8 (${code}).`);
  }
  // pg would take them where `DATABASE_URL` has no such parameter.
  for (const name of ['PGOPTIONS', 'PGREPLICATION']) delete process.env[name];
}

/** Whether a terminal cannot move its cursor, as in an editor. */
export function isDumbTerminal(): boolean {
  return process.env.TERM === 'dumb';
}

/**
 * Reads one setting, for a command that needs no others: one of those may be wrong. Throws `UsageError` with one line
 * that names the variable. If it is empty, the default counts.
 */
export function readSetting<Name extends keyof typeof SETTINGS>(name: Name, env = process.env): Settings[Name] {
  const { default: value, parse }: Setting<unknown> = SETTINGS[name];
  const text = env[name] || value;
  return (text === undefined ? undefined : parse(name, text)) as Settings[Name];
}

/** `DATABASE_URL`, for a command. Throws `UsageError` if it is invalid, or the database is lost with its process. */
export function configuredDatabase(): PersistentUrl {
  return persistent(readSetting('DATABASE_URL'));
}

/**
 * Parses the URL that an option of a command gives, or the variable that it names: others may see the arguments of a
 * process, which should contain no password.
 */
export function databaseUrlOf(option: string, given: string): DatabaseUrl {
  if (!/^[A-Za-z_]\w*$/.test(given)) return databaseUrl(option, given);
  const text = process.env[given];
  if (text) return databaseUrl(given, text);
  throw new UsageError(`${option} must be the URL of a database, or the name of an environment variable with one.`);
}

/** Reads all settings; throws `UsageError` with one line that names the variable. */
export function readSettings(env: NodeJS.ProcessEnv = process.env): Settings {
  const names = Object.keys(SETTINGS) as (keyof typeof SETTINGS)[];
  const parsed = names.map((name) => [name, readSetting(name, env)]);
  const given = Object.fromEntries(parsed) as Settings;
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_TRACES_EXPORTER } = env;
  const exporter = OTEL_TRACES_EXPORTER || OTEL_EXPORTER_OTLP_ENDPOINT || OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || 'none';
  const settings = {
    ...given,
    isTraced: exporter.trim().toLowerCase() !== 'none' && env.OTEL_SDK_DISABLED?.toLowerCase() !== 'true',
  };
  if (settings.WEB_CONCURRENCY > 1 && settings.DATABASE_URL.engine === 'memory') {
    throw new UsageError(
      'WEB_CONCURRENCY must be 1 with DATABASE_URL=memory:, because each process would have its own pets.',
    );
  }
  if (settings.STOP_TIMEOUT <= settings.STOP_DELAY) {
    throw new UsageError(`STOP_TIMEOUT must be more than STOP_DELAY, which is ${settings.STOP_DELAY}.`);
  }
  return settings;
}

/**
 * The API keys that are configured now: the file is read again. Throws `UsageError` as `readSettings` does. Only for
 * the `Authenticator`, which keeps those that it has if the file has become invalid.
 */
export function readConfiguredKeys({ API_KEYS, API_KEYS_FILE: { path, keys } }: Settings): readonly string[] {
  return [...API_KEYS, ...(path === '' ? keys : apiKeysFile('API_KEYS_FILE', path).keys)];
}

/** Every setting without secrets, for `petstore check`, and what should be configured otherwise. */
export function settingFindings(settings: Settings, env: NodeJS.ProcessEnv = process.env): Finding[] {
  const { AUTH_FAILURE_LIMIT, PUBLIC_BASE_URL, TRUSTED_PROXIES } = settings;
  const isBehindProxy = PUBLIC_BASE_URL.startsWith('https:');
  const isOneAddress = AUTH_FAILURE_LIMIT !== undefined && isBehindProxy && TRUSTED_PROXIES.length === 0;
  const proxied = 'PUBLIC_BASE_URL begins with https; if a proxy ends TLS, all of its clients count as one address.';
  return [
    ...ENTRIES.map(([name, setting]) => ok(name, withoutSecrets(name, env[name] || setting.default))),
    ...(isOneAddress ? [warn('AUTH_FAILURE_LIMIT', proxied, 'Set TRUSTED_PROXIES to its address.')] : []),
  ];
}

/** The variables whose names are nearly those of settings: a misspelt RATE_LIMIT would limit nothing. */
export function misspeltSettings(env: NodeJS.ProcessEnv = process.env): Finding[] {
  return Object.keys(env).flatMap((given) => {
    const near = given in SETTINGS ? undefined : nearName(given, Object.keys(SETTINGS), 1 / 6);
    return near ? [warn(given, 'No setting has this name.', `Did you mean ${near}?`)] : [];
  });
}

/** The value of a setting without keys, user and password. */
function withoutSecrets(name: string, text: string | undefined): string {
  if (!text) return 'not set';
  if (name === 'API_KEYS') return 'set, not shown';
  return text
    .trim()
    .replace(/^([^/]*\/\/)[^/?#]*@/, '$1')
    .replace(/([?&](?:user|password|sslpassword)=)[^&]*/g, '$1…');
}
