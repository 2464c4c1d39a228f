import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { UsageError } from '../src/messages/usage-error.js';
import {
  databaseUrlOf,
  readConfiguredKeys,
  misspeltSettings,
  readSettings,
  settingFindings,
  type Settings,
  SETTINGS,
} from '../src/settings/settings.js';

/** The variable, its default, valid texts with the values they mean, and invalid texts. */
type Row = readonly [keyof Settings, unknown, Readonly<Record<string, unknown>>, readonly string[]];

const NO_INTEGERS = ['x', '-1', '1.5', '1e3', '0x10', ' 5', '9999999999', '1\n2', '٣'];
/** What `petstore check` says of settings that are valid. */
const findings = (env: Record<string, string>) => settingFindings(readSettings(env), env);

const KEYS = ['a-key-of-16-char', 'B'.repeat(255), 'with+all/of._~-it=='];

const integer = (name: keyof Settings, byDefault: unknown, min: number, max: number): Row => [
  name,
  byDefault,
  { [min]: min, [max]: max },
  [...(min > 0 ? [String(min - 1)] : []), String(max + 1), ...NO_INTEGERS],
];

const milliseconds = (name: keyof Settings, byDefault: number) => integer(name, byDefault, 1, 3_600_000);

const baseUrl = (name: keyof Settings): Row => [
  name,
  '/v1',
  {
    '/v1': '/v1',
    'https://[::1]:8443/a/v1': 'https://[::1]:8443/a/v1',
    'https://例え.jp/v1': 'https://xn--r8jz45g.jp/v1',
  },
  [
    ...['v1', '/v2', 'a.example/v1', 'ftp://a.example/v1', 'https://a.example/v1/', 'https://a.example/b?c/v1'],
    ...['https://user:hunter2@a.example/v1', 'https://a.example:99999/v1', 'x:https://a/v1', 'x'.repeat(100_000)],
  ],
];

