import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createHash } from 'node:crypto';
import { MemoryApiKeyRepository } from '../../../src/adapters/persistence/memory/memory-api-key.repository.js';
import { KeyUse } from '../../../src/application/keys/api-key-repository.port.js';
import { ApiKeyService } from '../../../src/application/keys/api-key.service.js';
import { KeyRejected, DatabaseUnavailable, UsageError } from '../../../src/application/errors.js';
import { ApiKey, isIssuedKey } from '../../../src/domain/keys/api-key.js';
import { setWallClock } from '../../support/wall-clock.js';

const START = Date.parse('2026-11-20T12:00:00Z');
const DAY = 86_400_000;

/** Keys in memory that may be unavailable, and may have no version, as on a database server. */
class TestKeys extends MemoryApiKeyRepository {
  available = true;
  hasVersion = true;
  finds = 0;

  override find(digest: string): Promise<ApiKey | undefined> {
    this.finds++;
    return this.available ? super.find(digest) : Promise.reject(new DatabaseUnavailable());
  }

  override recordUses(uses: readonly KeyUse[]): Promise<void> {
    return this.available ? super.recordUses(uses) : Promise.reject(new DatabaseUnavailable());
  }

  override version(): number {
    return (this.hasVersion ? super.version() : undefined) as number;
  }
}

let keys: TestKeys;
let service: ApiKeyService;

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

beforeEach(() => {
  setWallClock(START);
  keys = new TestKeys();
  service = serviceWith();
});

/** The service of another process, with these configured keys. */
function serviceWith(...configured: string[]): ApiKeyService {
  return new ApiKeyService(keys, configured);
}

/** Why a key is rejected; fails if it is not. */
async function reasonOf(text: string, by = service): Promise<string> {
  try {
    await by.authenticate(text);
  } catch (error) {
    expect(error).toBeInstanceOf(KeyRejected);
    return (error as KeyRejected).reason;
  }
  throw new Error('The key was accepted.');
}

describe('creating a key', () => {
  it('gives another text each time, and stores its digest only', async () => {
    const { text, key } = await service.create('shop');
    expect(isIssuedKey(text)).toBe(true);
    const times = { createdAt: new Date(START), expiresAt: null, revokedAt: null };
    const digest = createHash('sha256').update(text).digest('hex');
    expect(key).toEqual({ digest, name: 'shop', prefix: text.slice(0, 9), ...times });
    expect(await service.list()).toEqual([key]);
    expect(JSON.stringify([await keys.list(), await keys.uses()])).not.toContain(text.slice(9));
    expect(await service.authenticate(text)).toEqual(key);
    expect((await service.create('till')).text).not.toBe(text);
  });

  it.each(['', ' shop', 'shop ', 'a'.repeat(65), 'a\nb', 'Zoë'])('rejects the name %j', async (name) => {
    await expect(service.create(name)).rejects.toThrow(UsageError);
    expect(await service.list()).toEqual([]);
  });

  it('happens at the first start only', async () => {
    const text = (await service.createFirst()) as string;
    expect((await service.authenticate(text)).name).toBe('first');
    await service.revoke('first');
    expect(await service.createFirst()).toBeUndefined();
  });

  it('happens once if two instances start together', async () => {
    const texts = await Promise.all([service.createFirst(), new ApiKeyService(keys, []).createFirst()]);
    expect(texts.filter((text) => text !== undefined)).toHaveLength(1);
  });
});

