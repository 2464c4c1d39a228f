import { CountSettings } from './adapters/counting/count-settings.js';
import { redisUrl } from './adapters/counting/redis-url.js';
import { readSettingFile } from './adapters/files/setting-file.js';
import { HttpSettings } from './adapters/http/http-settings.js';
import { LOG_LEVELS, LogSettings } from './adapters/log/log-settings.js';
import { MetricsSettings } from './adapters/metrics/metrics-settings.js';
import { SAMPLERS, TracingSettings } from './adapters/tracing/tracing-settings.js';
import { DatabaseLimits, DatabaseUrl, databaseUrl } from './adapters/persistence/database-url.js';
import { quoted, UsageError } from './application/errors.js';

/** Everything that the service can be told from outside, checked. */
export interface Config {
  /** Where to listen: a TCP port, 0 for any free one, and an address. */
  readonly port: number;
  readonly host: string;
  /** By how many processes to serve. */
  readonly workers: number;
  /** Whether `NODE_ENV` is `production`: no key is made or printed at the start. */
  readonly production: boolean;
  readonly database: DatabaseUrl;
  /** For how long new connections are still taken once the service is told to stop, in milliseconds. */
  readonly stopDelay: number;
  /** Within what time those are taken behind it that have come to this machine, in milliseconds. */
  readonly takeTimeout: number;
  /** Within what time a stop must be done, in milliseconds. */
  readonly stopTimeout: number;
  readonly databaseLimits: DatabaseLimits;
  /** Texts of API keys that are valid besides the stored ones. */
  readonly apiKeys: readonly string[];
  readonly http: HttpSettings;
  readonly counting: CountSettings;
  readonly log: LogSettings;
  /** Undefined for no metrics. */
  readonly metrics: MetricsSettings | undefined;
  /** Undefined for no traces. */
  readonly tracing: TracingSettings | undefined;
}

/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** RFC 6750's token68, of a length that is worth guessing at. */
const API_KEY = /^(?=.{16,255}$)[A-Za-z0-9\-._~+/]+=*$/;

/** Characters of an authority and a path (RFC 3986, sections 3.2.2 and 3.3); a user and a password are no part of it. */
const BASE_URL = /^https?:\/\/[\w.~!$&'()*+,;=:%[\]-]+(?:\/[\w.~!$&'()*+,;=:@%-]*)*\/v1$/;

/** The variables that the service was started with, those of `.env` among them. */
export function environment(): Environment {
  return process.env;
}

/** Sets variables for this process, and for those that it starts. */
export function setVariables(variables: Readonly<Record<string, string>>): void {
  Object.assign(process.env, variables);
}

/** The files that OpenTelemetry reads to reach a collector by TLS. */
const COLLECTOR_FILES = ['', 'TRACES_'].flatMap((signal) =>
  ['CERTIFICATE', 'CLIENT_CERTIFICATE', 'CLIENT_KEY'].map((file) => `OTEL_EXPORTER_OTLP_${signal}${file}`),
);

/**
 * Reads the environment, the only place that does; throws `UsageError`, one line that names the variable and says what it takes. A
 * variable that is set to nothing is as good as unset.
 */
