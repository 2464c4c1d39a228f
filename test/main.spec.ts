import { describe, expect, it, jest } from '@jest/globals';
import { load } from 'js-yaml';
import { execFile, execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isIssuedKey } from '../src/domain/keys/api-key.js';
import { freshFolder } from './support/fresh-folder.js';
import { buildProgram } from './support/program.js';

// Each command is a process of its own, which takes its time if many run at once.
jest.setTimeout(120_000);

const folder = freshFolder();

/** What a command prints; fails if it does not end well, or writes to standard error. */
async function printed(...args: string[]): Promise<string> {
  const outcome = await folder().run(args);
  expect(outcome).toEqual({ code: 0, out: outcome.out, err: '' });
  return outcome.out;
}

/** What a command says when it does not end well: one line on standard error, and nothing else. */
async function complaint(args: readonly string[], variables: Record<string, string> = {}): Promise<string> {
  const { code, out, err } = await folder().run(args, variables);
  expect(code).toBe(1);
  expect(out).toBe('');
  expect(err).toMatch(/^[^\n]+\n$/);
  return err.trimEnd();
}

describe('the first start', () => {
  it('shows a key, and a curl line that is answered with 200', async () => {
    const service = await folder().serve();
    expect(isIssuedKey(service.key as string)).toBe(true);
    const [, key, url] = /^Try: +curl -i -H 'Authorization: Bearer (\S+)' (\S+)$/m.exec(service.log) ?? [];
    expect(key).toBe(service.key);
    expect(service.log).toContain(`\nKeep: export KEY=${key}\n`);
    const answer = await fetch(url as string, { headers: { Authorization: `Bearer ${key}` } });
    expect([answer.status, await answer.text()]).toEqual([200, '[]']);
    const docs = await fetch(/^Docs: +(\S+)$/m.exec(service.log)?.[1] as string);
    expect(docs.status).toBe(200);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('shows and makes no key in production', async () => {
    const service = await folder().serve({ NODE_ENV: 'production' });
    expect((await fetch(`${service.address}/pets`)).status).toBe(401);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.log).not.toContain('pets_');
    expect((await printed('keys', 'list')).trimEnd().split('\n')).toHaveLength(1);
  });

  it('shows and makes no key if one is configured', async () => {
    const service = await folder().serve({ API_KEYS: 'a-configured-key' });
    expect((await service.send('a-configured-key')).status).toBe(200);
    await service.end('SIGINT');
    expect(service.log).not.toMatch(/pets_|a-configured-key/);
  });
});

describe('the second start', () => {
  it('has the pets and the keys of the first, killed in the midst of it or not, and shows no key', async () => {
    const first = await folder().serve();
    const key = first.key as string;
    const bella = await first.add(key, { name: 'Bella 🐶', categoryId: 1 });
    expect(await first.end('SIGKILL')).toBeNull();

    const second = await folder().serve();
    expect(await (await second.send(key)).text()).toBe(`[${bella}]`);
    const rex = await second.add(key, { name: 'Rex', categoryId: 2 });
    await second.send(`${key}x`);
    expect(await second.end('SIGTERM')).toBe(0);

    const third = await folder().serve();
    expect(await (await third.send(key)).text()).toBe(`[${rex},${bella}]`);
    expect(await third.end('SIGINT')).toBe(0);
    for (const { log } of [second, third]) expect(log).not.toContain('pets_');
  });

  it('finds the text of the key in no file', async () => {
    const service = await folder().serve();
    const key = service.key as string;
    await service.add(key, { name: 'Bella', categoryId: 1 });
    await service.send(key, '/pets/1');
    const during = folder().files();
    await service.end('SIGTERM');
    const after = folder().files();
    for (const files of [during, after]) {
      expect(files.some(({ text }) => text.includes('Bella'))).toBe(true);
      for (const { path, text } of files) expect([path, text.includes(key.slice(9))]).toEqual([path, false]);
    }
    expect(during.some(({ path }) => path.endsWith('-wal'))).toBe(true);
  });
});

describe('keys', () => {
  it('are made, listed and revoked while the service runs, which knows at once', async () => {
    const service = await folder().serve({ NODE_ENV: 'production' });
    const key = (await printed('keys', 'create', '--name', 'shop', '--quiet')).trimEnd();
    expect(isIssuedKey(key)).toBe(true);
    for (let i = 0; i < 3; i++) expect((await service.send(key)).status).toBe(200);

    const told = await printed('keys', 'create', '--name', 'till', '--expires', '90d');
    const [sentence, other] = told.split('\n') as [string, string];
    expect(sentence).toMatch(/"till", which expires on \d{4}-\d\d-\d\d/);
    expect((await service.send(other)).status).toBe(200);

    const list = await printed('keys', 'list');
    expect(list).toMatch(new RegExp(`^shop +${key.slice(0, 9)} .* - +valid$`, 'm'));
    expect(list).toMatch(new RegExp(`^till +${other.slice(0, 9)} .* \\d{4}-\\d\\d-\\d\\d \\S+ +valid$`, 'm'));
    expect(list).not.toContain(key.slice(9));

    expect(await printed('keys', 'revoke', 'shop')).toBe(`The key "shop" (${key.slice(0, 9)}) is revoked.\n`);
    const answer = await service.send(key);
    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ code: 'api_key_revoked' });
    expect((await service.send(other)).status).toBe(200);
  });

  it('are listed with their last use, and with their calls of getPet', async () => {
    const service = await folder().serve();
    const key = service.key as string;
    await service.add(key, { name: 'Bella', categoryId: 1 });
    for (const id of ['1', '2', 'none']) await service.send(key, `/pets/${id}`);
    await service.end('SIGTERM');
    expect(await printed('keys', 'callers')).toMatch(/^NAME +CALLS +LAST CALL\nfirst +3 +\d{4}-\d\d-\d\d \S+Z\n$/);
    const today = new Date().toISOString().slice(0, 10);
    expect(await printed('keys', 'list')).toMatch(new RegExp(`^first +\\S+ +\\S+ \\S+ +${today} \\S+ +- +valid$`, 'm'));
  });

  it('are not revoked if no key is meant', async () => {
    expect(await complaint(['keys', 'revoke', 'nobody'])).toContain('"nobody"');
  });

  it('of a store in memory are not there for a command', async () => {
    expect(await complaint(['keys', 'list'], { DATABASE_URL: 'memory:' })).toContain('memory:');
  });
});

