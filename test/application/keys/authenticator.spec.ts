import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { MemoryApiKeyRepository } from '../../../src/adapters/persistence/memory/memory-api-key.repository.js';
import { KeyUse, MAX_USES } from '../../../src/application/keys/api-key-repository.port.js';
import { ApiKeyService } from '../../../src/application/keys/api-key.service.js';
import { Authenticator } from '../../../src/application/keys/authenticator.js';
import { DatabaseUnavailable, KeyRejected } from '../../../src/application/errors.js';
import { ApiKey } from '../../../src/domain/keys/api-key.js';
import { setWallClock } from '../../support/wall-clock.js';

const START = Date.parse('2026-11-20T12:00:00Z');
const DAY = 86_400_000;

/** The name of the key `a-configured-key`. */
const CONFIGURED = 'configured-7f2fadd6';

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
let authenticator: Authenticator;

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

beforeEach(() => {
  setWallClock(START);
  keys = new TestKeys();
  service = new ApiKeyService(keys);
  authenticator = new Authenticator(keys, () => []);
});

/** Why a key is rejected; fails if it is not. */
async function reasonOf(text: string, by = authenticator): Promise<string> {
  try {
    await by.authenticate(text);
  } catch (error) {
    expect(error).toBeInstanceOf(KeyRejected);
    return (error as KeyRejected).reason;
  }
  throw new Error('The key was accepted.');
}

describe('authenticating', () => {
  it('rejects what was never issued, and asks the database only if the form is right', async () => {
    const { text } = await service.create('shop');
    const damaged = text.slice(0, -1) + (text.endsWith('a') ? 'b' : 'a');
    for (const wrong of [damaged, text.slice(0, -1), `${text}a`, 'secret', 'x'.repeat(255)]) {
      expect(await reasonOf(wrong)).toBe('invalid');
    }
    expect(keys.finds).toBe(0);
    const { text: foreign } = await new ApiKeyService(new TestKeys()).create('other');
    expect(await reasonOf(foreign)).toBe('invalid');
  });

  it('accepts configured keys of any form, named by their digests', async () => {
    const configured = new Authenticator(keys, () => ['a-configured-key', 'another+configured/key==']);
    expect((await configured.authenticate('a-configured-key')).name).toBe(CONFIGURED);
    expect((await configured.authenticate('another+configured/key==')).name).toBe('configured-80e91480');
    expect(await reasonOf('a-configured-kez', configured)).toBe('invalid');
  });

  it('accepts the keys that are configured at the last reload, and no others, unless that fails', async () => {
    let read = () => ['a-configured-key', 'another-configured-key'];
    const configured = new Authenticator(keys, () => read());
    await configured.authenticate('another-configured-key');
    read = () => ['a-new-configured-key', 'a-configured-key'];
    configured.reloadConfigured();
    expect(await reasonOf('another-configured-key', configured)).toBe('invalid');
    read = () => {
      throw new Error('invalid');
    };
    expect(() => configured.reloadConfigured()).toThrow('invalid');
    for (const key of ['a-new-configured-key', 'a-configured-key']) await configured.authenticate(key);
    expect((await configured.authenticate('a-configured-key')).name).toBe(CONFIGURED);
  });

  it('rejects a key from the moment of its expiry on, also one that is cached', async () => {
    const { text } = await service.create('shop', DAY);
    setWallClock(START + DAY - 1);
    expect((await authenticator.authenticate(text)).name).toBe('shop');
    setWallClock(START + DAY);
    expect(await reasonOf(text)).toBe('expired');
    expect(await reasonOf(text, new Authenticator(keys, () => []))).toBe('expired');
  });

  it('rejects a key at once that another process on the same file has revoked, and caches all others', async () => {
    const { text } = await service.create('shop');
    const { text: other } = await service.create('till');
    for (let i = 0; i < 5; i++) await authenticator.authenticate(text);
    expect(keys.finds).toBe(1);
    await service.revoke('shop');
    expect(await reasonOf(text)).toBe('revoked');
    expect((await authenticator.authenticate(other)).name).toBe('till');
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
    await authenticator.authenticate(text);
    await authenticator.authenticate(text);
    expect(keys.finds).toBe(1);
    await service.revoke('shop');
    jest.setSystemTime(START - DAY);
    pass(4_000);
    expect(await reasonOf(text)).toBe('revoked');
  });

  it('calls no key invalid while the database is unavailable', async () => {
    const { text } = await service.create('shop');
    keys.available = false;
    await expect(Promise.resolve().then(() => authenticator.authenticate(text))).rejects.toThrow(DatabaseUnavailable);
    keys.available = true;
    expect((await authenticator.authenticate(text)).name).toBe('shop');
  });
});

