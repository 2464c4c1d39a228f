import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { UsageError } from '../src/application/errors.js';
import { type Config, readConfig } from '../src/config.js';
import { SETTINGS } from '../src/settings.js';

type Read = (config: Config) => unknown;

/** The variable, where its value is found, its default, valid texts with the values they mean, and invalid texts. */
type Row = readonly [string, Read, unknown, Readonly<Record<string, unknown>>, readonly string[]];

const NO_INTEGERS = ['x', '-1', '1.5', '1e3', '0x10', ' 5', '9999999999', '1\n2', '٣'];
const KEYS = ['a-key-of-16-char', 'B'.repeat(255), 'with+all/of._~-it=='];
const COLLECTOR = 'http://127.0.0.1:4318';

const integer = (name: string, read: Read, byDefault: unknown, min: number, max: number): Row => [
  name,
  read,
  byDefault,
  { [min]: min, [max]: max },
  [...(min > 0 ? [String(min - 1)] : []), String(max + 1), ...NO_INTEGERS],
];

const milliseconds = (name: string, read: Read, byDefault: number) => integer(name, read, byDefault, 1, 3_600_000);

const baseUrl = (name: string, read: Read): Row => [
  name,
  read,
  '/v1',
  { '/v1': '/v1', 'https://[::1]:8443/a/v1': 'https://[::1]:8443/a/v1' },
  [
    ...['v1', '/v2', 'a.example/v1', 'ftp://a.example/v1', 'https://a.example/v1/', 'https://a.example/b?c/v1'],
    ...['https://user:hunter2@a.example/v1', 'https://例え.jp/v1', 'https://a.example:99999/v1', 'x'.repeat(100_000)],
  ],
];

/** What a setting needs to take effect. */
const NEEDS: Readonly<Record<string, Record<string, string>>> = {
  METRICS_HOST: { METRICS_PORT: '0' },
  OTEL_SERVICE_NAME: { OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR },
  OTEL_TRACES_SAMPLER: { OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR },
  OTEL_TRACES_SAMPLER_ARG: { OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR },
};