describe('migrate', () => {
  it('shows, applies and takes back', async () => {
    const steps = (mark: string) => new RegExp(`^(\\[${mark}\\] \\S+\\n)+$`);
    expect(await printed('migrate', 'show')).toMatch(steps(' '));
    expect(await printed('migrate', 'run')).toMatch(/^(applied \S+\n)+$/);
    expect(await printed('migrate')).toMatch(steps('x'));
    expect(await printed('migrate', 'revert')).toMatch(/^took back \S+\n$/);
    expect(await printed('migrate', 'show')).toMatch(/^\[ \] \S+\n$/m);
  });

  it('has nothing to do with a store in memory', async () => {
    expect(await complaint(['migrate'], { DATABASE_URL: 'memory:' })).toContain('memory:');
  });
});

describe('openapi', () => {
  it('prints the document as YAML or as JSON, and opens no database', async () => {
    const json = JSON.parse(await printed('openapi', '--json')) as { openapi: string; paths: object };
    expect(json.openapi).toMatch(/^3\./);
    expect(Object.keys(json.paths)).toEqual(['/pets', '/pets/{petId}']);
    const yaml = await printed('openapi');
    expect(load(yaml)).toEqual(json);
    expect(yaml).toBe(readFileSync('openapi.yaml', 'utf8'));
    expect(folder().files()).toEqual([]);
  });
});

describe('the exit code', () => {
  it('is 0 for what was done, 1 for what failed, and 2 for what was not understood', async () => {
    const code = async (...args: string[]) => (await folder().run(args)).code;
    for (const line of ['--version', '--help', 'help keys', 'keys list --json', 'example-env']) {
      expect([line, await code(...line.split(' '))]).toEqual([line, 0]);
    }
    for (const line of ['keys revoke nobody', 'serve --port http']) {
      expect([line, await code(...line.split(' '))]).toEqual([line, 1]);
    }
    for (const line of ['key list', 'keys', 'keys revoke', 'serve --prot 1', 'seed --count 0', 'copy --from x']) {
      expect([line, await code(...line.split(' '))]).toEqual([line, 2]);
    }
  });
});

describe('a command whose output is not taken', () => {
  it('ends with 1 and says so: the text of a key may be what is missing', async () => {
    const full = openSync('/dev/full', 'w');
    try {
      for (const args of [['keys', 'create', '--name', 'shop', '--quiet'], ['openapi']]) {
        expect(await folder().run(args, {}, full)).toEqual({
          code: 1,
          out: '',
          err: 'Standard output does not take what the command prints (ENOSPC); some of it is missing there.\n',
        });
      }
    } finally {
      closeSync(full);
    }
  });
});