describe('authenticating', () => {
  it('rejects what was never issued, and asks the database only if the form is right', async () => {
    const { text } = await service.create('shop');
    const damaged = text.slice(0, -1) + (text.endsWith('a') ? 'b' : 'a');
    for (const wrong of [damaged, text.slice(0, -1), `${text}a`, 'secret', 'x'.repeat(255)]) {
      expect(await reasonOf(wrong)).toBe('invalid');
    }
    expect(keys.finds).toBe(0);
    const { text: foreign } = await new ApiKeyService(new TestKeys(), []).create('other');
    expect(await reasonOf(foreign)).toBe('invalid');
  });

  it('accepts configured keys of any form, by their places', async () => {
    const configured = serviceWith('a-configured-key', 'another+configured/key==');
    expect((await configured.authenticate('a-configured-key')).name).toBe('configured-1');
    expect((await configured.authenticate('another+configured/key==')).name).toBe('configured-2');
    expect(await reasonOf('a-configured-kez', configured)).toBe('invalid');
  });

  it('rejects a key from the moment of its expiry on, also one that is cached', async () => {
    const { text } = await service.create('shop', new Date(START + DAY));
    setWallClock(START + DAY - 1);
    expect((await service.authenticate(text)).name).toBe('shop');
    setWallClock(START + DAY);
    expect(await reasonOf(text)).toBe('expired');
    expect(await reasonOf(text, serviceWith())).toBe('expired');
  });

  it('rejects a key at once that another process on the same file has revoked, and caches all others', async () => {
    const { text } = await service.create('shop');
    const { text: other } = await service.create('till');
    for (let i = 0; i < 5; i++) await service.authenticate(text);
    expect(keys.finds).toBe(1);
    await serviceWith().revoke('shop');
    expect(await reasonOf(text)).toBe('revoked');
    expect((await service.authenticate(other)).name).toBe('till');
  });

  it('rejects a key 5 s after another replica has revoked it, though the clock is set back', async () => {
    let elapsed = 1;
    jest.spyOn(performance, 'now').mockImplementation(() => elapsed);
    jest.useFakeTimers({ now: START, doNotFake: ['performance'] });
    const pass = (milliseconds: number) => {
      elapsed += milliseconds;
      jest.advanceTimersByTime(milliseconds);
    };
    keys.hasVersion = false;
    const { text } = await service.create('shop');
    const find = keys.find.bind(keys);
    keys.find = (digest) => {
      const found = find(digest);
      pass(1_000);
      return found;
    };
    await service.authenticate(text);
    await service.authenticate(text);
    expect(keys.finds).toBe(1);
    await serviceWith().revoke('shop');
    jest.setSystemTime(START - DAY);
    pass(4_000);
    expect(await reasonOf(text)).toBe('revoked');
  });

  it('calls no key invalid while the database is unavailable', async () => {
    const { text } = await service.create('shop');
    keys.available = false;
    await expect(Promise.resolve().then(() => service.authenticate(text))).rejects.toThrow(DatabaseUnavailable);
    keys.available = true;
    expect((await service.authenticate(text)).name).toBe('shop');
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
    expect(await service.list()).toContainEqual(revoked);
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
    expect(await service.authenticate(before)).toEqual(old);
    setWallClock(Date.now() + 1);
    expect(await reasonOf(before)).toBe('expired');
    expect(await service.authenticate(text)).toEqual(key);
  });

  it('prolongs no old key, and gives the new one the same lifetime unless another is given', async () => {
    await service.create('shop', new Date(START + 90 * DAY));
    await service.create('till', new Date(START + 90 * DAY));
    setWallClock(Date.now() + 89 * DAY);
    const shop = await service.rotate('shop', 7 * DAY);
    expect([shop.old.expiresAt, shop.key.expiresAt]).toEqual([90, 179].map((days) => new Date(START + days * DAY)));
    expect((await service.rotate('till', 7 * DAY, new Date(Date.now() + DAY))).key.expiresAt).toEqual(
      new Date(Date.now() + DAY),
    );
  });

  it('fails while the key before the last is valid, and if the key is unknown, revoked or expired', async () => {
    await expect(service.rotate('shop', DAY)).rejects.toThrow(/No key has the name/);
    await service.create('shop', new Date(START + 2 * DAY));
    await service.rotate('shop', DAY);
    await expect(service.rotate('shop', DAY)).rejects.toThrow('"shop.old" already exists');
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

describe('the uses of a key', () => {
  it('are when it was last used, and how often for the deprecated operation, by the name that it has now', async () => {
    const configured = serviceWith('a-configured-key');
    configured.noteUse(await configured.authenticate('a-configured-key'));
    const { key } = await configured.create('shop');
    configured.noteUse(key);
    configured.noteUse(key, true);
    setWallClock(Date.now() + 1_000);
    configured.noteUse(key);
    expect(await configured.uses()).toEqual([]);
    await configured.recordUses();
    await configured.recordUses();
    await configured.rotate('shop', DAY);
    const uses = (await configured.uses()).sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(uses).toMatchObject([
      { name: 'configured-1', getPetCalls: 0 },
      { name: 'shop.old', getPetCalls: 1, lastGetPetAt: new Date(START), lastUsedAt: new Date(Date.now()) },
    ]);
  });

  it('are stored by the next call if the database does not answer, with those noted in the meantime', async () => {
    const { key } = await service.create('shop');
    service.noteUse(key, true);
    keys.available = false;
    const failing = service.recordUses();
    setWallClock(Date.now() + 1_000);
    service.noteUse(key);
    service.noteUse(key, true);
    await expect(failing).rejects.toThrow(DatabaseUnavailable);
    keys.available = true;
    await service.recordUses();
    expect(await service.uses()).toMatchObject([{ getPetCalls: 2, lastUsedAt: new Date(Date.now()) }]);
  });
});
