import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from '../src/application/errors.js';
import { Config, readConfig } from '../src/config.js';

/** A variable, what it sets, and values that it takes and does not take. */
interface Setting {
  readonly name: string;
  readonly read: (config: Config) => unknown;
  readonly unset: unknown;
  readonly good: readonly (readonly [string, unknown])[];
  readonly bad: readonly string[];
}

/** What the URLs of servers below have in common. */
const server = { user: 'me', database: 'pets', pool: 10 };

const KEYS = ['a-key-of-16-char', 'B'.repeat(255), 'with+all/of._~-it=='];

const BAD_INTEGERS = [
  'x',
  '-1',
  '1.5',
  '1e3',
  '0x10',
  ' 5',
  '5 ',
  '+5',
  '9999999999',
  '1\n2',
  '٣',
  'Infinity',
  '1'.repeat(100_000),
];
const BAD_HOSTS = [' ', 'a b', 'a\nb', '例え.jp', 'x'.repeat(254)];
const BAD_BASES = [
  'pets.example.com/v1',
  'ftp://pets.example.com/v1',
  'https://pets.example.com',
  'https://pets.example.com/v1/',
  'https://pets.example.com/v2',
  'https://pets.example.com/xv1',
  'https://pets.example.com/a?b/v1',
  'https://pets.example.com/a#b/v1',
  'https:///v1',
  'https://pets.example.com/a b/v1',
  'https://pets.example.com/v1\n',
  'https://pets.example.com/">/v1',
  'https://user:hunter2@pets.example.com/v1',
  'https://例え.jp/v1',
  'https://pets.example.com/né/v1',
  'https://pets.example.com/\x7f/v1',
  'https://pets.example.com\\v1/v1',
  'https://pets.example.com:99999/v1',
  'https://[::1/v1',
  'x'.repeat(100_000),
  '/v2',
  'v1',
];
const GOOD_BASES = [
  '/v1',
  'https://pets.example.com/v1',
  'http://127.0.0.1:8080/v1',
  'https://example.com/pets/api/v1',
  'https://xn--r8jz45g.jp/caf%C3%A9/v1',
  'https://[::1]:8443/v1',
];

function milliseconds(name: string, read: (config: Config) => unknown, unset: number): Setting {
  return {
    name,
    read,
    unset,
    good: [
      ['1', 1],
      ['3600000', 3_600_000],
    ],
    bad: ['0', '3600001', ...BAD_INTEGERS],
  };
}

function base(name: string, read: (config: Config) => unknown): Setting {
  return { name, read, unset: '/v1', good: GOOD_BASES.map((value) => [value, value] as const), bad: BAD_BASES };
}

function perMinute(name: string, read: (config: Config) => unknown): Setting {
  return {
    name,
    read,
    unset: undefined,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', ...BAD_INTEGERS],
  };
}