/** Every setting. A text of `hunter2` stands for a secret that no message may repeat. */
const TABLE: readonly Row[] = [
  [
    'DATABASE_URL',
    ({ database }) => database,
    { engine: 'sqlite', file: './data/petstore.sqlite' },
    {
      'memory:': { engine: 'memory' },
      'sqlite:data/a:b.sqlite': { engine: 'sqlite', file: 'data/a:b.sqlite' },
      'sqlite:///var/lib/pets.sqlite': { engine: 'sqlite', file: '/var/lib/pets.sqlite' },
      'postgres://me:p%40ss%2F%25@db/pets': { engine: 'postgres', user: 'me', password: 'p@ss/%', database: 'pets' },
      'postgresql://me@[::1]:6432/pets?pool=3': { engine: 'postgres', hosts: [{ host: '::1', port: 6432 }], pool: 3 },
      'postgres://me@db/pets?sslmode=require': { tls: { mode: 'require' } },
      'mariadb://me@db/pets?ssl=verify-full': { engine: 'mariadb', tls: { mode: 'verify-full' } },
    },
    [
      ...['memory', 'hunter2', 'sqlite:', 'sqlite::memory:', 'sqlite:file:a', 'sqlite://user:hunter2@host/db'],
      ...['oracle://user:hunter2@host/db', 'postgres://user:hunter2@', 'postgres://user:hunter2@host:99999/db'],
      ...['postgres://user:p?hunter2@host/db', 'postgres://user:hunter2%zz@host/db', 'mariadb://user:hunter2@host'],
      ...['postgres://user:hunter2@host/db?pool=0', 'postgres://user:hunter2@host/db?pool=2&pool=3'],
      ...['postgres://user:hunter2@host/db?ssl=require', 'postgres://user:hunter2@host/db?sslrootcert=/no/such/file'],
      'postgres://user:hunter2@host/db?sslrootcert=%E2%80%AEno%C2%85such%E2%80%A8file',
    ],
  ],
  integer('PORT', ({ port }) => port, 3000, 0, 65_535),
  [
    'HOST',
    ({ host }) => host,
    '127.0.0.1',
    { '0.0.0.0': '0.0.0.0', '::1': '::1', 'pets.internal': 'pets.internal' },
    [' ', 'a b', 'a\nb', '例え.jp', 'x'.repeat(254)],
  ],
  integer('WEB_CONCURRENCY', ({ workers }) => workers, 1, 1, 64),
  ['NODE_ENV', ({ production }) => production, false, { production: true, development: false, test: false }, []],
  [
    'API_KEYS',
    ({ apiKeys }) => apiKeys,
    [],
    { [KEYS.join()]: KEYS, [` ${KEYS.join(' , ')} `]: KEYS },
    ['hunter2', 'hunter2-with-15', 'hunter2'.repeat(37), 'hunter2=in-the-middle', 'hunter2-and-ümläuts', ',', 'x,'],
  ],
  ['API_KEYS_FILE', ({ apiKeys }) => apiKeys, [], {}, ['/no/such/file', 'hunter2-hunter2-hunter2', '/', '/dev/zero']],
  baseUrl('PUBLIC_BASE_URL', ({ http }) => http.baseUrl),
  baseUrl('PRODUCTION_BASE_URL', ({ http }) => http.productionBaseUrl),
  baseUrl('STAGING_BASE_URL', ({ http }) => http.stagingBaseUrl),
  [
    'CORS_ORIGINS',
    ({ http }) => http.corsOrigins,
    [],
    { 'http://localhost:5173, https://a.example': ['http://localhost:5173', 'https://a.example'] },
    ['*', 'null', 'a.example', 'https://a.example/', 'https://A.example', 'https://user:hunter2@a.example', 'file:///'],
  ],
  integer('RATE_LIMIT', ({ http }) => http.rateLimit, undefined, 1, 1_000_000),
  integer('AUTH_FAILURE_LIMIT', ({ http }) => http.authFailureLimit, undefined, 1, 1_000_000),
  [
    'RATE_LIMIT_URL',
    ({ counting }) => counting.redis,
    undefined,
    {
      'redis://127.0.0.1': { host: '127.0.0.1', port: 6379 },
      'redis://:p%40ss%2F@cache/3': { password: 'p@ss/', database: 3 },
      'rediss://me:secret@[::1]:6390/15': { host: '::1', port: 6390, user: 'me', password: 'secret', tls: true },
    },
    ['hunter2', 'redis:', '127.0.0.1:6379', 'http://user:hunter2@host', 'redis://user:hunter2@host/pets'],
  ],
  [
    'LOG_LEVEL',
    ({ log }) => log.level,
    'warn',
    { silent: 'silent', error: 'error', info: 'info', debug: 'debug' },
    ['trace', 'Info', 'warn ', '30', 'constructor', 'info\nwarn'],
  ],
  integer('METRICS_PORT', ({ metrics }) => metrics?.port, undefined, 0, 65_535),
  ['METRICS_HOST', ({ metrics }) => metrics?.host, '127.0.0.1', { '0.0.0.0': '0.0.0.0' }, ['a b', '例え.jp']],
  [
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    ({ tracing }) => tracing?.endpoint,
    undefined,
    { [COLLECTOR]: COLLECTOR, 'https://collector.example.com/otlp': 'https://collector.example.com/otlp' },
    ['collector:4318', 'grpc://collector:4317', 'http://', 'http://user:hunter2@collector:4318'],
  ],
  ['OTEL_SERVICE_NAME', ({ tracing }) => tracing?.serviceName, 'petstore', { pets: 'pets' }, []],
  [
    'OTEL_TRACES_SAMPLER',
    ({ tracing }) => tracing?.sampler,
    'parentbased_always_on',
    { always_off: 'always_off', traceidratio: 'traceidratio' },
    ['jaeger_remote', 'ALWAYS_ON', 'constructor'],
  ],
  ['OTEL_TRACES_SAMPLER_ARG', ({ tracing }) => tracing?.ratio, 1, { 0: 0, 0.25: 0.25 }, ['x', '-0.1', '1.1', '0,5']],
  integer('HEADERS_TIMEOUT', ({ http }) => http.headersTimeout, 10_000, 1, 15_000),
  milliseconds('REQUEST_TIMEOUT', ({ http }) => http.requestTimeout, 15_000),
  milliseconds('KEEP_ALIVE_TIMEOUT', ({ http }) => http.keepAliveTimeout, 75_000),
  milliseconds('IDLE_TIMEOUT', ({ http }) => http.idleTimeout, 30_000),
  milliseconds('POOL_TIMEOUT', ({ databaseLimits }) => databaseLimits.poolTimeout, 3_000),
  milliseconds('STATEMENT_TIMEOUT', ({ databaseLimits }) => databaseLimits.statementTimeout, 5_000),
  integer('MAX_CONNECTIONS', ({ http }) => http.maxConnections, 10_000, 1, 1_000_000),
  integer('MAX_WAITING', ({ databaseLimits }) => databaseLimits.maxWaiting, 1_000, 1, 1_000_000),
  ['STOP_DELAY', ({ stopDelay }) => stopDelay, 0, { 0: 0, 8999: 8_999 }, ['3600001', ...NO_INTEGERS]],
  ['STOP_LINGER', ({ http }) => http.stopLinger, 1_000, { 1: 1, 9999: 9_999 }, ['0', '3600001', ...NO_INTEGERS]],
  milliseconds('STOP_TIMEOUT', ({ stopTimeout }) => stopTimeout, 10_000),
];