describe('a command whose output is taken in part', () => {
  it('ends with 1 and says so, and leaves no more than fits', async () => {
    // A file that may grow no further is as full as its disk; the signal that says so would end the process.
    const script = `trap '' XFSZ; exec prlimit --fsize=1000: "$0" "$1" openapi > part`;
    const command = join(buildProgram(), 'src', 'main.js');
    const done = promisify(execFile)('sh', ['-c', script, process.execPath, command], { cwd: folder().path });
    await expect(done).rejects.toMatchObject({
      code: 1,
      stderr: 'Standard output does not take what the command prints (EFBIG); some of it is missing there.\n',
    });
    expect(readFileSync('openapi.yaml', 'utf8').startsWith(folder().files()[0]?.text as string)).toBe(true);
  });
});

describe('the settings', () => {
  it('come from options of serve before all else', async () => {
    writeFileSync(join(folder().path, '.env'), 'PORT=http\n');
    const { code, err } = await folder().run(['serve', '--port', 'ftp'], { PORT: 'smtp' });
    expect([code, err]).toEqual([1, 'PORT must be an integer from 0 to 65535, not "ftp".\n']);
  });

  it('come from .env too, behind the environment', async () => {
    const env = '\uFEFFSTAGING_BASE_URL=https://staging.example.com/v1\nPRODUCTION_BASE_URL=https://example.com/v1\n';
    writeFileSync(join(folder().path, '.env'), env);
    const { out } = await folder().run(['openapi'], { PRODUCTION_BASE_URL: 'https://other.example.com/v1' });
    expect(out).toContain('https://staging.example.com/v1');
    expect(out).toContain('https://other.example.com/v1');
    expect(out).not.toContain('https://example.com/v1');
  });

  it('that are bad end every command with one line that names the variable', async () => {
    const commands = [[], ['serve'], ['keys', 'list'], ['migrate', 'run'], ['openapi']];
    const messages = await Promise.all(commands.map((args) => complaint(args, { PORT: 'http' })));
    for (const message of messages) expect(message).toMatch(/^PORT must be .*\.$/);
    writeFileSync(join(folder().path, '.env'), 'DATABASE_URL=oracle://user:hunter2@host/db\n');
    const message = await complaint([]);
    expect(message).toMatch(/^DATABASE_URL /);
    expect(message).not.toContain('hunter2');
  });

  it('that name no file end every command that needs one with one line', async () => {
    for (const args of [['serve'], ['keys', 'list'], ['seed', '--count', '1'], ['migrate', 'run']]) {
      expect(await complaint(args, { DATABASE_URL: 'sqlite:/dev/null' })).toBe(
        'DATABASE_URL must be sqlite:FILE, a file that is a database or can be made; "/dev/null" is no file.',
      );
    }
    const { code, out } = await folder().run(['check'], { DATABASE_URL: 'sqlite:/dev/null' });
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/^fail +database +"\/dev\/null" is no file\. DATABASE_URL /m),
    ]);
  });

  it('that name a damaged database end every command that needs it with one line', async () => {
    const damaged = join(folder().path, 'damaged.sqlite');
    writeFileSync(damaged, `SQLite format 3\0${'x'.repeat(8_000)}`);
    for (const args of [['keys', 'list'], ['seed', '--count', '1'], ['migrate'], ['backup', 'copy.sqlite']]) {
      expect(await complaint(args, { DATABASE_URL: 'sqlite:damaged.sqlite' })).toMatch(
        /^The SQLite database cannot be used: .* \(SQLITE_[A-Z]+\)\.$/,
      );
    }
  });

  it('that name what is no file keep it from a restore, and hold up no backup', async () => {
    await printed('seed', '--count', '1');
    await printed('backup', 'backup.sqlite');
    const pipe = join(folder().path, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(await complaint(['restore', 'backup.sqlite'], { DATABASE_URL: 'sqlite:pipe' })).toBe(
      'DATABASE_URL must be sqlite:FILE, a file that is a database or can be made; "pipe" is no file.',
    );
    expect(statSync(pipe).isFIFO()).toBe(true);
    const noDatabase = / must name a SQLite database that is there; "pipe" is no file\.$/;
    expect(await complaint(['backup', 'other.sqlite'], { DATABASE_URL: 'sqlite:pipe' })).toMatch(noDatabase);
    expect(await complaint(['restore', 'pipe'])).toMatch(noDatabase);
  });

  it('that name a port which is taken end the start, and say so', async () => {
    const { port } = new URL((await folder().serve()).address);
    const { code, err } = await folder().run(['serve'], { PORT: port, DATABASE_URL: 'memory:' });
    expect(code).toBe(1);
    expect(err).toMatch(new RegExp(`^PORT must be a free port; .* port ${port} of .*\n$`));
  });
});