/** Every setting. A text of `hunter2` stands for a secret that no message may repeat. */
const TABLE: readonly Row[] = [
  [
    'DATABASE_URL',
    { name: 'DATABASE_URL', engine: 'sqlite', file: './data/petstore.sqlite' },
    {
      'memory:': { name: 'DATABASE_URL', engine: 'memory' },
      'sqlite:data/a:b.sqlite': { engine: 'sqlite', file: 'data/a:b.sqlite' },
      'sqlite:///var/lib/pets.sqlite': { engine: 'sqlite', file: '/var/lib/pets.sqlite' },
      'sqlite:C:\\data\\x.sqlite': { engine: 'sqlite', file: 'C:\\data\\x.sqlite' },
      'sqlite:C:/data/x.sqlite': { engine: 'sqlite', file: 'C:/data/x.sqlite' },
      'postgres://me:p%40ss%2F%25@db/pets': { engine: 'postgres', user: 'me', password: 'p@ss/%', database: 'pets' },
      'postgresql://me@[::1]/pets?pool=3': { engine: 'postgres', host: '::1', port: 5432, pool: 3 },
      'postgres://me@db:6432/pets?sslmode=require': { port: 6432, tls: { mode: 'require' } },
      'memory:\n': { engine: 'memory' },
      'Memory:': { engine: 'memory' },
      'SQLITE:./~a%b$': { engine: 'sqlite', file: './~a%b$' },
      'sqlite:a~b.sqlite': { engine: 'sqlite', file: 'a~b.sqlite' },
      'sqlite:/srv//a.sqlite': { engine: 'sqlite', file: '/srv//a.sqlite' },
      'postgres://me:SQLITE:sqlite:"x@db/pets': { engine: 'postgres', password: 'SQLITE:sqlite:"x' },
      'postgres://me@db:65535/pets?application_name=a@b': { port: 65535, parameters: { application_name: 'a@b' } },
      'postgres://me@127.0.0.10/pets': { tls: { mode: 'allow' } },
      'postgres://me@127.0.0.1.example/pets': { tls: { mode: 'prefer' } },
      'postgres://me@not-localhost/pets': { tls: { mode: 'prefer' } },
      'postgres://me@[::1]/pets?sslmode=verify-full': { tls: { mode: 'verify-full' } },
      'postgres://me@db/pets?sslmode=require&sslrootcert=system': { tls: { mode: 'verify-full', ca: undefined } },
      'mariadb://me@127.0.0.1/pets?ssl=require': { tls: { mode: 'require' } },
      'POSTGRES://me@db/pets?sslmode=Require&channel_binding=PREFER': { tls: { mode: 'require' } },
      'postgres://me@db/pets?ssl_min_protocol_version=tlsv1.3': { parameters: { ssl_min_protocol_version: 'TLSv1.3' } },
      'sqlite:data/a.sqlite\r\n': { engine: 'sqlite', file: 'data/a.sqlite' },
      'mariadb://me@db/pets\n': { engine: 'mariadb', database: 'pets' },
      'mariadb://me@db/pets?ssl=verify-full': { engine: 'mariadb', port: 3306, tls: { mode: 'verify-full' } },
    },
    [
      ...['sqlite:~/hunter2', 'sqlite:~', 'sqlite:~me/hunter2', 'sqlite:$HOME/hunter2', 'sqlite:${HOME}/hunter2'],
      ...['sqlite:/srv/$USER/hunter2', 'sqlite:%USERPROFILE%\\hunter2', 'sqlite:-', 'sqlite:///~/$HOME/hunter2'],
      ...['memory', 'hunter2', 'sqlite:', 'sqlite::memory:', 'sqlite:file:a', 'sqlite://user:hunter2@host/db'],
      ...['postgres://user:hunter2@', 'postgres://user:hunter2@host:65536/db', 'postgres://user:hunter2@host:0/db'],
      ...['postgres://user:hunter2@/db?host=a/b', 'sqlite:a\nhunter2'],
      'postgres://user:hunter2@host/db?sslmode=disable&sslnegotiation=direct',
      ...['postgres://user:p?hunter2@host/db', 'postgres://user:hunter2%zz@host/db', 'mariadb://user:hunter2@host'],
      ...['postgres://user:hunter2@host/db?pool=0', 'postgres://user:hunter2@host/db?pool=2&pool=3'],
      ...['postgres://user:hunter2@host/db?ssl=require', 'postgres://user:hunter2@host/db?sslrootcert=/no/such/file'],
      ...['postgres://user:hunter2@a:1,b:2/db', 'mariadb://user:hunter2@[::1]/db?ssl=verify-full'],
      'postgres://user:hunter2@host/db?sslrootcert=%E2%80%AEno%C2%85such%E2%80%A8file',
      ...['postgres://user:hunter2@host/db?hunter2', 'postgres://user:hunter2@host/db?sslmode=hunter2'],
      ...[
        'postgres://user:hun\nter2@host/db',
        'postgres://user:hunter2@host/db?sslkey=/hunter2',
        'constructor://a@b/c',
      ],
    ],
  ],
  integer('PORT', 3000, 0, 65_535),
  ['HOST', '127.0.0.1', { '0.0.0.0': '0.0.0.0', '::1': '::1', '[::1]': '::1', 'pets.internal': 'pets.internal' }, []],
  integer('WEB_CONCURRENCY', 1, 1, 64),
  ['NODE_ENV', undefined, { production: 'production', Development: 'development', TEST: 'test' }, ['prod']],
  [
    'API_KEYS',
    [],
    { [KEYS.join()]: KEYS, [` ${KEYS.join(' , ')} `]: KEYS },
    ['hunter2', 'hunter2-with-15', 'hunter2'.repeat(37), 'hunter2=in-the-middle', 'hunter2-and-ümläuts', ',', 'x,'],
  ],
  ['API_KEYS_FILE', { path: '', keys: [] }, {}, ['/no/such/file', 'hunter2-hunter2-hunter2', '/', '~/hunter2', '-']],
  baseUrl('PUBLIC_BASE_URL'),
  baseUrl('PRODUCTION_BASE_URL'),
  baseUrl('STAGING_BASE_URL'),
  [
    'CORS_ORIGINS',
    [],
    {
      'http://localhost:5173, https://A.example:443/': ['http://localhost:5173', 'https://a.example'],
      'capacitor://localhost,TAURI://localhost/': ['capacitor://localhost', 'tauri://localhost'],
      'chrome-extension://abcdefgh, http://[::1]:80': ['chrome-extension://abcdefgh', 'http://[::1]'],
    },
    [
      ...['*', 'null', 'a.example', 'localhost:5173', 'https://a.example/b', 'https://user:hunter2@a.example'],
      ...['https://a?b', 'file:///', 'file://', 'https://*.a.example', 'http://localhost:*', 'https://a.example//'],
      ...['capacitor://localhost/b', 'capacitor://user:hunter2@localhost', 'capacitor://localhost?', 'https://a:99999'],
    ],
  ],
  integer('RATE_LIMIT', undefined, 1, 1_000_000),
  integer('AUTH_FAILURE_LIMIT', undefined, 1, 1_000_000),
  [
    'TRUSTED_PROXIES',
    [],
    {
      'Loopback, linklocal, UNIQUELOCAL': ['loopback', 'linklocal', 'uniquelocal'],
      '10.0.0.1, 10.1.0.0/16, 10.2.0.0/255.255.0.0': ['10.0.0.1', '10.1.0.0/16', '10.2.0.0/255.255.0.0'],
      '::1, FD00::/8, ::ffff:10.0.0.1': ['::1', 'fd00::/8', '::ffff:10.0.0.1'],
    },
    ['1', 'true', '*', 'all', 'proxy.internal', '10.0.0.0/33', '0.0.0.0/0', '10.0.0', 'fd00::/129', '::1,'],
  ],
  [
    'RATE_LIMIT_URL',
    undefined,
    {
      'redis://127.0.0.1': 'redis://127.0.0.1',
      'redis://:p%40ss%2F@cache/3': 'redis://:p%40ss%2F@cache/3',
      'REDISS://me:Secret@[::1]:6390/15': 'rediss://me:Secret@[::1]:6390/15',
      'rediss://me:secret@[::1]:6390/15': 'rediss://me:secret@[::1]:6390/15',
    },
    [
      ...['hunter2', 'redis:', '127.0.0.1:6379', 'http://user:hunter2@host', 'redis://user:hunter2@host/pets'],
      ...['predis://host', 'redis://host/pets/1', 'redis://host/1x', 'redis://:hunter2%zz@host'],
    ],
  ],
  [
    'LOG_LEVEL',
    undefined,
    { silent: 'silent', Error: 'error', INFO: 'info', debug: 'debug' },
    ['trace', 'warn ', '30', 'constructor', 'info\nwarn'],
  ],
  integer('METRICS_PORT', undefined, 0, 65_535),
  ['METRICS_HOST', '127.0.0.1', { '0.0.0.0': '0.0.0.0', '[::]': '::' }, []],
  milliseconds('REQUEST_TIMEOUT', 15_000),
  milliseconds('KEEP_ALIVE_TIMEOUT', 75_000),
  milliseconds('STATEMENT_TIMEOUT', 5_000),
  integer('MAX_CONNECTIONS', 10_000, 1, 1_000_000),
  integer('MAX_WAITING', 1_000, 1, 1_000_000),
  ['STOP_DELAY', 0, { 0: 0, 9999: 9_999 }, ['3600001', ...NO_INTEGERS]],
  milliseconds('STOP_TIMEOUT', 10_000),
];

