import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Repositories } from '../../src/adapters/persistence/persistence.module.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { Authenticator } from '../../src/application/keys/authenticator.js';
import { openStoreAt, sqlite, type TestStore } from '../support/stores.js';
import { setWallClock } from '../support/wall-clock.js';
import { petstore } from './command.js';

const DAY = 86_400_000;
const KEY = /pets_\w{36}/;

describe('petstore keys', () => {
  let store: TestStore;
  let database: Repositories;
  let keys: ApiKeyService;
  let authenticator: Authenticator;

  beforeEach(async () => {
    store = await sqlite.create();
    database = await openStoreAt(store.url);
    keys = new ApiKeyService(database.keys);
    authenticator = new Authenticator(database.keys, () => []);
  });

  afterEach(async () => {
    jest.useRealTimers();
    await database.close();
    await store.remove();
  });

  const run = (line: string) => petstore(line, store.url);

  /** What a command prints; fails if it does not succeed, or does not say which database it may change. */
  async function printed(line: string): Promise<string> {
    const { code, out, err } = await run(line);
    const isReader = /^keys (list|callers)/.test(line);
    expect({ line, code, err }).toEqual({ line, code: 0, err: isReader ? '' : `Database: ${store.url.slice(7)}\n` });
    return out;
  }

  const json = async (line: string) => JSON.parse(await printed(`${line} --json`)) as [Record<string, string>];

  it('create prints a key that is valid: with its name, or alone', async () => {
    const text = await printed('keys create --name shop');
    expect(text).toContain('Created key "shop" (never expires). Save it now; it will not be shown again.\n');
    expect(await authenticator.authenticate(KEY.exec(text)?.[0] as string)).toMatchObject({ name: 'shop' });
    const alone = await printed('keys create --name till --quiet');
    expect(alone).toMatch(new RegExp(`^${KEY.source}\n$`));
  });

  it.each(Object.entries({ '30m': 1 / 48, '90d': 90 }))('accepts a lifetime of %s', async (text, days) => {
    await printed(`keys create --name shop --expires ${text}`);
    const [{ createdAt, expiresAt }] = await json('keys list');
    const lifetime = Date.parse(expiresAt as string) - Date.parse(createdAt as string);
    // The two are read from the clock one after the other.
    expect(Math.abs(lifetime - days * DAY)).toBeLessThan(60_000);
  });

  it.each(['', '0d', '1.5d', '90D', '9999999d'])('rejects the duration "%s"', async (duration) => {
    await printed('keys create --name shop');
    for (const line of [`create --name till --expires ${duration}`, `rotate shop --overlap ${duration}`]) {
      expect(await run(`keys ${line}`)).toMatchObject({ code: 2, err: expect.stringContaining('such as') });
    }
    expect(await json('keys list')).toHaveLength(1);
  });

  it('create rejects the name of a valid key', async () => {
    await printed('keys create --name shop');
    expect(await run('keys create --name shop')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^A valid key named "shop" already exists; .* choose another name\.$/m),
    });
  });

  it('rotate prints a new key, and what the old one is called for the overlap', async () => {
    const now = Date.now();
    setWallClock(now);
    const old = (await printed('keys create --name shop --quiet')).trim();
    setWallClock(now + 1_000);
    const rotated = (await printed('keys rotate shop --overlap 12h --quiet')).trim();
    expect(await json('keys list')).toMatchObject([
      { name: 'shop.old', prefix: old.slice(0, 9), expiresAt: new Date(now + 1_000 + DAY / 2).toISOString() },
      { name: 'shop', expiresAt: null },
    ]);
    expect(await authenticator.authenticate(rotated)).toMatchObject({ name: 'shop' });
    setWallClock(now + DAY);
    const text = await printed('keys rotate shop');
    expect(text).toContain('"shop.old"');
    expect(text).toMatch(KEY);
  });

  it('list shows each key with its times and state, and never its text', async () => {
    setWallClock(Date.parse('2098-01-31'));
    const { key } = await keys.create('shop', 365 * DAY);
    authenticator.noteUse(key);
    await authenticator.recordUses();
    setWallClock(Date.parse('2098-02-01'));
    const { text } = await keys.create('till');
    await keys.revoke('till');
    const list = await printed('keys list');
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`;
    expect(list).toMatch(/^NAME +PREFIX +CREATED +LAST USED +EXPIRES +STATE$/m);
    expect(list).toMatch(new RegExp(`^shop +${key.prefix} +${time} +${time} +2099-01-31 00:00:00Z +valid$`, 'm'));
    expect(list).toMatch(new RegExp(`^till +pets_\\w{4} +${time} +- +- +revoked$`, 'm'));
    expect(list).not.toContain(text.slice(9));
    expect(await json('keys list')).toEqual([
      {
        name: 'shop',
        prefix: key.prefix,
        createdAt: key.createdAt.toISOString(),
        lastUsedAt: expect.stringMatching(/Z$/),
        expiresAt: '2099-01-31T00:00:00.000Z',
        revokedAt: null,
        state: 'valid',
      },
      expect.objectContaining({ name: 'till', lastUsedAt: null, expiresAt: null, state: 'revoked' }),
    ]);
  });

  it('rotate and revoke say where names and prefixes are listed if no key has it', async () => {
    for (const line of ['keys rotate shop', 'keys revoke shop'])
      expect(await run(line)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^No key has the name or prefix "shop"\. "petstore keys list" lists all keys\.$/m),
      });
  });

  it('revoke names the key that it ends', async () => {
    const { key } = await keys.create('shop');
    expect(await printed(`keys revoke ${key.prefix}`)).toMatch(new RegExp(`"shop".*${key.prefix}`));
  });

  it('callers lists the keys that call getPet, the latest first', async () => {
    setWallClock(DAY);
    const { key: till } = await keys.create('till');
    const { key: web } = await keys.create('web');
    const { key: shop } = await keys.create('shop');
    authenticator.noteUse(till, true);
    authenticator.noteUse(web);
    setWallClock(2 * DAY);
    for (let calls = 0; calls < 2; calls++) authenticator.noteUse(shop, true);
    await authenticator.recordUses();
    const [, ...lines] = (await printed('keys callers')).trimEnd().split('\n');
    expect(lines.map((line) => line.split(/ {2,}/))).toEqual([
      ['shop', '2', '1970-01-03 00:00:00Z'],
      ['till', '1', '1970-01-02 00:00:00Z'],
    ]);
  });
});