const SETTINGS: readonly Setting[] = [
  {
    name: 'PORT',
    read: ({ port }) => port,
    unset: 3000,
    good: [
      ['0', 0],
      ['8080', 8080],
      ['65535', 65_535],
    ],
    bad: ['65536', ...BAD_INTEGERS],
  },
  {
    name: 'HOST',
    read: ({ host }) => host,
    unset: '127.0.0.1',
    good: [
      ['0.0.0.0', '0.0.0.0'],
      ['::1', '::1'],
      ['pets.internal', 'pets.internal'],
    ],
    bad: BAD_HOSTS,
  },
  {
    name: 'WEB_CONCURRENCY',
    read: ({ workers }) => workers,
    unset: 1,
    good: [
      ['1', 1],
      ['64', 64],
    ],
    bad: ['0', '65', ...BAD_INTEGERS],
  },
  {
    name: 'NODE_ENV',
    read: ({ production }) => production,
    unset: false,
    good: [
      ['production', true],
      ['development', false],
      ['Production', false],
    ],
    bad: [],
  },
  {
    name: 'DATABASE_URL',
    read: ({ database }) => database,
    unset: { engine: 'sqlite', file: './data/petstore.sqlite' },
    good: [
      ['memory:', { engine: 'memory' }],
      ['sqlite:data/pets.sqlite', { engine: 'sqlite', file: 'data/pets.sqlite' }],
      ['sqlite:./data/a:b.sqlite', { engine: 'sqlite', file: './data/a:b.sqlite' }],
      ['sqlite:/var/lib/pets.sqlite', { engine: 'sqlite', file: '/var/lib/pets.sqlite' }],
      ['sqlite:///var/lib/pets.sqlite', { engine: 'sqlite', file: '/var/lib/pets.sqlite' }],
      [
        'postgres://me:p%40ss%2F%25@db.example.com/pets',
        { ...server, engine: 'postgres', hosts: [{ host: 'db.example.com', port: 5432 }], password: 'p@ss/%' },
      ],
      [
        'postgresql://me@[::1]:6432/pets?pool=3',
        { ...server, engine: 'postgres', hosts: [{ host: '::1', port: 6432 }], pool: 3 },
      ],
      ['mysql://me@127.0.0.1/pets', { ...server, engine: 'mysql', hosts: [{ host: '127.0.0.1', port: 3306 }] }],
      [
        'mariadb://me@db/pets?ssl=verify-full',
        { ...server, engine: 'mariadb', hosts: [{ host: 'db', port: 3306 }], tls: { mode: 'verify-full' } },
      ],
      [
        'postgres://me@db/pets?sslmode=require',
        { ...server, engine: 'postgres', hosts: [{ host: 'db', port: 5432 }], tls: { mode: 'require' } },
      ],
      [
        'postgres://me@a:6432,[::1],b/pets',
        {
          ...server,
          engine: 'postgres',
          hosts: [
            { host: 'a', port: 6432 },
            { host: '::1', port: 5432 },
            { host: 'b', port: 5432 },
          ],
        },
      ],
      [
        'mariadb://me@a,b:3307/pets?pool=3',
        {
          ...server,
          engine: 'mariadb',
          hosts: [
            { host: 'a', port: 3306 },
            { host: 'b', port: 3307 },
          ],
          pool: 3,
        },
      ],
      [
        'postgres://me@db/pets?pooler=transaction',
        { ...server, engine: 'postgres', hosts: [{ host: 'db', port: 5432 }], pooler: 'transaction' },
      ],
      ['postgres://me@db/pets?pooler=session', { ...server, engine: 'postgres', hosts: [{ host: 'db', port: 5432 }] }],
      ['postgres://me@db/pets?sslmode=disable', { ...server, engine: 'postgres', hosts: [{ host: 'db', port: 5432 }] }],
    ],
    bad: [
      'memory',
      'sqlite:',
      'sqlite::memory:',
      'sqlite:file:pets.sqlite',
      'sqlite:http://user:hunter2@host/db',
      'sqlite:libsql://user:hunter2@host/db',
      'sqlite://user:hunter2@host/db',
      'sqlite://data/pets.sqlite',
      'data/pets.sqlite',
      'oracle://user:hunter2@host/db',
      'postgres://user:hunter2@',
      'postgres://user:hunter2@host:99999/db',
      'postgres://user:p?hunter2@host/db',
      'postgres://user:p@ss/word?hunter2@host/db',
      'hunter2',
      'postgres://user:hunter2@a,/db',
      'postgres://user:hunter2@a,b:99999/db',
      'postgres://user:hunter2@host/db?pooler=statement',
      'mariadb://user:hunter2@host/db?pooler=transaction',
      'mariadb://user:hunter2@a,127.0.0.1/db?ssl=verify-full',
      'postgres://user:hunter2@host/db?sslmode=prefer',
      'postgres://user:hunter2@host/db?ssl=require',
      'postgres://user:hunter2@host/db?pool=0',
      'postgres://user:hunter2@host/db?pool=2&pool=3',
      'postgres://user:hunter2@host/db?sslrootcert=/no/such/file',
      'postgres://user:hunter2@host/db?sslrootcert=no%0Asuch%0Afile',
      'postgres://user:hunter2@host/db?sslrootcert=%E2%80%AEno%C2%85such%E2%80%A8file',
      'postgres://user:hunter2%zz@host/db',
      'postgres://:hunter2@host/db',
      'mariadb://user:hunter2@host',
      'mariadb://user:hunter2@127.0.0.1/db?ssl=verify-full',
      'mysql://user:hunter2@[::1]/db?ssl=verify-full',
    ],
  },
  milliseconds('POOL_TIMEOUT', ({ databaseLimits }) => databaseLimits.poolTimeout, 3_000),
  milliseconds('STATEMENT_TIMEOUT', ({ databaseLimits }) => databaseLimits.statementTimeout, 5_000),
  {
    name: 'MAX_WAITING',
    read: ({ databaseLimits }) => databaseLimits.maxWaiting,
    unset: 1_000,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', ...BAD_INTEGERS],
  },
  {
    name: 'MAX_CONNECTIONS',
    read: ({ http }) => http.maxConnections,
    unset: 10_000,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', ...BAD_INTEGERS],
  },
  milliseconds('STOP_TIMEOUT', ({ stopTimeout }) => stopTimeout, 10_000),
  {
    name: 'STOP_DELAY',
    read: ({ stopDelay }) => stopDelay,
    unset: 0,
    good: [
      ['0', 0],
      ['8999', 8_999],
    ],
    bad: ['3600001', ...BAD_INTEGERS],
  },
  {
    name: 'STOP_LINGER',
    read: ({ http }) => http.stopLinger,
    unset: 1_000,
    good: [
      ['1', 1],
      ['9999', 9_999],
    ],
    bad: ['0', '3600001', ...BAD_INTEGERS],
  },
  {
    name: 'API_KEYS',
    read: ({ apiKeys }) => apiKeys,
    unset: [],
    good: [
      [KEYS.join(), KEYS],
      [` ${KEYS.join(' , ')} `, KEYS],
      [KEYS.join('\n'), KEYS],
    ],
    bad: [
      'hunter2',
      'hunter2-with-15',
      `${'hunter2'.repeat(37)}`,
      `${KEYS[0]},hunter2 with blanks`,
      `${KEYS[0]},`,
      'hunter2=in-the-middle',
      'hunter2-and-ümläuts',
      ',',
    ],
  },
  perMinute('RATE_LIMIT', ({ http }) => http.rateLimit),
  perMinute('AUTH_FAILURE_LIMIT', ({ http }) => http.authFailureLimit),
  {
    name: 'RATE_LIMIT_URL',
    read: ({ counting }) => counting,
    unset: { isUsed: false, redis: undefined },
    good: (
      [
        ['redis://127.0.0.1', { host: '127.0.0.1', port: 6379, database: 0, tls: false }],
        ['redis://cache:6380/', { host: 'cache', port: 6380, database: 0, tls: false }],
        ['redis://:p%40ss%2F@cache/3', { host: 'cache', port: 6379, password: 'p@ss/', database: 3, tls: false }],
        [
          'rediss://me:secret@[::1]:6390/15',
          { host: '::1', port: 6390, user: 'me', password: 'secret', database: 15, tls: true },
        ],
      ] as const
    ).map(([value, redis]) => [value, { isUsed: false, redis }]),
    bad: [
      'hunter2',
      'redis:',
      'redis://',
      'redis:///1',
      '127.0.0.1:6379',
      'http://user:hunter2@host',
      'redis://user:hunter2@host/pets',
      'redis://user:hunter2@host/-1',
      'redis://user:hunter2@host/1/2',
      'redis://user:hunter2@host/123456',
      'redis://user:hunter2@host:99999',
      'redis://user:hunter2@host?db=1',
      'redis://user:hunter2@host#1',
      'redis://user:p#hunter2@host',
      'redis://user:1/hunter2@host',
      'redis://user:1?hunter2@host',
      'redis://user:%hunter2@host',
      'redis://a b',
      'x'.repeat(100_000),
    ],
  },
  {
    name: 'LOG_LEVEL',
    read: ({ log }) => log,
    unset: { level: 'warn', json: false },
    good: (['silent', 'error', 'warn', 'info', 'debug'] as const).map((level) => [level, { level, json: false }]),
    bad: ['x'.repeat(100_000), 'trace', 'Info', 'warn ', '30', 'constructor', 'info\nwarn'],
  },
  {
    name: 'METRICS_PORT',
    read: ({ metrics }) => metrics,
    unset: undefined,
    good: [
      ['0', { port: 0, host: '127.0.0.1' }],
      ['9464', { port: 9464, host: '127.0.0.1' }],
    ],
    bad: ['65536', ...BAD_INTEGERS],
  },
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    read: ({ tracing }) => tracing,
    unset: undefined,
    good: [
      ['http://127.0.0.1:4318', 'http://127.0.0.1:4318'],
      ['https://collector.example.com/otlp/', 'https://collector.example.com/otlp'],
      ['http://[::1]:4318', 'http://[::1]:4318'],
    ].map(([value = '', endpoint]) => [
      value,
      { endpoint, serviceName: 'petstore', sampler: 'parentbased_always_on', ratio: 1, flushTimeout: 500 },
    ]),
    bad: [
      'collector:4318',
      '127.0.0.1:4318',
      'grpc://collector:4317',
      'http://',
      'http://a b',
      'http://user:hunter2@collector:4318',
      'http://hunter2@collector:4318',
      'http://collector:4318?token=hunter2',
      'http://collector:4318#hunter2',
      'x'.repeat(100_000),
    ],
  },
  {
    name: 'OTEL_TRACES_SAMPLER',
    read: () => undefined,
    unset: undefined,
    good: [],
    bad: ['jaeger_remote', 'always', 'ALWAYS_ON', 'always_on ', 'constructor', 'x'.repeat(100_000)],
  },
  {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    read: () => undefined,
    unset: undefined,
    good: [],
    bad: ['x', '-0.1', '1.1', '2', '.5', '1e-1', '0,5', ' 0.5', '1'.repeat(100_000)],
  },
  base('PUBLIC_BASE_URL', ({ http }) => http.baseUrl),
  base('PRODUCTION_BASE_URL', ({ http }) => http.productionBaseUrl),
  base('STAGING_BASE_URL', ({ http }) => http.stagingBaseUrl),
  {
    name: 'CORS_ORIGINS',
    read: ({ http }) => http.corsOrigins,
    unset: [],
    good: [
      ['https://shop.example.com', ['https://shop.example.com']],
      ['http://localhost:5173, https://a.example', ['http://localhost:5173', 'https://a.example']],
    ],
    bad: [
      '*',
      'null',
      'shop.example.com',
      'https://shop.example.com/',
      'https://Shop.example.com',
      'https://shop.example.com:443',
      'https://a.example,',
      'https://user:hunter2@shop.example.com',
      'file:///tmp',
      'https://a.example\nhttps://b.example',
      'https://例え.jp',
    ],
  },
  {
    name: 'HEADERS_TIMEOUT',
    read: ({ http }) => http.headersTimeout,
    unset: 10_000,
    good: [
      ['1', 1],
      ['15000', 15_000],
    ],
    bad: ['0', '15001', '3600001', ...BAD_INTEGERS],
  },
  milliseconds('REQUEST_TIMEOUT', ({ http }) => http.requestTimeout, 15_000),
  {
    name: 'MAX_CONNECTIONS',
    read: ({ http }) => http.maxConnections,
    unset: 10_000,
    good: [
      ['1', 1],
      ['1000000', 1_000_000],
    ],
    bad: ['0', '1000001', ...BAD_INTEGERS],
  },
  milliseconds('KEEP_ALIVE_TIMEOUT', ({ http }) => http.keepAliveTimeout, 75_000),
  milliseconds('IDLE_TIMEOUT', ({ http }) => http.idleTimeout, 30_000),
];