const NAMES = Object.keys(SETTINGS).sort();

/** The message about a setting that is rejected; fails if it is accepted. */
function rejection(env: Record<string, string>): string {
  try {
    readSettings(env);
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as UsageError).message;
  }
  throw new Error(`Accepted: ${JSON.stringify(env).slice(0, 200)}`);
}

describe.each(TABLE)('%s', (name, byDefault, valid, invalid) => {
  it('has its default if it is unset or empty', () => {
    expect(readSettings({})[name]).toEqual(byDefault);
    expect(readSettings({ [name]: '' })[name]).toEqual(byDefault);
  });

  it('accepts every valid value', () => {
    for (const [text, value] of Object.entries(valid)) {
      expect({ text, value: readSettings({ [name]: text })[name] }).toMatchObject({ text, value });
    }
  });

  it('rejects any other value with one line that names it and repeats no secret', () => {
    for (const text of invalid) {
      const message = rejection({ [name]: text });
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
    expect(readSettings(uncommented)).toEqual(readSettings({}));
  });

  it('are all in the table of docs/settings.md', () => {
    const page = readFileSync('docs/settings.md', 'utf8');
    const named = [...page.matchAll(/^\| (`[^|]+)\|/gm)].flatMap(([, cell = '']) => cell.match(/[A-Z_]+/g) ?? []);
    expect(named.sort()).toEqual(NAMES);
  });

  it.each<Record<string, string>>([
    { STOP_TIMEOUT: '1000', STOP_DELAY: '1000' },
    { WEB_CONCURRENCY: '2', DATABASE_URL: 'memory:' },
  ])('are rejected if they contradict each other: %j', (env) => {
    expect(rejection(env)).toMatch(/^[A-Z_]+ must be .{20,200}\.$/);
  });

  it.each([
    ['*', 'name each origin'],
    ['https://*.example.com', 'name each origin'],
    ['null', 'sandboxed'],
    ['shop.example.com', 'no scheme'],
    ['file:///', 'no valid host'],
    ['capacitor://localhost/path', 'without a path'],
    ['https://shop.example.com, https://shop.example.com/path', 'origin 2'],
  ])('name the problem of the origin %s', (origins, problem) => {
    expect(rejection({ CORS_ORIGINS: origins })).toContain(problem);
  });

  it('are shown without keys, users and passwords', () => {
    const env = { DATABASE_URL: 'postgres://user:hunter2@db:6432/pets?pool=3', API_KEYS: KEYS.join() };
    const shown = Object.fromEntries(findings(env).map(({ name, found }) => [name, found]));
    expect(shown).toMatchObject({
      DATABASE_URL: 'postgres://db:6432/pets?pool=3',
      API_KEYS: 'set, not shown',
      PORT: '3000',
      RATE_LIMIT: 'not set',
    });
    const parameters = findings({ DATABASE_URL: 'postgres://db/pets?user=hunter2&pool=2&password=hunter2' });
    expect(parameters[0]).toMatchObject({ state: 'ok', found: 'postgres://db/pets?user=…&pool=2&password=…' });
    // The parser of URLs ignores the space.
    expect(findings({ DATABASE_URL: ' postgres://user:secret@db/pets\n' })[0]?.found).toBe('postgres://db/pets');
  });

  it('are checked: a limit that a proxy makes common to all, and names that are nearly those of settings', () => {
    const notOk = (env: Record<string, string>) => findings(env).filter(({ state }) => state !== 'ok');
    expect(notOk({})).toEqual([]);
    const limited = { AUTH_FAILURE_LIMIT: '20', PUBLIC_BASE_URL: 'https://pets.example.com/v1' };
    expect(notOk(limited)).toMatchObject([{ state: 'warn', name: 'AUTH_FAILURE_LIMIT' }]);
    expect(notOk({ PUBLIC_BASE_URL: limited.PUBLIC_BASE_URL })).toEqual([]);
    expect(notOk({ ...limited, TRUSTED_PROXIES: 'loopback' })).toEqual([]);
    expect(notOk({ ...limited, PUBLIC_BASE_URL: 'http://127.0.0.1:3000/v1' })).toEqual([]);
    expect(misspeltSettings({ RATELIMIT: '600', RATE_LIMIT: '600', HOME: '/root' })).toMatchObject([
      { state: 'warn', name: 'RATELIMIT', advice: 'Did you mean RATE_LIMIT?' },
    ]);
  });

  it('have the certificate of the server verified if that of an authority is given', () => {
    const ca = '-----BEGIN CERTIFICATE-----';
    const url = (parameters: string) => ({ DATABASE_URL: `postgres://me@db/pets?${parameters}` });
    const tls = (parameters: string) => readSettings(url(parameters)).DATABASE_URL;
    const path = file(ca);
    expect(tls(`sslmode=require&sslrootcert=${path}`)).toMatchObject({ tls: { mode: 'verify-ca', ca } });
    expect(tls(`sslrootcert=${path}`)).toMatchObject({ tls: { mode: 'verify-full', ca } });
    const client = { cert: ca, key: ca, crl: ca };
    expect(tls(`sslcert=${path}&sslkey=${path}&sslcrl=${path}`)).toMatchObject({ tls: { mode: 'prefer', ...client } });
    expect(rejection(url(`sslkey=${file('hunter2')}`))).toMatch(/PEM file for its parameter sslkey; .* nothing in/);
  });

  it('may name a variable that has the URL of a database', () => {
    const of = (given: string, text?: string) => {
      if (text !== undefined) process.env.OLD_URL = text;
      try {
        return databaseUrlOf('--from', given);
      } finally {
        delete process.env.OLD_URL;
      }
    };
    expect(of('OLD_URL', 'memory:')).toEqual({ name: 'OLD_URL', engine: 'memory' });
    expect(of('sqlite:a')).toEqual({ name: '--from', engine: 'sqlite', file: 'a' });
    expect(() => of('OLD_URL', 'hunter2')).toThrow(/^OLD_URL must begin with sqlite:/);
    for (const given of ['hunter2', 'OLD_URL'])
      expect(() => of(given)).toThrow(/^--from must be the URL of a database, or/);
  });

  it.each<[Record<string, string>, boolean]>([
    [{}, false],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a' }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://a', OTEL_SDK_DISABLED: 'false' }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_TRACES_EXPORTER: ' None' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a', OTEL_SDK_DISABLED: 'TRUE' }, false],
  ])('ask for traces by the variables of OpenTelemetry: %j %s', (env, isTraced) => {
    expect(readSettings(env).isTraced).toBe(isTraced);
  });

  it('read API keys from a file, one per line, without blank lines and comments, besides those of API_KEYS', () => {
    const [first = '', ...others] = KEYS;
    const comment = `\uFEFF# hunter2, and so on\n\n  \n\t# ${first}\n`;
    for (const text of [others.join('\n'), `${comment}${others.join('\r\n')}\r\n\n#\n`, others.join()]) {
      expect(readConfiguredKeys(readSettings({ API_KEYS: first, API_KEYS_FILE: file(text) }))).toEqual(KEYS);
    }
    const settings = readSettings({ API_KEYS_FILE: file(others.join()) });
    file(first);
    expect(readConfiguredKeys(settings)).toEqual([first]);
  });

  it('reject a file of API keys that is invalid, without repeating its content', () => {
    for (const text of [`${KEYS[0]}\nhunter2`, `# none\n${KEYS[0]} # hunter2`, '# hunter2\n', '']) {
      const message = rejection({ API_KEYS_FILE: file(text) });
      expect(message).toMatch(/^API_KEYS_FILE\b.{20,200}\.$/);
      expect(message).not.toContain('hunter2');
    }
  });
});