export function readConfig(env: Environment = environment()): Config {
  const text = (name: string): string | undefined => env[name] || undefined;

  const integer = (name: string, fallback: number, min: number, max: number, unit = ''): number => {
    const value = text(name);
    if (value === undefined) return fallback;
    if (!/^[0-9]{1,9}$/.test(value) || Number(value) < min || Number(value) > max) {
      throw new UsageError(`${name} must be an integer from ${min} to ${max}${unit}, not ${quoted(value)}.`);
    }
    return Number(value);
  };
  const milliseconds = (name: string, fallback: number, min = 1) =>
    integer(name, fallback, min, 3_600_000, ' (milliseconds)');

  const limit = (name: string) =>
    text(name) === undefined ? undefined : integer(name, 0, 1, 1_000_000, ' (in a minute)');

  const baseUrl = (name: string): string => {
    const value = text(name) ?? '/v1';
    // It goes out with every link, and so has no place for a password; nor has the message.
    if (value !== '/v1' && !(BASE_URL.test(value) && URL.canParse(value))) {
      throw new UsageError(
        `${name} must be an http or https address in ASCII, without user or password, that ends in /v1, such as https://pets.example.com/v1; other characters are written as punycode in the name (https://xn--r8jz45g.jp/v1) and percent-encoded in the path.`,
      );
    }
    return value;
  };

  const host = (name: string): string => {
    const value = text(name) ?? '127.0.0.1';
    if (!/^[\x21-\x7e]{1,253}$/.test(value)) {
      throw new UsageError(`${name} must be an address or a name of this machine, in ASCII, not ${quoted(value)}.`);
    }
    return value;
  };

  const production = text('NODE_ENV') === 'production';
  // Where a person watches, the greeting should stay in sight.
  const level = oneOf('LOG_LEVEL', text('LOG_LEVEL') ?? (production ? 'info' : 'warn'), LOG_LEVELS);

  const workers = integer('WEB_CONCURRENCY', 1, 1, 64);
  const database = databaseUrl('DATABASE_URL', text('DATABASE_URL') ?? 'sqlite:./data/petstore.sqlite');
  if (workers > 1 && database.engine === 'memory') {
    throw new UsageError(
      'WEB_CONCURRENCY must be 1 with DATABASE_URL=memory:, where each process would have animals of its own; or set DATABASE_URL to a database.',
    );
  }

  const stopTimeout = milliseconds('STOP_TIMEOUT', 10_000);
  const stopDelay = milliseconds('STOP_DELAY', 0, 0);
  const stopLinger = milliseconds(
    'STOP_LINGER',
    Math.min(1_000, Math.max(0, Math.floor((stopTimeout - stopDelay) / 2))),
  );
  if (stopTimeout <= stopDelay + stopLinger) {
    throw new UsageError(
      `STOP_TIMEOUT must be more than STOP_DELAY and STOP_LINGER together, ${stopDelay + stopLinger} (milliseconds), not ${stopTimeout}.`,
    );
  }

  const databaseLimits = {
    poolTimeout: milliseconds('POOL_TIMEOUT', 3_000),
    statementTimeout: milliseconds('STATEMENT_TIMEOUT', 5_000),
    maxWaiting: integer('MAX_WAITING', 1_000, 1, 1_000_000),
  };
  const [rateLimit, authFailureLimit] = [limit('RATE_LIMIT'), limit('AUTH_FAILURE_LIMIT')];
  const rateLimitUrl = text('RATE_LIMIT_URL');
  const requestTimeout = milliseconds('REQUEST_TIMEOUT', 15_000);
  const headersTimeout = milliseconds('HEADERS_TIMEOUT', Math.min(10_000, requestTimeout));
  if (headersTimeout > requestTimeout) {
    throw new UsageError(
      `HEADERS_TIMEOUT must be at most REQUEST_TIMEOUT, ${requestTimeout} (milliseconds), not ${headersTimeout}.`,
    );
  }

  const endpoint = collector('OTEL_EXPORTER_OTLP_ENDPOINT', text('OTEL_EXPORTER_OTLP_ENDPOINT'));
  // Whoever sends the traces reads them, and would wait for a pipe.
  if (endpoint !== undefined) for (const name of COLLECTOR_FILES) fileOf(name, 'a PEM file', text(name));
  const tracing = {
    serviceName: text('OTEL_SERVICE_NAME') ?? 'petstore',
    sampler: oneOf('OTEL_TRACES_SAMPLER', text('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on', SAMPLERS),
    ratio: ratio('OTEL_TRACES_SAMPLER_ARG', text('OTEL_TRACES_SAMPLER_ARG') ?? '1'),
    flushTimeout: Math.ceil(0.05 * (stopTimeout - stopDelay)),
  };

  return {
    port: integer('PORT', 3000, 0, 65_535),
    host: host('HOST'),
    workers,
    production,
    stopDelay,
    takeTimeout: Math.ceil(0.1 * (stopTimeout - stopDelay)),
    stopTimeout,
    database,
    databaseLimits,
    apiKeys: [
      ...keys('API_KEYS', text('API_KEYS')),
      ...keys('API_KEYS_FILE', fileOf('API_KEYS_FILE', 'a file of API keys, one to a line', text('API_KEYS_FILE'))),
    ],
    http: {
      baseUrl: baseUrl('PUBLIC_BASE_URL'),
      productionBaseUrl: baseUrl('PRODUCTION_BASE_URL'),
      stagingBaseUrl: baseUrl('STAGING_BASE_URL'),
      corsOrigins: origins(text('CORS_ORIGINS')),
      headersTimeout,
      requestTimeout,
      keepAliveTimeout: milliseconds('KEEP_ALIVE_TIMEOUT', 75_000),
      idleTimeout: milliseconds('IDLE_TIMEOUT', 30_000),
      storeTimeout: databaseLimits.poolTimeout + databaseLimits.statementTimeout,
      maxConnections: integer('MAX_CONNECTIONS', 10_000, 1, 1_000_000),
      stopLinger,
      // The rest is for the traces, the store and the log.
      closeTimeout: Math.ceil(0.8 * (stopTimeout - stopDelay)),
      rateLimit,
      authFailureLimit,
    },
    counting: {
      isUsed: rateLimit !== undefined || authFailureLimit !== undefined,
      redis: rateLimitUrl === undefined ? undefined : redisUrl('RATE_LIMIT_URL', rateLimitUrl),
    },
    log: { level, json: production },
    metrics:
      text('METRICS_PORT') === undefined
        ? undefined
        : { port: integer('METRICS_PORT', 0, 0, 65_535), host: host('METRICS_HOST') },
    tracing: endpoint === undefined ? undefined : { endpoint, ...tracing },
  };
}

function oneOf<Value extends string>(name: string, value: string, allowed: readonly Value[]): Value {
  const found = allowed.find((each) => each === value);
  if (!found) throw new UsageError(`${name} must be one of ${allowed.join(', ')}, not ${quoted(value)}.`);
  return found;
}

function ratio(name: string, value: string): number {
  if (!/^(?:0(?:\.\d{1,15})?|1(?:\.0{1,15})?)$/.test(value)) {
    throw new UsageError(`${name} must be a number from 0 to 1, such as 0.05, not ${quoted(value)}.`);
  }
  return Number(value);
}

/** What else a collector wants, such as a token, is a header: an address has no place for it, nor has the message. */
function collector(name: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new UsageError(
      `${name} must be the http or https address of a collector, such as http://127.0.0.1:4318, without user, password or query; OTEL_EXPORTER_OTLP_HEADERS is for what it wants besides.`,
    );
  }
  return url.href.replace(/\/$/, '');
}

/** The text of a file that a setting names; the message has no path, for a key may have been put in its place. */
function fileOf(name: string, what: string, path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readSettingFile(path).trim();
  } catch (error) {
    throw new UsageError(`${name} must be the path of ${what}, but ${(error as Error).message}.`);
  }
}

/** Keys separated by commas or line ends. A message tells the place of a bad one, and never the key. */
function keys(name: string, list: string | undefined): string[] {
  const found = list?.split(/[,\n]/).map((key) => key.trim()) ?? [];
  const bad = found.findIndex((key) => !API_KEY.test(key));
  if (bad >= 0) {
    throw new UsageError(
      `${name}: each key must be 16 to 255 of the characters A-Z a-z 0-9 - . _ ~ + /, with = at the end only; key ${bad + 1} is not.`,
    );
  }
  return found;
}

function origins(list: string | undefined): string[] {
  const found = list?.split(',').map((origin) => origin.trim()) ?? [];
  const bad = found.findIndex((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin);
  if (bad >= 0) {
    throw new UsageError(
      `CORS_ORIGINS must be origins as browsers send them (in small letters, a name in punycode), with commas in between, such as https://shop.example.com; origin ${bad + 1} is none.`,
    );
  }
  return found;
}