const NAMES = SETTINGS.map(({ name }) => name).sort();

/** The message about a setting that is rejected; fails if it is accepted. */
function rejection(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as UsageError).message;
  }
  throw new Error(`Accepted: ${JSON.stringify(env).slice(0, 200)}`);
}

describe.each(TABLE)('%s', (name, read, byDefault, valid, invalid) => {
  it('has its default if it is unset or empty', () => {
    expect(read(readConfig({ ...NEEDS[name] }))).toEqual(byDefault);
    expect(read(readConfig({ ...NEEDS[name], [name]: '' }))).toEqual(byDefault);
  });

  it('accepts every valid value', () => {
    for (const [text, value] of Object.entries(valid)) {
      expect({ text, value: read(readConfig({ ...NEEDS[name], [name]: text })) }).toMatchObject({ text, value });
    }
  });

  it('rejects any other value with one line that names it and repeats no secret', () => {
    for (const text of invalid) {
      const message = rejection({ ...NEEDS[name], [name]: text });
      expect(message).toMatch(new RegExp(`^${name}\\b.{20,500}\\.$`));
      // Neither characters that are not visible nor those that reverse the direction of the text.
      expect(message).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|hunter2/u);
    }
  });
});

describe('the settings', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-'));
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function file(text: string): string {
    writeFileSync(join(folder, 'file'), text);
    return join(folder, 'file');
  }

  it('all have a row in the table above', () => {
    expect(TABLE.map(([name]) => name).sort()).toEqual(NAMES);
  });

  it('are all in .env.example, with their defaults', () => {
    const example = readFileSync('.env.example', 'utf8');
    expect(parseEnv(example)).toEqual({});
    const uncommented = parseEnv(example.replaceAll(/^# (?=[A-Z_]+=)/gm, '')) as Record<string, string>;
    expect(Object.keys(uncommented).sort()).toEqual(NAMES);
    const others = { METRICS_PORT: '0', OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR };
    expect(readConfig(uncommented)).toEqual(readConfig({}));
    expect(readConfig({ ...uncommented, ...others })).toEqual(readConfig(others));
  });

  it('are all in the table of docs/settings.md', () => {
    const page = readFileSync('docs/settings.md', 'utf8');
    const named = [...page.matchAll(/^\| (`[^|]+)\|/gm)].flatMap(([, cell = '']) => cell.match(/[A-Z_]+/g) ?? []);
    expect(named.sort()).toEqual(NAMES);
  });

  it.each<Record<string, string>>([
    { REQUEST_TIMEOUT: '5000', HEADERS_TIMEOUT: '5001' },
    { STOP_TIMEOUT: '1000', STOP_DELAY: '1000' },
    { WEB_CONCURRENCY: '2', DATABASE_URL: 'memory:' },
  ])('are rejected if they contradict each other: %j', (env) => {
    expect(rejection(env)).toMatch(/^[A-Z_]+ must be .{20,200}\.$/);
  });

  it('make the log JSON of level info in production', () => {
    expect(readConfig({ NODE_ENV: 'production' }).log).toEqual({ level: 'info', json: true });
  });

  it('read API keys from a file, one per line, besides those of API_KEYS', () => {
    const [first = '', ...others] = KEYS;
    for (const text of [others.join('\n'), `${others.join('\r\n')}\r\n\n`, others.join()]) {
      expect(readConfig({ API_KEYS: first, API_KEYS_FILE: file(text) }).apiKeys).toEqual(KEYS);
    }
  });

  it('reject a file of API keys that is invalid, too large or a pipe, without repeating its content', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const invalid = [`${KEYS[0]}\nhunter2`, '', 'x'.repeat(1_048_577)];
    for (const path of [pipe, ...invalid.map((text) => () => file(text))]) {
      const message = rejection({ API_KEYS_FILE: typeof path === 'string' ? path : path() });
      expect(message).toMatch(/^API_KEYS_FILE\b.{20,200}\.$/);
      expect(message).not.toContain('hunter2');
    }
  });
});
