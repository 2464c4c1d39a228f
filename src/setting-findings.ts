import { distance } from 'fastest-levenshtein';
import { shownRedisUrl } from './adapters/counting/redis-url.js';
import type { DatabaseUrl } from './adapters/persistence/database-url.js';
import { Finding, ok, warn } from './application/finding.js';
import type { Config, Environment } from './config.js';
import { type SettingName, SETTINGS } from './settings.js';

/** What each setting comes to: never a key or a password. */
const FOUND: Readonly<Record<SettingName, (config: Config, env: Environment) => string | number | undefined>> = {
  DATABASE_URL: ({ database }) => shown(database),
  PORT: ({ port }) => port,
  HOST: ({ host }) => host,
  WEB_CONCURRENCY: ({ workers }) => workers,
  NODE_ENV: ({ production }) => (production ? 'production' : 'not production'),
  API_KEYS: (_config, env) => (env.API_KEYS ? 'set, not shown' : undefined),
  API_KEYS_FILE: (_config, env) => env.API_KEYS_FILE || undefined,
  PUBLIC_BASE_URL: ({ http }) => http.baseUrl,
  PRODUCTION_BASE_URL: ({ http }) => http.productionBaseUrl,
  STAGING_BASE_URL: ({ http }) => http.stagingBaseUrl,
  CORS_ORIGINS: ({ http }) => http.corsOrigins.join(', ') || undefined,
  RATE_LIMIT: ({ http }) => http.rateLimit,
  AUTH_FAILURE_LIMIT: ({ http }) => http.authFailureLimit,
  RATE_LIMIT_URL: ({ counting: { redis } }) => redis && shownRedisUrl(redis),
  LOG_LEVEL: ({ log }) => log.level,
  METRICS_PORT: ({ metrics }) => metrics?.port,
  METRICS_HOST: ({ metrics }) => metrics?.host,
  OTEL_EXPORTER_OTLP_ENDPOINT: ({ tracing }) => tracing?.endpoint,
  OTEL_SERVICE_NAME: ({ tracing }) => tracing?.serviceName,
  OTEL_TRACES_SAMPLER: ({ tracing }) => tracing?.sampler,
  OTEL_TRACES_SAMPLER_ARG: ({ tracing }) => tracing?.ratio,
  HEADERS_TIMEOUT: ({ http }) => http.headersTimeout,
  REQUEST_TIMEOUT: ({ http }) => http.requestTimeout,
  KEEP_ALIVE_TIMEOUT: ({ http }) => http.keepAliveTimeout,
  IDLE_TIMEOUT: ({ http }) => http.idleTimeout,
  POOL_TIMEOUT: ({ databaseLimits }) => databaseLimits.poolTimeout,
  STATEMENT_TIMEOUT: ({ databaseLimits }) => databaseLimits.statementTimeout,
  MAX_CONNECTIONS: ({ http }) => http.maxConnections,
  MAX_WAITING: ({ databaseLimits }) => databaseLimits.maxWaiting,
  STOP_DELAY: ({ stopDelay }) => stopDelay,
  STOP_LINGER: ({ http }) => http.stopLinger,
  STOP_TIMEOUT: ({ stopTimeout }) => stopTimeout,
};

/** The settings that are in force, one by one. */
export function settingFindings(config: Config, env: Environment): Finding[] {
  return SETTINGS.map(({ name }) => ok(name, String(FOUND[name](config, env) ?? 'none')));
}

/** A warning for each variable that looks like a setting and is none. */
export function strayVariables(env: Environment): Finding[] {
  const names: readonly string[] = SETTINGS.map(({ name }) => name);
  return Object.keys(env).flatMap((given) => {
    if (names.includes(given)) return [];
    const [nearest] = names
      .map((name) => ({ name, slips: slips(given.toUpperCase(), name) }))
      .filter(({ name, slips }) => slips <= Math.max(1, Math.floor(name.length / 6)))
      .sort((a, b) => a.slips - b.slips);
    return nearest ? [warn(given, 'No setting has this name.', `Did you mean ${nearest.name}?`)] : [];
  });
}

/** How many letters are too many, missing or wrong; two that changed places are one slip. */
function slips(given: string, name: string): number {
  const swapped = Array.from({ length: Math.max(0, given.length - 1) }, (_, i) =>
    [given.slice(0, i), given[i + 1], given[i], given.slice(i + 2)].join(''),
  );
  return Math.min(distance(given, name), ...swapped.map((other) => 1 + distance(other, name)));
}

function shown(url: DatabaseUrl): string {
  if (url.engine === 'memory') return 'memory:';
  if (url.engine === 'sqlite') return `sqlite:${url.file}`;
  const { engine, hosts, database, pool, tls, pooler } = url;
  const places = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
  const mode = pooler ? `, pooler ${pooler}` : '';
  return `${engine}://${places.join()}/${database} (pool ${pool}, TLS ${tls?.mode ?? 'disable'}${mode})`;
}