/** The message to someone who gave a bad value; fails if it was taken. */
function complaint(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as UsageError).message;
  }
  throw new Error(`It was taken: ${JSON.stringify(env)}`);
}

describe.each(SETTINGS)('$name', ({ name, read, unset, good, bad }) => {
  it('has its documented default, set to nothing as well as unset', () => {
    expect(read(readConfig({}))).toEqual(unset);
    expect(read(readConfig({ [name]: '' }))).toEqual(unset);
  });

  it('takes what it is documented to take', () => {
    for (const [value, taken] of good) expect(read(readConfig({ [name]: value }))).toEqual(taken);
  });

  it('refuses anything else in one line that names it, says what it takes, and repeats no secret', () => {
    for (const value of bad) {
      const message = complaint({ [name]: value });
      expect(message).toMatch(new RegExp(`^${name}\\b.{20,500}\\.$`));
      // Nor a letter that is not seen, or that turns others around.
      expect(message).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      expect(message).not.toContain('hunter2');
    }
  });
});

describe('API_KEYS_FILE', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-'));
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function file(text: string): string {
    const path = join(folder, 'keys');
    writeFileSync(path, text);
    return path;
  }

  it('takes a file of keys, one to a line, whatever ends the lines', () => {
    for (const text of [KEYS.join('\n'), `${KEYS.join('\r\n')}\r\n\n`, KEYS.join()]) {
      expect(readConfig({ API_KEYS_FILE: file(text) }).apiKeys).toEqual(KEYS);
    }
  });

  it('adds to the keys in API_KEYS', () => {
    const [first, ...others] = KEYS as [string, string, string];
    expect(readConfig({ API_KEYS: first, API_KEYS_FILE: file(others.join('\n')) }).apiKeys).toEqual(KEYS);
  });

  it('refuses a file that is not there, or has something else in it, without repeating it', () => {
    const absent = [join(folder, 'absent'), join(folder, 'a\nb'), 'hunter2hunter2hunter2'];
    for (const path of [...absent, folder, file(`${KEYS[0]}\nhunter2`), file('')]) {
      const message = complaint({ API_KEYS_FILE: path });
      expect(message).toMatch(/^API_KEYS_FILE\b.{20,}\.$/);
      expect(message).not.toContain('hunter2');
    }
  });

  it('refuses at once what has no end, and what nobody writes to', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    // It is said to be a file of no bytes, and has no end.
    expect(complaint({ API_KEYS_FILE: '/proc/self/pagemap' })).toMatch(
      / but it (?:cannot be read|has more than) .*\.$/,
    );
    for (const path of [pipe, '/dev/zero']) {
      expect(complaint({ API_KEYS_FILE: path })).toBe(
        'API_KEYS_FILE must be the path of a file of API keys, one to a line, but it is no file.',
      );
      expect(complaint({ DATABASE_URL: `postgres://me@host/db?sslrootcert=${path}` })).toBe(
        `DATABASE_URL must have the path of a PEM file for its parameter sslrootcert; of "${path}", it is no file.`,
      );
    }
    expect(complaint({ DATABASE_URL: `postgres://me@host/db?sslrootcert=${file('no PEM')}` })).toMatch(
      / it has no certificate in it\.$/,
    );
    const long = file('x'.repeat(1_048_577));
    expect(complaint({ API_KEYS_FILE: long })).toMatch(/ but it has more than 1048576 bytes\.$/);
  });
});

