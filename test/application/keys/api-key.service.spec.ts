import { beforeEach, describe, expect, it } from '@jest/globals';
import { NodeSecrets } from '../../../src/adapters/crypto/node-secrets.js';
import { MemoryApiKeyRepository } from '../../../src/adapters/persistence/memory/memory-api-key.repository.js';
import { KeyUse } from '../../../src/application/keys/api-key-repository.port.js';
import { ApiKeyService } from '../../../src/application/keys/api-key.service.js';
import { KeyRefused, StoreUnavailable, UsageError } from '../../../src/application/errors.js';
import { ApiKey, isIssuedKey } from '../../../src/domain/keys/api-key.js';

const START = Date.parse('2026-11-20T12:00:00Z');
const DAY = 86_400_000;

/** Keys in memory, in a store that may be unable to answer, may have no revision, and counts how often it is asked. */
class TestKeys extends MemoryApiKeyRepository {
  available = true;
  tellsRevision = true;
  found = 0;

  override find(digest: string): Promise<ApiKey | undefined> {
    this.found++;
    return this.available ? super.find(digest) : Promise.reject(new StoreUnavailable());
  }

  override recordUses(uses: readonly KeyUse[]): Promise<void> {
    return this.available ? super.recordUses(uses) : Promise.reject(new StoreUnavailable());
  }

  override revision(): number {
    return (this.tellsRevision ? super.revision() : undefined) as number;
  }
}

