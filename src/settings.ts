import type { Setting } from './adapters/cli/setting.js';

/** Every setting, in the order of docs/settings.md. `config.ts` says what each takes. */
export const SETTINGS = [
  {
    name: 'DATABASE_URL',
    words: 'Where animals and keys are kept: memory:, sqlite:FILE, postgres://…, mariadb://… or mysql://…',
    unset: 'sqlite:./data/petstore.sqlite',
  },
  { name: 'PORT', words: 'The port to listen on; 0 for any free one', unset: '3000' },
  { name: 'HOST', words: 'The address to listen on', unset: '127.0.0.1' },
  { name: 'WEB_CONCURRENCY', words: 'By how many processes to serve, 1 to 64', unset: '1' },
  {
    name: 'NODE_ENV',
    words: 'With production no key is made or shown at the start, and the log is JSON',
    example: 'production',
  },
  {
    name: 'API_KEYS',
    words: 'Keys besides the stored ones, 16 characters or more each, separated by commas',
    isSecret: true,
  },
  { name: 'API_KEYS_FILE', words: 'A file of such keys, one to a line', example: './api-keys' },
  {
    name: 'PUBLIC_BASE_URL',
    words:
      'The address by which clients reach the service, ending in /v1, for Link and Location; a path alone if not set',
    example: 'https://pets.example.com/v1',
  },
  {
    name: 'PRODUCTION_BASE_URL',
    words: 'The address of production in the OpenAPI document, ending in /v1; this instance if not set',
    example: 'https://pets.example.com/v1',
  },
  {
    name: 'STAGING_BASE_URL',
    words: 'The address of staging in the OpenAPI document, ending in /v1; this instance if not set',
    example: 'https://staging.pets.example.com/v1',
  },
  {
    name: 'CORS_ORIGINS',
    words: 'Origins whose pages may call the service from a browser, separated by commas; none if not set',
    example: 'https://shop.example.com',
  },
  { name: 'RATE_LIMIT', words: 'Requests of a key in a minute; no limit if not set', example: '600' },
  {
    name: 'AUTH_FAILURE_LIMIT',
    words: 'Failures to authenticate of an address in a minute; no limit if not set',
    example: '20',
  },
  {
    name: 'RATE_LIMIT_URL',
    words: 'A Redis through which all instances share the counts of both',
    example: 'redis://127.0.0.1:6379/0',
  },
  {
    name: 'LOG_LEVEL',
    words: 'silent, error, warn, info or debug; if not set, info in production and else warn',
    example: 'info',
  },
  { name: 'METRICS_PORT', words: 'The port where metrics are served; nowhere if not set', example: '9464' },
  { name: 'METRICS_HOST', words: 'The address where metrics are served', unset: '127.0.0.1' },
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    words: 'A collector of OpenTelemetry, where traces go by OTLP over HTTP; nowhere if not set',
    example: 'http://127.0.0.1:4318',
  },
  { name: 'OTEL_SERVICE_NAME', words: 'What the service is called in traces', unset: 'petstore' },
  {
    name: 'OTEL_TRACES_SAMPLER',
    words: 'Which traces are kept: always_on, always_off or traceidratio, or with parentbased_ before it',
    unset: 'parentbased_always_on',
  },
  { name: 'OTEL_TRACES_SAMPLER_ARG', words: 'Which part of them, 0 to 1, for a sampler by ratio', unset: '1' },
  { name: 'HEADERS_TIMEOUT', words: 'Within what time a header section must have arrived, in ms', unset: '10000' },
  { name: 'REQUEST_TIMEOUT', words: 'Within what time a whole request must have arrived, in ms', unset: '15000' },
  {
    name: 'KEEP_ALIVE_TIMEOUT',
    words: 'How long a connection may stand still between requests, in ms',
    unset: '75000',
  },
  { name: 'IDLE_TIMEOUT', words: 'How long a connection may stand still during a request, in ms', unset: '30000' },
  { name: 'POOL_TIMEOUT', words: 'How long to wait for a connection to the database server, in ms', unset: '3000' },
  { name: 'STATEMENT_TIMEOUT', words: 'How long to wait for an answer of the database server, in ms', unset: '5000' },
  { name: 'MAX_CONNECTIONS', words: 'How many connections a process takes at a time', unset: '10000' },
  {
    name: 'MAX_WAITING',
    words: 'How many requests of a process may wait for the store; one more is 503',
    unset: '1000',
  },
  {
    name: 'STOP_DELAY',
    words: 'For how long a stop still takes new connections, for balancers to notice, in ms',
    unset: '0',
  },
  { name: 'STOP_LINGER', words: 'For how long a stop keeps a silent connection open, in ms', unset: '1000' },
  {
    name: 'STOP_TIMEOUT',
    words: 'Within what time a stop must be done, in ms; more than the two above together',
    unset: '10000',
  },
] as const satisfies readonly Setting[];

/** The name of a setting. */
export type SettingName = (typeof SETTINGS)[number]['name'];
