import { readFileSync } from 'node:fs';
import { distance } from 'fastest-levenshtein';
import { redisUrl } from './adapters/http/auth/redis.js';
import { type DatabaseLimits, databaseUrl } from './adapters/persistence/database-url.js';
import { quoted, UsageError } from './application/errors.js';
import { fail, Finding, ok, warn } from './application/finding.js';
import { POOL_TIMEOUT } from './application/within.js';

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface Setting<Value> {
  /** A sentence without its full stop, with the unit. */
  readonly description: string;
  readonly default?: string;
  readonly example?: string;
  /** Whether the value is never printed. */
  readonly secret?: true;
  /** Throws `UsageError` with one line that starts with the name and contains no secret. */
  readonly parse: (text: string, name: string) => Value;
}

const integer =
  (min: number, max: number) =>
  (text: string, name: string): number => {
    if (/^[0-9]{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
    throw new UsageError(`${name} must be an integer from ${min} to ${max}, not ${quoted(text)}.`);
  };

const milliseconds = integer(1, 3_600_000);

const oneOf =
  <Value extends string>(allowed: readonly Value[]) =>
  (text: string, name: string): Value => {
    const found = allowed.find((each) => each === text);
    if (!found) throw new UsageError(`${name} must be one of ${allowed.join(', ')}, not ${quoted(text)}.`);
    return found;
  };

/** The URL in its normal form, with other characters in punycode or percent-encoded. */
function baseUrl(text: string, name: string): string {
  if (text === '/v1') return text;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:\/\/[^@?#]+\/v1$/.test(url.href)) return url.href;
  // The value may contain a password, so the message does not repeat it.
  throw new UsageError(
    `${name} must be an http or https URL that ends in /v1, without user, password and query, such as ` +
      'https://pets.example.com/v1.',
  );
}

/** Keys separated by commas or line breaks, each a token68 (RFC 9110, section 11.2). */
function apiKeys(text: string, name: string): readonly string[] {
  if (text === '') return [];
  const keys = text.split(/[,\n]/).map((key) => key.trim());
  const bad = keys.findIndex((key) => !/^(?=.{16,255}$)[A-Za-z0-9\-._~+/]+=*$/.test(key));
  if (bad < 0) return keys;
  throw new UsageError(
    `${name}: each key must be 16 to 255 of the characters A-Z a-z 0-9 - . _ ~ + /, with = at the end only; ` +
      `key ${bad + 1} is not.`,
  );
}

function apiKeysFile(path: string, name: string): readonly string[] {
  if (path === '') return [];
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    // The message does not repeat the path: it may be a key, set by mistake.
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${name} must be a file of API keys, one per line, but it cannot be read (${code}).`);
  }
  if (text === '') throw new UsageError(`${name} must be a file of API keys, one per line, but the file is empty.`);
  return apiKeys(text, name);
}

function origins(text: string, name: string): readonly string[] {
  if (text === '') return [];
  return text.split(',').map((each, index) => {
    const origin = each.trim();
    const problem = originProblem(origin);
    if (problem === undefined) return new URL(origin).origin;
    throw new UsageError(
      `${name} must be origins separated by commas, such as https://shop.example.com; origin ${index + 1} ${problem}.`,
    );
  });
}