describe('ApiKeyService', () => {
  let now: number;
  let elapsed: number;
  let keys: TestKeys;
  let service: ApiKeyService;

  beforeEach(() => {
    now = START;
    elapsed = 0;
    keys = new TestKeys();
    service = serviceWith();
  });

  function serviceWith(...configured: string[]): ApiKeyService {
    return new ApiKeyService(
      keys,
      new NodeSecrets(),
      configured,
      () => now,
      () => elapsed,
    );
  }

  /** Why a key is refused; fails if it is not. */
  async function refusal(text: string, by = service): Promise<string> {
    try {
      await by.authenticate(text);
    } catch (error) {
      expect(error).toBeInstanceOf(KeyRefused);
      return (error as KeyRefused).reason;
    }
    throw new Error('The key was accepted.');
  }

  it('issues a key of the documented form, and stores its digest alone', async () => {
    const { text, key } = await service.create('shop');
    expect(isIssuedKey(text)).toBe(true);
    expect(key).toEqual({
      digest: new NodeSecrets().digest(text),
      name: 'shop',
      prefix: text.slice(0, 9),
      createdAt: new Date(START),
      expiresAt: null,
      revokedAt: null,
    });
    expect(await service.list()).toEqual([key]);
    expect(JSON.stringify([await keys.list(), await keys.uses()])).not.toContain(text.slice(9));
    expect(await service.authenticate(text)).toEqual(key);
  });

  it('issues another key each time', async () => {
    const texts = await Promise.all(Array.from({ length: 100 }, (_, i) => service.create(`shop-${i}`)));
    expect(new Set(texts.map(({ text }) => text)).size).toBe(100);
  });

  it.each(['', ' ', ' shop', 'shop ', 'a'.repeat(65), 'a\nb', 'Zoë', '\u0000', '🐶'])(
    'issues no key with the name %j',
    async (name) => {
      await expect(service.create(name)).rejects.toThrow(UsageError);
      expect(await service.list()).toEqual([]);
    },
  );

  it('issues no key that has expired already', async () => {
    for (const at of [0, START - 1, START]) {
      await expect(service.create('shop', new Date(at))).rejects.toThrow(UsageError);
    }
  });

  it('makes a first key if there is none, and no second one', async () => {
    const text = (await service.createFirst()) as string;
    expect((await service.authenticate(text)).name).toBe('first');
    expect(await service.createFirst()).toBeUndefined();
    await service.revoke('first');
    expect(await service.createFirst()).toBeUndefined();
  });

  it('makes no first key if one is configured', async () => {
    expect(await serviceWith('a-configured-key').createFirst()).toBeUndefined();
    expect(await service.list()).toEqual([]);
  });

  it('refuses what was never issued, without asking the store if the form alone tells', async () => {
    const { text } = await service.create('shop');
    const damaged = text.slice(0, -1) + (text.endsWith('a') ? 'b' : 'a');
    for (const wrong of [damaged, text.toLowerCase(), text.slice(0, -1), `${text}a`, 'secret', 'x'.repeat(255)]) {
      expect(await refusal(wrong)).toBe('invalid');
    }
    expect(keys.found).toBe(0);
    const { text: foreign } = await new ApiKeyService(new TestKeys(), new NodeSecrets(), []).create('other');
    expect(await refusal(foreign)).toBe('invalid');
    expect(keys.found).toBe(1);
  });

  it('accepts configured keys of any form, and tells them apart', async () => {
    const service = serviceWith('a-configured-key', 'another+configured/key==');
    expect((await service.authenticate('a-configured-key')).name).toBe('configured-1');
    expect((await service.authenticate('another+configured/key==')).name).toBe('configured-2');
    expect(await refusal('a-configured-kez', service)).toBe('invalid');
    expect(keys.found).toBe(0);
  });

  it('refuses a key from the moment of its expiry on, also one that it remembers', async () => {
    const { text } = await service.create('shop', new Date(START + DAY));
    for (const moment of [START, START + DAY - 1]) {
      now = moment;
      expect((await service.authenticate(text)).name).toBe('shop');
    }
    now = START + DAY;
    expect(await refusal(text)).toBe('expired');
    now = START + 2 * DAY;
    expect(await refusal(text)).toBe('expired');
    expect(await refusal(text, serviceWith())).toBe('expired');
  });

  it('says of a key that is revoked and expired that it is revoked', async () => {
    const { text } = await service.create('shop', new Date(START + 1));
    await service.revoke('shop');
    now = START + DAY;
    expect(await refusal(text)).toBe('revoked');
  });

  it('remembers a valid key, and asks the store once', async () => {
    const { text } = await service.create('shop');
    for (let i = 0; i < 5; i++) await service.authenticate(text);
    now += 365 * DAY;
    expect(service.authenticate(text)).not.toBeInstanceOf(Promise);
    expect(keys.found).toBe(1);
  });

  it('refuses a revoked key at once if the store tells that something changed, whoever revoked it', async () => {
    const { text } = await service.create('shop');
    const { text: other } = await service.create('till');
    await service.authenticate(text);
    await service.authenticate(other);
    await serviceWith().revoke('shop');
    expect(await refusal(text)).toBe('revoked');
    expect((await service.authenticate(other)).name).toBe('till');
  });

  it('refuses a revoked key within 5 seconds if the store cannot tell', async () => {
    keys.tellsRevision = false;
    const { text } = await service.create('shop');
    await service.authenticate(text);
    await serviceWith().revoke('shop');
    elapsed += 5_000;
    expect(await refusal(text)).toBe('revoked');
  });

  it('asks again after the time of trust, not on every request, if the store cannot tell', async () => {
    keys.tellsRevision = false;
    const { text } = await service.create('shop');
    for (let i = 0; i < 5; i++) await service.authenticate(text);
    expect(keys.found).toBe(1);
    elapsed += 5_000;
    await service.authenticate(text);
    expect(keys.found).toBe(2);
  });

  it('does not call a key invalid while the store cannot answer, and accepts it again afterwards', async () => {
    const { text } = await service.create('shop');
    keys.available = false;
    await expect(Promise.resolve().then(() => service.authenticate(text))).rejects.toThrow(StoreUnavailable);
    keys.available = true;
    expect((await service.authenticate(text)).name).toBe('shop');
  });

  it('trusts a key from before it was asked for, however long the answer takes, if the store cannot tell', async () => {
    keys.tellsRevision = false;
    const { text } = await service.create('shop');
    const find = keys.find.bind(keys);
    keys.find = (digest) => {
      const found = find(digest);
      elapsed += 4_000;
      return found;
    };
    await service.authenticate(text);
    await serviceWith().revoke('shop');
    expect(await refusal(text)).toBe('revoked');
  });

  it('trusts a key no longer because the clock is set back, if the store cannot tell', async () => {
    keys.tellsRevision = false;
    const { text } = await service.create('shop');
    await service.authenticate(text);
    await serviceWith().revoke('shop');
    now -= DAY;
    elapsed += 4_000;
    expect(await refusal(text)).toBe('revoked');
  });

  it('issues no key with the name of one that is valid, and one with that of any other', async () => {
    const { key } = await service.create('shop', new Date(START + DAY));
    await expect(service.create('shop')).rejects.toThrow(key.prefix);
    expect(await service.list()).toHaveLength(1);
    now += DAY;
    const { key: second } = await service.create('shop');
    expect(await service.revoke('shop')).toMatchObject({ digest: second.digest });
    await service.create('shop');
  });

  it('revokes by name or by prefix, and resolves to the key as it now is', async () => {
    const { text, key } = await service.create('shop');
    await service.create('till');
    now += 1_000;
    const revoked = { ...key, revokedAt: new Date(now) };
    expect(await service.revoke(text.slice(0, 9))).toEqual(revoked);
    expect(await service.list()).toContainEqual(revoked);
    expect((await service.revoke('till')).name).toBe('till');
  });

  it('revokes the one of its name that is not revoked yet', async () => {
    const first = await service.create('shop');
    await service.revoke('shop');
    const second = await service.create('shop');
    expect((await service.revoke('shop')).digest).toBe(second.key.digest);
    expect(await refusal(first.text)).toBe('revoked');
  });

  it('revokes nothing if the name is unknown, taken twice, or revoked already', async () => {
    await expect(service.revoke('shop')).rejects.toThrow(/No key has the name/);
    // Each has looked for the other before it was there.
    const [{ key }, { key: twin }] = await Promise.all([service.create('shop'), service.create('shop')]);
    const error: Error = await service.revoke('shop').then(
      () => new Error('It was revoked.'),
      (error: Error) => error,
    );
    expect(error).toBeInstanceOf(UsageError);
    expect(error.message).toContain(key.prefix);
    expect(error.message).toContain(twin.prefix);
    for (const { revokedAt } of await service.list()) expect(revokedAt).toBeNull();
    await service.revoke(key.prefix);
    await service.revoke(twin.prefix);
    await expect(service.revoke('shop')).rejects.toThrow(/revoked already/);
  });

  it('issues a key in the place of one, which goes on under another name until the overlap is over', async () => {
    const { text: before, key: was } = await service.create('shop');
    now += DAY;
    const { text, key, old } = await service.rotate('shop', 7 * DAY);
    expect(key).toMatchObject({ name: 'shop', createdAt: new Date(now), expiresAt: null, revokedAt: null });
    expect(old).toEqual({ ...was, name: 'shop.old', expiresAt: new Date(now + 7 * DAY) });
    expect(await service.list()).toEqual([old, key]);
    now += 7 * DAY - 1;
    expect(await service.authenticate(before)).toEqual(old);
    expect(await service.authenticate(text)).toEqual(key);
    now += 1;
    expect(await refusal(before)).toBe('expired');
    expect(await service.authenticate(text)).toEqual(key);
  });

  it('leaves an old key no longer than it had, and makes the new one for as long as that was made for, if nothing else is said', async () => {
    await service.create('shop', new Date(START + 90 * DAY));
    await service.create('till', new Date(START + 90 * DAY));
    now += 89 * DAY;
    const shop = await service.rotate('shop', 7 * DAY);
    expect(shop.old.expiresAt).toEqual(new Date(START + 90 * DAY));
    expect(shop.key.expiresAt).toEqual(new Date(START + 179 * DAY));
    const till = await service.rotate('till', 7 * DAY, new Date(now + DAY));
    expect(till.key.expiresAt).toEqual(new Date(now + DAY));
  });

  it('revokes the new key by its name, and the old one by the name that it now has, or each by its prefix', async () => {
    const { text: before } = await service.create('shop');
    const { text: shop } = await service.rotate('shop', DAY);
    await service.revoke('shop.old');
    expect(await refusal(before)).toBe('revoked');
    const { text: last } = await service.rotate(shop.slice(0, 9), DAY);
    await service.revoke('shop');
    expect(await refusal(last)).toBe('revoked');
    expect((await service.authenticate(shop)).name).toBe('shop.old');
  });

  it('rotates a key again once the one before the last is not valid any more', async () => {
    await service.create('shop');
    const { old } = await service.rotate('shop', DAY);
    const error = await service.rotate('shop', DAY).catch((error: Error) => error);
    expect(error).toBeInstanceOf(UsageError);
    for (const part of ['"shop.old"', old.prefix, '2026-11-21T12:00:00.000Z']) {
      expect((error as Error).message).toContain(part);
    }
    expect(await service.list()).toHaveLength(2);
    now += DAY;
    await service.rotate('shop', DAY);
    expect((await service.list()).map(({ name }) => name).sort()).toEqual(['shop', 'shop.old', 'shop.old']);
  });

  it('rotates a key whose name leaves no room for more', async () => {
    await service.create('x'.repeat(64));
    const { old } = await service.rotate('x'.repeat(64), DAY);
    expect(old.name).toBe(`${'x'.repeat(60)}.old`);
  });

  it('rotates nothing if the key is unknown, revoked, expired or changed meanwhile, or the new one could not be valid', async () => {
    await expect(service.rotate('shop', DAY)).rejects.toThrow(/No key has the name/);
    await service.create('shop', new Date(START + DAY));
    await expect(service.rotate('shop', DAY, new Date(START))).rejects.toThrow(UsageError);
    const twice = await Promise.allSettled([service.rotate('shop', DAY), service.rotate('shop', DAY)]);
    expect(twice.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect((twice[1] as PromiseRejectedResult).reason).toEqual(
      new UsageError('The key "shop" was changed meanwhile; "petstore keys list" shows what it is now.'),
    );
    now += DAY;
    await expect(service.rotate('shop', DAY)).rejects.toThrow(/has ended/);
    await service.revoke('shop');
    await expect(service.rotate('shop', DAY)).rejects.toThrow(/revoked already/);
    expect(await service.list()).toHaveLength(2);
  });

  it('issues no key beyond the year 9999', async () => {
    const end = Date.UTC(9999, 11, 31);
    await service.create('shop', new Date(end));
    await expect(service.create('till', new Date(Date.UTC(10_000, 0)))).rejects.toThrow(/before the year 10000/);
    now += DAY;
    await expect(service.rotate('shop', DAY)).rejects.toThrow(/before the year 10000/);
    expect((await service.rotate('shop', DAY, new Date(end))).key.expiresAt).toEqual(new Date(end));
  });

  it('tells the uses of each key by the name that it now has', async () => {
    const configured = serviceWith('a-configured-key');
    configured.noteUse(await configured.authenticate('a-configured-key'));
    const { key } = await configured.create('shop');
    configured.noteUse(key);
    await configured.recordUses();
    const { key: successor } = await configured.rotate('shop', DAY);
    configured.noteGetPet(key);
    configured.noteGetPet(successor);
    await configured.recordUses();
    const uses = (await configured.uses()).map(({ digest, name, getPetCalls }) => [name, digest, getPetCalls]);
    expect(uses.sort()).toEqual([
      ['configured-1', expect.any(String), 0],
      ['shop', successor.digest, 1],
      ['shop.old', key.digest, 1],
    ]);
  });

  it('records when a key was last used, and how often for getPet', async () => {
    const { text, key } = await service.create('shop');
    await service.authenticate(text);
    service.noteUse(key);
    service.noteGetPet(key);
    now += 1_000;
    service.noteUse(key);
    expect(await service.uses()).toEqual([]);
    await service.recordUses();
    const use = { digest: key.digest, name: 'shop', getPetCalls: 1, lastGetPetAt: new Date(START) };
    expect(await service.uses()).toEqual([{ ...use, lastUsedAt: new Date(now) }]);
    await service.recordUses();
    expect(await service.uses()).toEqual([{ ...use, lastUsedAt: new Date(now) }]);
  });

  it('keeps what it could not record, and adds what came meanwhile', async () => {
    const { key } = await service.create('shop');
    const { key: other } = await service.create('till');
    service.noteUse(key);
    service.noteGetPet(key);
    service.noteUse(other);
    keys.available = false;
    const failing = service.recordUses();
    now += 1_000;
    service.noteUse(key);
    service.noteGetPet(key);
    await expect(failing).rejects.toThrow(StoreUnavailable);
    await expect(service.recordUses()).rejects.toThrow(StoreUnavailable);
    keys.available = true;
    await service.recordUses();
    const [shop, till] = (await service.uses()).sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(shop).toMatchObject({ getPetCalls: 2, lastUsedAt: new Date(now), lastGetPetAt: new Date(now) });
    expect(till).toMatchObject({ getPetCalls: 0, lastUsedAt: new Date(START), lastGetPetAt: null });
  });

  it('keeps the time of an earlier call of getPet if only other calls came meanwhile', async () => {
    const { key } = await service.create('shop');
    service.noteGetPet(key);
    keys.available = false;
    const failing = service.recordUses();
    now += 1_000;
    service.noteUse(key);
    await expect(failing).rejects.toThrow(StoreUnavailable);
    keys.available = true;
    await service.recordUses();
    expect((await service.uses())[0]).toMatchObject({ getPetCalls: 1, lastGetPetAt: new Date(START) });
  });

  it('records the use of a configured key', async () => {
    const service = serviceWith('a-configured-key');
    service.noteUse(await service.authenticate('a-configured-key'));
    await service.recordUses();
    expect((await service.uses())[0]).toMatchObject({ name: 'configured-1', getPetCalls: 0 });
  });
});
