import { describe, expect, it } from '@jest/globals';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freshFolder } from '../support/fresh-folder.js';

const folder = freshFolder();

/** What a command prints; fails if it does not succeed, or writes to standard error. */
async function outputOf(...args: string[]): Promise<string> {
  const { code, out, err } = await folder().run(args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

/** What a command that fails writes: one line. */
async function errorOf(args: readonly string[], variables: Record<string, string> = {}): Promise<string> {
  const { code, out, err } = await folder().run(args, variables);
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(/^[^\n]+\n$/);
  return err.trimEnd();
}

describe('keys', () => {
  it('are created and revoked while the service runs, which knows at once', async () => {
    const service = await folder().serve({ NODE_ENV: 'production' });
    const key = (await outputOf('keys', 'create', '--name', 'shop', '--quiet')).trimEnd();
    expect((await service.send(key)).status).toBe(200);
    await outputOf('keys', 'revoke', 'shop');
    const answer = await service.send(key);
    expect([answer.status, await answer.json()]).toMatchObject([401, { code: 'api_key_revoked' }]);
  });
});

describe('openapi', () => {
  it('prints openapi.yaml, and opens no database', async () => {
    expect(await outputOf('openapi')).toBe(readFileSync('openapi.yaml', 'utf8'));
    expect(folder().files()).toEqual([]);
  });
});

describe('a command', () => {
  it('exits with 0 if it succeeds, 1 if it fails, and 2 if it is not understood', async () => {
    for (const [expected, line] of [
      [0, '--version'],
      [0, 'keys list'],
      [1, 'keys revoke nobody'],
      [2, 'key list'],
    ] as const) {
      expect([line, (await folder().run(line.split(' '))).code]).toEqual([line, expected]);
    }
  });

  it('fails if its output cannot be written: the text of a key may be what is missing', async () => {
    const full = openSync('/dev/full', 'w');
    const { code, err } = await folder().run(['keys', 'create', '--name', 'shop', '--quiet'], {}, full);
    closeSync(full);
    expect([code, err]).toEqual([1, expect.stringMatching(/^[^\n]*ENOSPC[^\n]*\n$/)]);
  });

  it('reads .env, behind the environment', async () => {
    writeFileSync(
      join(folder().path, '.env'),
      '\uFEFFSTAGING_BASE_URL=https://staging.example.com/v1\nPRODUCTION_BASE_URL=https://example.com/v1\n',
    );
    const { out } = await folder().run(['openapi'], { PRODUCTION_BASE_URL: 'https://other.example.com/v1' });
    expect(out).toContain('https://staging.example.com/v1');
    expect(out).toContain('https://other.example.com/v1');
    expect(out).not.toContain('https://example.com/v1');
  });

  it('names an invalid setting in one line, and repeats no password', async () => {
    for (const args of [['serve'], ['keys', 'list'], ['openapi']]) {
      expect(await errorOf(args, { PORT: 'http' })).toMatch(/^PORT must be .*\.$/);
    }
    const message = await errorOf(['serve'], { DATABASE_URL: 'oracle://user:hunter2@host/db' });
    expect(message).toMatch(/^DATABASE_URL /);
    expect(message).not.toContain('hunter2');
  });
});
