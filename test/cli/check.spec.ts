import { describe, expect, it } from '@jest/globals';
import { check } from '../../src/adapters/cli/check.command.js';
import type { Finding } from '../../src/messages/finding.js';
import { petstore } from './command.js';

const ORDER = ['ok', 'warn', 'fail'];

describe('petstore check', () => {
  const notOk = async (env: Record<string, string>) =>
    (await check({ DATABASE_URL: 'memory:', ...env })).filter(({ state }) => state !== 'ok');

  it('warns if no key is valid, or if one can be guessed', async () => {
    expect(await notOk({})).toMatchObject([{ state: 'warn', advice: expect.stringContaining('petstore keys create') }]);
    expect(await notOk({ API_KEYS: 'x'.repeat(31) })).toMatchObject([{ state: 'warn', name: 'API keys' }]);
    expect(await notOk({ API_KEYS: 'x'.repeat(32) })).toEqual([]);
  });

  it('says which setting is invalid, and which name is misspelt, whatever else could be checked', async () => {
    expect(await notOk({ PORT: 'x', RATELIMIT: '600' })).toMatchObject([
      { state: 'fail', name: 'settings', found: expect.stringMatching(/^PORT must be/) },
      { state: 'warn', name: 'RATELIMIT' },
    ]);
  });

  it('fails if a check has failed, and names it', async () => {
    const { code, out, err } = await petstore('check', 'postgres://me:hunter2@127.0.0.1:1/pets');
    expect([code, err]).toEqual([1, '1 check failed: database.\n']);
    expect(out).toMatch(/^fail +database +DATABASE_URL \(.*ECONNREFUSED/m);
    expect(out).not.toContain('hunter2');
  });

  it('prints what failed last, and as JSON with --json', async () => {
    process.env.RATELIMIT = '600';
    const url = 'postgres://me@127.0.0.1:1/pets';
    const { out } = await petstore('check --verbose', url);
    const json = JSON.parse((await petstore('check --json', url)).out) as Finding[];
    delete process.env.RATELIMIT;
    const states = out.split('\n').flatMap((line) => /^(?:ok|warn|fail)(?= )/.exec(line) ?? []);
    expect(states).toEqual([...states].sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)));
    expect(new Set(states)).toEqual(new Set(ORDER));
    expect(json).toMatchObject([
      { state: 'warn', name: 'RATELIMIT', advice: 'Did you mean RATE_LIMIT?' },
      { state: 'fail', name: 'database' },
    ]);
  });
});