describe('the environment', () => {
  it('of production has a log of JSON that tells more', () => {
    expect(readConfig({ NODE_ENV: 'production' }).log).toEqual({ level: 'info', json: true });
  });

  it('of several processes has no store in memory', () => {
    expect(readConfig({ WEB_CONCURRENCY: '1', DATABASE_URL: 'memory:' }).workers).toBe(1);
    const message = complaint({ WEB_CONCURRENCY: '2', DATABASE_URL: 'memory:' });
    expect(message).toMatch(
      /^WEB_CONCURRENCY must be 1 with DATABASE_URL=memory:.*; or set DATABASE_URL to a database\.$/,
    );
  });

  it('has limits of time that fit together', () => {
    const { http } = readConfig({ REQUEST_TIMEOUT: '5000' });
    expect([http.headersTimeout, http.requestTimeout]).toEqual([5_000, 5_000]);
    expect(readConfig({ REQUEST_TIMEOUT: '3600000', HEADERS_TIMEOUT: '3600000' }).http.headersTimeout).toBe(3_600_000);
    expect(complaint({ REQUEST_TIMEOUT: '5000', HEADERS_TIMEOUT: '5001' })).toBe(
      'HEADERS_TIMEOUT must be at most REQUEST_TIMEOUT, 5000 (milliseconds), not 5001.',
    );
    expect(readConfig({ STOP_TIMEOUT: '1000', STOP_DELAY: '900' }).http.stopLinger).toBe(50);
    for (const [delay, linger] of [
      ['1000', ''],
      ['500', '500'],
      ['', '1000'],
    ]) {
      const message = complaint({ STOP_TIMEOUT: '1000', STOP_DELAY: delay as string, STOP_LINGER: linger as string });
      expect(message).toMatch(
        /^STOP_TIMEOUT must be more than STOP_DELAY and STOP_LINGER together, 1000 .* not 1000\.$/,
      );
    }
  });

  it('has a name and a sampler for the traces, if they have a collector', () => {
    const tracing = (variables: Record<string, string>) =>
      readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', ...variables }).tracing;
    expect(tracing({ OTEL_SERVICE_NAME: 'pets' })).toMatchObject({ serviceName: 'pets' });
    expect(tracing({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' })).toMatchObject({
      sampler: 'traceidratio',
      ratio: 0.25,
    });
    for (const [value, ratio] of Object.entries({ 0: 0, 1: 1, '1.0': 1, '0.05': 0.05 }))
      expect(tracing({ OTEL_TRACES_SAMPLER_ARG: value })).toMatchObject({ ratio });
    expect(tracing({ STOP_TIMEOUT: '5000', STOP_DELAY: '3000' })).toMatchObject({ flushTimeout: 100 });
    expect(readConfig({ OTEL_SERVICE_NAME: 'pets' }).tracing).toBeUndefined();
  });

  it('has an address for the metrics, if they have a port', () => {
    const metrics = (host: string) => readConfig({ METRICS_PORT: '9464', METRICS_HOST: host }).metrics;
    expect(metrics('')).toEqual({ port: 9464, host: '127.0.0.1' });
    expect(metrics('0.0.0.0')).toEqual({ port: 9464, host: '0.0.0.0' });
    expect(readConfig({ METRICS_HOST: '0.0.0.0' }).metrics).toBeUndefined();
    for (const bad of BAD_HOSTS) {
      expect(complaint({ METRICS_PORT: '0', METRICS_HOST: bad })).toMatch(/^METRICS_HOST must be .{20,500}\.$/);
    }
  });

  it('may have variables that are none of the settings', () => {
    expect(readConfig({ PATH: '/bin', port: '1', Port: '2' })).toEqual(readConfig({}));
  });
});
