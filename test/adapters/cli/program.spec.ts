import { beforeEach, describe, expect, it } from '@jest/globals';
import { Command, CommanderError } from 'commander';
import { Actions } from '../../../src/adapters/cli/actions.js';
import { commandLine } from '../../../src/adapters/cli/command-line.js';
import { program } from '../../../src/adapters/cli/program.js';
import { Setting } from '../../../src/adapters/cli/setting.js';
import { NodeSecrets } from '../../../src/adapters/crypto/node-secrets.js';
import { MemoryApiKeyRepository } from '../../../src/adapters/persistence/memory/memory-api-key.repository.js';
import { ApiKeyService } from '../../../src/application/keys/api-key.service.js';
import { UsageError } from '../../../src/application/errors.js';
import { fail, Finding, ok, warn } from '../../../src/application/finding.js';

const DAY = 86_400_000;

const SETTINGS: readonly Setting[] = [
  { name: 'PORT', words: 'The port', unset: '3000' },
  { name: 'STOP_DELAY', words: 'How long', example: '5000' },
  { name: 'API_KEYS', words: 'The keys', isSecret: true },
];

describe('the petstore command', () => {
  let keys: ApiKeyService;
  let served: Readonly<Record<string, string>>[];
  let hasColours: boolean;
  let actions: Actions;
  let findings: Finding[];
  let kept: string | undefined;

  beforeEach(() => {
    keys = new ApiKeyService(new MemoryApiKeyRepository(), new NodeSecrets(), []);
    served = [];
    hasColours = false;
    findings = [ok('encoding', 'UTF8'), warn('PORTT', 'No setting has this name.', 'Did you mean PORT?')];
    actions = {
      serve: (settings) => Promise.resolve(void served.push(settings)),
      withKeys: (use) => use(keys),
      withPets: () => Promise.reject(new Error('No command here asks for animals.')),
      migrations: () =>
        Promise.resolve([
          { name: 'First1', applied: true },
          { name: 'Second2', applied: false },
        ]),
      migrate: () => Promise.resolve(['Second2']),
      revert: () => Promise.resolve('First1'),
      copy: (from, to, report) => {
        report({ step: 'pet', done: 1, total: 2 });
        return Promise.resolve({ pets: 2, keys: 1, checksum: `${from} ${to}` });
      },
      check: () => Promise.resolve(findings),
      backup: (file) => Promise.resolve({ pets: 2, keys: 1, checksum: `of ${file}` }),
      restore: (file) => Promise.resolve({ pets: 2, keys: 1, checksum: `of ${file}`, kept }),
      openApi: (form) => Promise.resolve(`${form}\n`),
    };
  });

  /** Runs a command, and resolves to what it prints; rejects with what it says if it is misused. */
  async function run(...args: string[]): Promise<string> {
    const printed: string[] = [];
    const said: string[] = [];
    const terminal = { isTTY: false, write: () => undefined };
    const surroundings = { version: '1.2.3', settings: SETTINGS, terminal, hasColours };
    const petstore = program(actions, (line) => printed.push(line), surroundings);
    const prepare = (command: Command): void => {
      command.configureOutput({ writeOut: (text) => printed.push(text), writeErr: (text) => said.push(text) });
      command.commands.forEach(prepare);
    };
    prepare(petstore);
    try {
      await petstore.parseAsync(commandLine(args), { from: 'user' });
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error;
      if (error.exitCode !== 0) throw new Error(said.join(''), { cause: error });
    }
    return printed.join('\n');
  }

  it('makes and restores a backup, and says what is in it, and where what was there is kept, if anything was', async () => {
    expect(await run('backup', 'a')).toBe('Backed up 2 animals and 1 keys to a; they have the checksum of a.');
    const restored = 'Restored 2 animals and 1 keys from a; they have the checksum of a.';
    expect(await run('restore', 'a')).toBe(restored);
    kept = 'store.before';
    expect(await run('restore', 'a')).toBe(`${restored}\nWhat was there before is kept in store.before.`);
  });

  it('copies from one database to another, and says what it compared', async () => {
    expect(await run('copy', '--from', 'sqlite:a', '--to', 'sqlite:b')).toContain(
      'Copied 2 animals and 1 keys; both sides have the checksum sqlite:a sqlite:b.',
    );
    await expect(run('copy', '--from', 'sqlite:a')).rejects.toThrow("required option '--to <url>' not specified");
  });

  it('tells what it found of each thing, in lines or as JSON', async () => {
    expect(await run('check')).toBe(
      [
        'STATE  NAME      FOUND',
        'ok     encoding  UTF8',
        'warn   PORTT     No setting has this name. Did you mean PORT?',
      ].join('\n'),
    );
    expect(JSON.parse(await run('check', '--json'))).toEqual(findings);
  });

  it('ends a check with an error if anything is not as it must be', async () => {
    findings.push(fail('writing', 'The server is a standby.', 'It must be the primary.'));
    for (const args of [[], ['--json']]) {
      await expect(run('check', ...args)).rejects.toThrow(new UsageError('Not as it must be: writing.'));
    }
  });

  it('serves if nothing else is asked for', async () => {
    await run();
    await run('serve');
    expect(served).toEqual([{}, {}]);
  });

  it('serves with the settings that options give, and has none for a secret', async () => {
    await run('serve', '--port', '8080', '--stop-delay=0');
    await run('--port', '');
    expect(served).toEqual([{ PORT: '8080', STOP_DELAY: '0' }, { PORT: '' }]);
    await expect(run('serve', '--api-keys', 'x')).rejects.toThrow("unknown option '--api-keys'");
    const help = await run('serve', '--help');
    expect(help).toMatch(/--port <value> +The port \(default: 3000\)\n/);
    expect(help).toMatch(/--stop-delay <value> +How long, such as 5000\n/);
  });

  it('tells its version', async () => {
    expect((await run('--version')).trimEnd()).toBe('1.2.3');
    expect((await run('-V')).trimEnd()).toBe('1.2.3');
  });

  it.each([
    ['key list', 'keys'],
    ['kesy list', 'keys'],
    ['keys lsit', 'list'],
    ['serev', 'serve'],
    ['migrate rnu', 'run'],
    ['serve --prot 1', '--port'],
    ['openapi --jsno', '--json'],
  ])('asks what was meant by "%s"', async (line, meant) => {
    await expect(run(...line.split(' '))).rejects.toThrow(`(Did you mean ${meant}?)`);
    expect(served).toEqual([]);
  });

  it.each([[], ['serve'], ['keys'], ['seed'], ['copy']])('has examples in the help of "%s"', async (...args) => {
    expect(await run(...args, '--help')).toMatch(/\nExamples:\n {2}\$ petstore [a-z]/);
  });

  it('has colours for states on a terminal only', async () => {
    expect(await run('check')).not.toContain('\x1b');
    const plain = await run('check');
    hasColours = true;
    const coloured = await run('check');
    expect(coloured).toContain('\x1b[32mok\x1b[39m     encoding');
    expect(coloured).toContain('\x1b[33mwarn\x1b[39m   PORTT');
    expect(coloured.replaceAll(/\x1b\[\d+m/g, '')).toBe(plain);
  });

  it('lists as JSON what it lists', async () => {
    expect(JSON.parse(await run('keys', 'list', '--json'))).toEqual([]);
    const { key } = await keys.create('shop', new Date('2099-01-31'));
    keys.noteGetPet(key);
    await keys.recordUses();
    expect(JSON.parse(await run('keys', 'list', '--json'))).toEqual([
      {
        name: 'shop',
        prefix: key.prefix,
        createdAt: key.createdAt.toISOString(),
        lastUsedAt: expect.stringMatching(/Z$/),
        expiresAt: '2099-01-31T00:00:00.000Z',
        revokedAt: null,
        state: 'valid',
      },
    ]);
    await keys.create('till');
    expect(JSON.parse(await run('keys', 'list', '--json'))).toMatchObject([{}, { name: 'till', lastUsedAt: null }]);
    expect(JSON.parse(await run('keys', 'callers', '--json'))).toEqual([
      { name: 'shop', calls: 1, lastCallAt: expect.stringMatching(/Z$/) },
    ]);
    const steps = await actions.migrations();
    expect(JSON.parse(await run('migrate', '--json'))).toEqual(steps);
    expect(JSON.parse(await run('migrate', 'show', '--json'))).toEqual(steps);
  });

  it('prints an example of .env', async () => {
    expect(await run('example-env')).toContain(
      '\n\n# The port.\n# PORT=3000\n\n# How long, such as 5000.\n# STOP_DELAY=\n\n',
    );
  });

  it.each([
    { args: [], words: ['serve', 'keys', 'migrate', 'check', 'openapi'] },
    { args: ['serve'], words: ['HTTP'] },
    { args: ['keys'], words: ['create', 'rotate', 'list', 'revoke', 'callers'] },
    { args: ['keys', 'create'], words: ['--name', '--expires', '--quiet'] },
    { args: ['keys', 'rotate'], words: ['--overlap', '--expires', '--quiet', '--json'] },
    { args: ['keys', 'list'], words: ['last used'] },
    { args: ['keys', 'revoke'], words: ['prefix'] },
    { args: ['keys', 'callers'], words: ['getPet'] },
    { args: ['migrate'], words: ['show', 'run', 'revert'] },
    { args: ['check'], words: ['--json'] },
    { args: ['migrate', 'show'], words: ['applied'] },
    { args: ['migrate', 'run'], words: ['apply'] },
    { args: ['migrate', 'revert'], words: ['data'] },
    { args: ['openapi'], words: ['--json'] },
    { args: ['completion'], words: ['bash', 'zsh', 'fish'] },
  ])('has help for $args', async ({ args, words }) => {
    const help = await run(...args, '--help');
    expect(help).toContain(`Usage: ${['petstore', ...args].join(' ')}`);
    for (const word of words) expect(help).toContain(word);
    expect(served).toEqual([]);
  });

  it.each([
    ['keyz'],
    ['keys make'],
    ['serve now'],
    ['serve --port'],
    ['keys create --nam x'],
    ['keys revoke'],
    ['migrate up'],
    ['openapi --xml'],
    ['completion'],
    ['completion tcsh'],
  ])('refuses "%s", and points to its help', async (line) => {
    await expect(run(...line.split(' '))).rejects.toThrow(/--help/);
    expect(served).toEqual([]);
  });

  it('prints an issued key with what there is to say, or alone', async () => {
    const [sentence, key] = (await run('keys', 'create', '--name', 'shop')).split('\n');
    expect(sentence).toBe('The key "shop", which does not expire. Keep it: it is not shown again.');
    expect((await keys.authenticate(key as string)).name).toBe('shop');
    const alone = await run('keys', 'create', '--name', 'till', '--quiet');
    expect((await keys.authenticate(alone)).name).toBe('till');
  });

  it('prints a key that was issued or rotated as JSON', async () => {
    const key: unknown = expect.stringMatching(/^pets_\w{36}$/);
    const [createdAt, expiresAt]: unknown[] = [expect.stringMatching(/Z$/), '2099-01-31T00:00:00.000Z'];
    const issue = (...args: string[]) => run('keys', ...args, '--expires', '2099-01-31', '--json');
    const created: unknown = JSON.parse(await issue('create', '--name', 'shop'));
    const { prefix } = (await keys.list())[0]!;
    expect(created).toEqual({ name: 'shop', prefix, key, createdAt, expiresAt });
    const rotated = JSON.parse(await issue('rotate', 'shop', '--overlap', '7d')) as { key: string };
    const successor = await keys.authenticate(rotated.key);
    const old = { name: 'shop.old', prefix, expiresAt: expect.stringMatching(/Z$/) as unknown };
    expect(rotated).toEqual({ name: 'shop', prefix: successor.prefix, key, createdAt, expiresAt, old });
    await expect(run('keys', 'create', '--name', 'x', '--quiet', '--json')).rejects.toThrow(/cannot be used with/);
  });

  it('rotates a key, and says what becomes of the old one', async () => {
    const { text: before, key: old } = await keys.create('shop');
    const [sentence, next, key] = (await run('keys', 'rotate', 'shop', '--overlap', '12h')).split('\n');
    const { expiresAt } = await keys.authenticate(before);
    expect(Math.abs(expiresAt!.getTime() - Date.now() - DAY / 2)).toBeLessThan(60_000);
    const end = expiresAt!.toISOString().replace('T', ' ').slice(0, 19);
    expect(sentence).toBe(`The old key (${old.prefix}) is called "shop.old" from now on, and expires on ${end}Z.`);
    expect(next).toBe('The key "shop", which does not expire. Keep it: it is not shown again.');
    expect((await keys.authenticate(key as string)).name).toBe('shop');
    await keys.revoke('shop.old');
    const alone = await run('keys', 'rotate', 'shop', '--overlap', '30m', '--quiet', '--expires', '90d');
    expect((await keys.authenticate(alone)).name).toBe('shop');
  });

  it.each(['', '0d', '7', '1.5h', '2099-01-31', '9999999d'])('rotates no key for "%s"', async (overlap) => {
    await keys.create('shop');
    await expect(run('keys', 'rotate', 'shop', '--overlap', overlap)).rejects.toThrow(/such as 7d, 12h or 30m/);
    await expect(run('keys', 'rotate', 'shop')).rejects.toThrow(/--overlap/);
    expect(await keys.list()).toHaveLength(1);
  });

  it.each([
    ['30m', 30 * 60_000],
    ['12h', 12 * 3_600_000],
    ['90d', 90 * DAY],
  ])('issues a key for %s', async (expires, milliseconds) => {
    const before = Date.now();
    await run('keys', 'create', '--name', 'shop', '--expires', expires);
    const end = (await keys.list())[0]?.expiresAt?.getTime();
    expect(end).toBeGreaterThanOrEqual(before + milliseconds);
    expect(end).toBeLessThanOrEqual(Date.now() + milliseconds);
  });

  it.each([
    ['2099-01-31', '2099-01-31T00:00:00.000Z'],
    ['2096-02-29', '2096-02-29T00:00:00.000Z'],
    ['2099-01-31T10:00Z', '2099-01-31T10:00:00.000Z'],
    ['2099-01-31T10:00:30+02:00', '2099-01-31T08:00:30.000Z'],
    ['2099-01-31T23:30:00.5-02:00', '2099-02-01T01:30:00.500Z'],
  ])('issues a key until %s', async (expires, end) => {
    await run('keys', 'create', '--name', 'shop', '--expires', expires);
    expect((await keys.list())[0]?.expiresAt?.toISOString()).toBe(end);
  });

  it.each([
    '',
    'tomorrow',
    '0d',
    '1.5d',
    '90',
    '90D',
    '9999999d',
    '2099-02-30',
    '2099-02-29',
    '2099-13-01',
    '2099-1-1',
    '99-01-31',
    '2099-01-31x',
    '2099-01-31 (x)',
    '2099-01-31T10:00',
    '2099-01-31T25:00Z',
  ])('issues no key until "%s"', async (expires) => {
    await expect(run('keys', 'create', '--name', 'shop', '--expires', expires)).rejects.toThrow(/such as 90d/);
    expect(await keys.list()).toEqual([]);
  });

  it('issues no key without a name, and none until a day that is over', async () => {
    await expect(run('keys', 'create')).rejects.toThrow(/--name/);
    await expect(run('keys', 'create', '--name', ' ')).rejects.toThrow(UsageError);
    await expect(run('keys', 'create', '--name', 'shop', '--expires', '2020-01-01')).rejects.toThrow(UsageError);
    expect(await keys.list()).toEqual([]);
  });

  it('lists keys in columns, with their state and never their text', async () => {
    expect(await run('keys', 'list')).toBe('NAME  PREFIX  CREATED  LAST USED  EXPIRES  STATE');
    const { text, key } = await keys.create('shop', new Date('2099-01-31'));
    await keys.create('a-longer-name');
    await keys.revoke('a-longer-name');
    keys.noteUse(key);
    await keys.recordUses();
    const list = await run('keys', 'list');
    const time = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\dZ';
    expect(list).toMatch(new RegExp(`^shop +${key.prefix} +${time} +${time} +2099-01-31 00:00:00Z +valid$`, 'm'));
    expect(list).toMatch(new RegExp(`^a-longer-name +pets_\\w{4} +${time} +- +- +revoked$`, 'm'));
    expect(list).not.toContain(text.slice(9));
    const [, ...columns] = list.split('\n').map((line) => line.indexOf('pets_'));
    expect(new Set(columns).size).toBe(1);
  });

  it('lists a key that has ended as expired', async () => {
    keys = new ApiKeyService(new MemoryApiKeyRepository(), new NodeSecrets(), [], () => 0);
    await keys.create('shop', new Date(DAY));
    expect(await run('keys', 'list')).toMatch(/^shop .* 1970-01-02 00:00:00Z +expired$/m);
  });

  it('revokes by name or prefix, and says which key it was', async () => {
    const { key } = await keys.create('shop');
    expect(await run('keys', 'revoke', 'shop')).toBe(`The key "shop" (${key.prefix}) is revoked.`);
    await expect(run('keys', 'revoke', key.prefix)).rejects.toThrow(UsageError);
  });

  it('lists who calls getPet, the latest first, and nobody else', async () => {
    let now = DAY;
    keys = new ApiKeyService(new MemoryApiKeyRepository(), new NodeSecrets(), [], () => now);
    const { key: till } = await keys.create('till');
    const { key: web } = await keys.create('web');
    const { key: shop } = await keys.create('shop');
    keys.noteGetPet(till);
    keys.noteUse(web);
    now += DAY;
    keys.noteGetPet(shop);
    keys.noteGetPet(shop);
    await keys.recordUses();
    expect(await run('keys', 'callers')).toBe(
      ['NAME  CALLS  LAST CALL', 'shop  2      1970-01-03 00:00:00Z', 'till  1      1970-01-02 00:00:00Z'].join('\n'),
    );
  });

  it('shows the migrations and what becomes of them', async () => {
    expect(await run('migrate')).toBe('[x] First1\n[ ] Second2');
    expect(await run('migrate', 'show')).toBe('[x] First1\n[ ] Second2');
    expect(await run('migrate', 'run')).toBe('applied Second2');
    expect(await run('migrate', 'revert')).toBe('took back First1');
    Object.assign(actions, { migrate: () => Promise.resolve([]), revert: () => Promise.resolve(undefined) });
    expect(await run('migrate', 'run')).toBe('The schema is up to date.');
    expect(await run('migrate', 'revert')).toBe('No migration is applied.');
  });

  it('prints the document in the form asked for', async () => {
    expect(await run('openapi')).toBe('yaml');
    expect(await run('openapi', '--json')).toBe('json');
  });
});
