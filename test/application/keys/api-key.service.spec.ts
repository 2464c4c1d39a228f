import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createHash } from 'node:crypto';
import { MemoryApiKeyRepository } from '../../../src/adapters/persistence/memory/memory-api-key.repository.js';
import { ApiKeyService, type IssuedKey } from '../../../src/application/keys/api-key.service.js';
import { Authenticator } from '../../../src/application/keys/authenticator.js';
import { KeyRejected } from '../../../src/application/errors.js';
import { UsageError } from '../../../src/messages/usage-error.js';
import { isIssuedKey } from '../../../src/domain/keys/api-key.js';
import { setWallClock } from '../../support/wall-clock.js';

const START = Date.parse('2026-11-20T12:00:00Z');
const DAY = 86_400_000;

let keys: MemoryApiKeyRepository;
let service: ApiKeyService;
let authenticator: Authenticator;

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

beforeEach(() => {
  setWallClock(START);
  keys = new MemoryApiKeyRepository();
  service = new ApiKeyService(keys);
  authenticator = new Authenticator(keys, () => []);
});

describe('creating a key', () => {
  it('gives another text each time, and stores its digest only', async () => {
    const { text, key } = await service.create('shop');
    expect(isIssuedKey(text)).toBe(true);
    const times = { createdAt: new Date(START), expiresAt: null, revokedAt: null };
    const digest = createHash('sha256').update(text).digest('hex');
    expect(key).toEqual({ digest, owner: digest, name: 'shop', prefix: text.slice(0, 9), ...times });
    expect(await keys.list()).toEqual([key]);
    expect(JSON.stringify([await keys.list(), await keys.uses()])).not.toContain(text.slice(9));
    expect(await authenticator.authenticate(text)).toEqual(key);
    expect((await service.create('till')).text).not.toBe(text);
  });

  it.each(['', ' shop', 'shop ', 'a'.repeat(65), 'a\nb', 'Zoë', 'configured-0a1b2c3d'])(
    'rejects the name %j',
    async (name) => {
      await expect(service.create(name)).rejects.toThrow(UsageError);
      expect(await service.list()).toEqual([]);
    },
  );

  it.each(['configured-1', 'configured-0a1b2c3d4', 'un-configured-0a1b2c3d', 'a', 'a'.repeat(64), '! ~'])(
    'accepts the name %j',
    async (name) => {
      expect((await service.create(name)).key.name).toBe(name);
    },
  );

  it('happens at the first start only', async () => {
    const shown: string[] = [];
    const show = ({ text }: IssuedKey) => Promise.resolve(void shown.push(text));
    expect(await service.createFirst(show)).toMatchObject({ key: { name: 'first' } });
    expect((await authenticator.authenticate(shown[0]!)).name).toBe('first');
    await service.revoke('first');
    expect(await service.createFirst(show)).toBeUndefined();
    expect(shown).toHaveLength(1);
  });

  it('stores no key that could not be shown', async () => {
    const show = () => Promise.reject(new Error('No terminal.'));
    await expect(service.createFirst(show)).rejects.toThrow('No terminal.');
    expect(await service.list()).toEqual([]);
  });

  it('happens once if two instances start together', async () => {
    const show = () => Promise.resolve();
    const created = await Promise.all([service.createFirst(show), new ApiKeyService(keys).createFirst(show)]);
    expect(created.filter((issued) => issued !== undefined)).toHaveLength(1);
  });
});

describe('revoking a key', () => {
  it('finds it only by its prefix if another valid key has its name, as 1.0.0 allowed', async () => {
    const [{ key }, { key: other }] = [await service.create('shop'), await service.create('other')];
    jest.spyOn(keys, 'list').mockResolvedValue([key, { ...other, name: 'shop' }]);
    await expect(service.revoke('shop')).rejects.toThrow(/^Several valid keys have the name or prefix "shop"\./);
    expect((await service.revoke(other.prefix)).digest).toBe(other.digest);
  });

  it('finds it by its name or its prefix', async () => {
    const { text, key } = await service.create('shop');
    await service.create('till');
    setWallClock(Date.now() + 1_000);
    const revoked = { ...key, revokedAt: new Date(Date.now()) };
    expect(await service.revoke(text.slice(0, 9))).toEqual(revoked);
    expect(await keys.list()).toContainEqual(revoked);
    expect((await service.revoke('till')).name).toBe('till');
    await expect(service.revoke('till')).rejects.toThrow(/already revoked/);
    await expect(service.revoke('nobody')).rejects.toThrow(/No key has the name/);
  });
});

describe('rotating a key', () => {
  it('creates another key of that name, and renames the old one, which stays valid for the overlap', async () => {
    const { text: before, key: was } = await service.create('shop');
    setWallClock(Date.now() + DAY);
    const { text, key, old } = await service.rotate('shop', 7 * DAY);
    expect(key).toMatchObject({ name: 'shop', createdAt: new Date(Date.now()), expiresAt: null, revokedAt: null });
    expect(old).toEqual({ ...was, name: 'shop.old', expiresAt: new Date(Date.now() + 7 * DAY) });
    setWallClock(Date.now() + 7 * DAY - 1);
    expect(await authenticator.authenticate(before)).toEqual(old);
    setWallClock(Date.now() + 1);
    await expect(authenticator.authenticate(before)).rejects.toStrictEqual(new KeyRejected('expired'));
    expect(await authenticator.authenticate(text)).toEqual(key);
  });

  it('prolongs no old key, and gives the new one the same lifetime', async () => {
    await service.create('shop', 90 * DAY);
    setWallClock(Date.now() + 89 * DAY);
    const shop = await service.rotate('shop', 7 * DAY);
    expect([shop.old.expiresAt, shop.key.expiresAt]).toEqual([90, 179].map((days) => new Date(START + days * DAY)));
  });

  it('fails while the key before the last is valid, and if the key is unknown, revoked or expired', async () => {
    await expect(service.rotate('shop', DAY)).rejects.toThrow(/No key has the name/);
    await service.create('shop', 2 * DAY);
    await service.rotate('shop', DAY);
    await expect(service.rotate('shop', DAY)).rejects.toThrow(
      '"shop.old" already exists, from the last rotation; wait until it expires, or revoke it.',
    );
    setWallClock(Date.now() + DAY);
    await service.rotate('shop', DAY);
    setWallClock(Date.now() + 2 * DAY);
    await expect(service.rotate('shop', DAY)).rejects.toThrow('already revoked or expired');
  });

  it('succeeds once for two concurrent calls', async () => {
    await service.create('shop');
    const twice = await Promise.allSettled([service.rotate('shop', DAY), service.rotate('shop', DAY)]);
    expect(twice.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(await service.list()).toHaveLength(2);
  });
});