function originProblem(origin: string): string | undefined {
  if (origin === '*') return 'is *; name each origin';
  if (!/^https?:\/\//i.test(origin)) return 'has no scheme https:// or http://';
  const isOrigin = URL.canParse(origin) && new URL(origin).href === `${new URL(origin).origin}/`;
  return isOrigin ? undefined : 'is not just a scheme, a host and a port';
}

/** Every setting, in the order of docs/settings.md. */
export const SETTINGS = {
  DATABASE_URL: {
    description: 'Where pets and keys are stored: sqlite:FILE, postgres://…, mariadb://… or memory:',
    default: 'sqlite:./data/petstore.sqlite',
    parse: (text, name) => databaseUrl(name, text),
  },
  PORT: { description: 'Port to listen on; 0 for any free one', default: '3000', parse: integer(0, 65_535) },
  HOST: { description: 'Address to listen on', default: '127.0.0.1', parse: (text) => text },
  WEB_CONCURRENCY: { description: 'Number of processes, 1 to 64', default: '1', parse: integer(1, 64) },
  NODE_ENV: {
    description: 'production, development or test; in production no key is created at startup, and the log is JSON',
    parse: oneOf(['production', 'development', 'test']),
  },
  API_KEYS: {
    description: 'API keys besides the stored ones, separated by commas, 16 to 255 characters each',
    default: '',
    secret: true,
    parse: apiKeys,
  },
  API_KEYS_FILE: {
    description: 'File of API keys besides the stored ones, one per line',
    default: '',
    example: './api-keys',
    parse: apiKeysFile,
  },
  PUBLIC_BASE_URL: {
    description:
      'Public base URL of the service, ending in /v1, for the headers Link and Location; only a path if not set',
    default: '/v1',
    example: 'https://pets.example.com/v1',
    parse: baseUrl,
  },
  PRODUCTION_BASE_URL: {
    description: 'Base URL of production in the OpenAPI document, ending in /v1',
    default: '/v1',
    example: 'https://pets.example.com/v1',
    parse: baseUrl,
  },
  STAGING_BASE_URL: {
    description: 'Base URL of staging in the OpenAPI document, ending in /v1',
    default: '/v1',
    example: 'https://staging.pets.example.com/v1',
    parse: baseUrl,
  },
  CORS_ORIGINS: {
    description: 'Origins whose pages may call the service from a browser, separated by commas; none if not set',
    default: '',
    example: 'https://shop.example.com',
    parse: origins,
  },
  RATE_LIMIT: {
    description: 'Requests per API key and minute; no limit if not set',
    example: '600',
    parse: integer(1, 1_000_000),
  },
  AUTH_FAILURE_LIMIT: {
    description: 'Failed authentications per minute and address of the connection; no limit if not set',
    example: '20',
    parse: integer(1, 1_000_000),
  },
  RATE_LIMIT_URL: {
    description: 'Redis through which instances share RATE_LIMIT and AUTH_FAILURE_LIMIT',
    example: 'redis://127.0.0.1:6379/0',
    parse: (text, name) => redisUrl(name, text),
  },
  LOG_LEVEL: {
    description: 'silent, error, warn, info or debug; if not set, info in production and warn otherwise',
    parse: oneOf(['silent', 'error', 'warn', 'info', 'debug']),
  },
  METRICS_PORT: {
    description: 'Port that serves the metrics for Prometheus; no metrics if not set',
    example: '9464',
    parse: integer(0, 65_535),
  },
  METRICS_HOST: { description: 'Address that serves the metrics', default: '127.0.0.1', parse: (text) => text },
  REQUEST_TIMEOUT: {
    description: 'Time for a whole request to arrive, in ms; its headers have at most 10 s',
    default: '15000',
    parse: milliseconds,
  },
  KEEP_ALIVE_TIMEOUT: {
    description: 'Idle time of a connection between requests, in ms',
    default: '75000',
    parse: milliseconds,
  },
  STATEMENT_TIMEOUT: {
    description: 'Time for the database to answer a query, in ms',
    default: '5000',
    parse: milliseconds,
  },
  MAX_CONNECTIONS: {
    description: 'Open connections per process; any further one is closed',
    default: '10000',
    parse: integer(1, 1_000_000),
  },
  MAX_WAITING: {
    description: 'Requests per process that may wait for the database; any further one gets 503',
    default: '1000',
    parse: integer(1, 1_000_000),
  },
  STOP_DELAY: {
    description: 'Time that a shutdown still accepts connections, so that load balancers notice, in ms',
    default: '0',
    parse: integer(0, 3_600_000),
  },
  STOP_TIMEOUT: {
    description: 'Time for the whole shutdown, in ms; more than STOP_DELAY',
    default: '10000',
    parse: milliseconds,
  },
} satisfies Readonly<Record<string, Setting<unknown>>>;

type Name = keyof typeof SETTINGS;

/** The parsed values by name; undefined if a setting is neither set nor has a default. */
export type Settings = {
  readonly [N in Name]:
    ReturnType<(typeof SETTINGS)[N]['parse']> | ((typeof SETTINGS)[N] extends { default: string } ? never : undefined);
};

const NAMES = Object.keys(SETTINGS) as Name[];

const entry = (name: Name): Setting<unknown> => SETTINGS[name];

const REMOVED = {
  HEADERS_TIMEOUT: '10 s, or REQUEST_TIMEOUT if that is shorter',
  IDLE_TIMEOUT: '30 s',
  POOL_TIMEOUT: '3 s',
  STOP_LINGER: '1 s',
};

/** Throws `UsageError` with one line that names the variable. An empty variable counts as not set. */
export function readSettings(env: Environment = process.env): Settings {
  for (const [name, value] of Object.entries(REMOVED)) {
    if (env[name]) throw new UsageError(`${name} was removed: it is always ${value}. Unset it.`);
  }
  const parsed = NAMES.map((name) => {
    const text = env[name] || entry(name).default;
    return [name, text === undefined ? undefined : entry(name).parse(text, name)];
  });
  const settings = Object.fromEntries(parsed) as Settings;
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

/** Times in milliseconds. */
export function databaseLimits({ STATEMENT_TIMEOUT, MAX_WAITING }: Settings): DatabaseLimits {
  return { poolTimeout: POOL_TIMEOUT, statementTimeout: STATEMENT_TIMEOUT, maxWaiting: MAX_WAITING };
}

/** The value of a setting as text, without keys, user and password. */
export function shownSetting(name: Name, env: Environment = process.env): string {
  const text = env[name] || entry(name).default;
  if (!text) return 'not set';
  return entry(name).secret ? 'set, not shown' : text.replace(/^(\w+:\/\/)[^/?#]*@/, '$1');
}

/** Checks the settings for `petstore check`. A misspelt name is reported: a misspelt RATE_LIMIT would limit nothing. */
export function settingFindings(env: Environment = process.env): Finding[] {
  const misspelt = Object.keys(env).flatMap((given) => {
    if (given in SETTINGS) return [];
    const near = NAMES.find((name) => distance(given.toUpperCase(), name) <= Math.max(1, Math.floor(name.length / 6)));
    return near ? [warn(given, 'No setting has this name.', `Did you mean ${near}?`)] : [];
  });
  try {
    const { API_KEYS, API_KEYS_FILE } = readSettings(env);
    const findings = NAMES.map((name) => ok(name, shownSetting(name, env)));
    const short = [...API_KEYS, ...API_KEYS_FILE].filter((key) => key.length < 32).length;
    if (short > 0) {
      const advice = 'Keys of 32 random characters or more cannot be guessed; "petstore keys create" makes one.';
      findings.push(warn('API keys', `${short} configured with less than 32 characters.`, advice));
    }
    return [...findings, ...misspelt];
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return [fail('settings', error.message, 'The other checks need valid settings.'), ...misspelt];
  }
}

/** Whether a collector is set. The other variables of OpenTelemetry are read by its SDK. */
export function isTraced(env: Environment = process.env): boolean {
  const endpoint = env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  return Boolean(endpoint) && env.OTEL_SDK_DISABLED !== 'true';
}