describe('the uses of a key', () => {
  it('are when it was last used, and how often for the deprecated operation, by the name that it has now', async () => {
    const configured = new Authenticator(keys, () => ['a-configured-key']);
    configured.noteUse(await configured.authenticate('a-configured-key'));
    const { key } = await service.create('shop');
    configured.noteUse(key);
    configured.noteUse(key, true);
    setWallClock(Date.now() + 1_000);
    configured.noteUse(key);
    expect(await keys.uses()).toEqual([]);
    await configured.recordUses();
    await configured.recordUses();
    await service.rotate('shop', DAY);
    expect(await keys.uses()).toMatchObject([{ name: CONFIGURED, deprecatedCalls: 0 }, { deprecatedCalls: 1 }]);
    expect(await service.callers()).toMatchObject([
      { name: 'shop.old', deprecatedCalls: 1, lastDeprecatedCallAt: new Date(START), lastUsedAt: new Date(Date.now()) },
    ]);
  });

  it('are stored again without calls of getPet if the outcome is unknown, since none may count twice', async () => {
    const { key } = await service.create('shop');
    authenticator.noteUse(key, true);
    keys.available = false;
    await expect(authenticator.recordUses()).rejects.toThrow(DatabaseUnavailable);
    keys.available = true;
    await authenticator.recordUses();
    expect(await keys.uses()).toMatchObject([{ digest: key.digest, deprecatedCalls: 0, lastUsedAt: expect.any(Date) }]);
  });

  /** Notes a call of getPet for each of so many keys. */
  const noteMany = (count: number) => {
    for (let i = 0; i < count; i++)
      authenticator.noteUse({ digest: String(i).padStart(64, '0'), name: `key-${i}` } as ApiKey, true);
  };

  it('are stored some at a time, and only those that failed are stored again, without their calls', async () => {
    noteMany(3 * MAX_USES + 1);
    const record = jest.spyOn(keys, 'recordUses').mockImplementationOnce(() => Promise.reject(new Error('Locked.')));
    await expect(authenticator.recordUses()).rejects.toThrow('Locked.');
    expect(record.mock.calls.map(([uses]) => uses.length)).toEqual([MAX_USES, MAX_USES, MAX_USES, 1]);
    expect(await keys.uses()).toHaveLength(2 * MAX_USES + 1);
    await authenticator.recordUses();
    const calls = (await keys.uses()).map(({ deprecatedCalls }) => deprecatedCalls);
    expect(calls.filter((count) => count === 1)).toHaveLength(2 * MAX_USES + 1);
    expect(calls.filter((count) => count === 0)).toHaveLength(MAX_USES);
  });

  it('behind those for which the database is unavailable keep their calls', async () => {
    noteMany(2 * MAX_USES);
    const record = jest.spyOn(keys, 'recordUses');
    keys.available = false;
    await expect(authenticator.recordUses()).rejects.toThrow(DatabaseUnavailable);
    expect(record).toHaveBeenCalledTimes(1);
    keys.available = true;
    await authenticator.recordUses();
    const calls = (await keys.uses()).map(({ deprecatedCalls }) => deprecatedCalls);
    expect(calls.filter((count) => count === 1)).toHaveLength(MAX_USES);
  });

  it('are stored in the end, and no call twice, whatever fails and whichever stores run at once', async () => {
    const outcome = fc.constantFrom('stored', 'failed', 'unavailable', 'stored, but the answer is lost');
    const step = fc.oneof(fc.nat(3), fc.constant('store' as const), outcome);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (script) => {
        const store = new MemoryApiKeyRepository();
        const record = store.recordUses.bind(store);
        let next = 'stored';
        store.recordUses = async (uses) => {
          const now = next;
          await Promise.resolve();
          if (now.startsWith('stored')) await record(uses);
          if (now !== 'stored') throw now === 'failed' ? new Error(now) : new DatabaseUnavailable(now);
        };
        const noting = new Authenticator(store, () => []);
        const storing: Promise<unknown>[] = [];
        const calls = new Map<string, number>();
        for (const each of script) {
          if (each === 'store') storing.push(noting.recordUses().catch(() => undefined));
          else if (typeof each === 'string') next = each;
          else {
            const digest = String(each);
            calls.set(digest, (calls.get(digest) ?? 0) + 1);
            noting.noteUse({ digest, name: `key-${each}` } as ApiKey, true);
          }
        }
        await Promise.all(storing);
        next = 'stored';
        await noting.recordUses();
        const stored = await store.uses();
        expect(stored.map(({ digest }) => digest).sort()).toEqual([...calls.keys()].sort());
        for (const { digest, deprecatedCalls } of stored)
          expect(deprecatedCalls).toBeLessThanOrEqual(calls.get(digest)!);
      }),
      { numRuns: 500 },
    );
  });
});
