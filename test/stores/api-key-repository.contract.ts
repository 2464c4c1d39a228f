import { beforeEach, describe, expect, it } from '@jest/globals';
import { UsageError } from '../../src/messages/usage-error.js';
import { ApiKeyRepository, KeyUse, MAX_USES } from '../../src/application/keys/api-key-repository.port.js';
import { ApiKey } from '../../src/domain/keys/api-key.js';
import { freshStore, laterTurn } from '../support/fresh-store.js';
import { StoreKind } from '../support/stores.js';

export const CREATED = new Date('2026-11-20T12:00:00.123Z');
export const LATER = new Date('2026-11-20T12:00:01.000Z');

/** A digest that consists of one hexadecimal digit. */
export function digest(digit: string | number): string {
  return String(digit).repeat(64);
}

export function newKey(fields: Partial<ApiKey> = {}): ApiKey {
  const key = { digest: digest(1), name: 'shop', prefix: 'pets_abcd', createdAt: CREATED, ...fields };
  return { owner: key.digest, expiresAt: null, revokedAt: null, ...key };
}

export function use(fields: Partial<KeyUse> = {}): KeyUse {
  return {
    digest: digest(1),
    name: 'shop',
    lastUsedAt: CREATED,
    deprecatedCalls: 0,
    lastDeprecatedCallAt: null,
    ...fields,
  };
}

/** What has been recorded, by digest. */
export async function usesOf(keys: ApiKeyRepository): Promise<KeyUse[]> {
  return (await keys.uses()).sort((a, b) => (a.digest < b.digest ? -1 : 1));
}

/** What every repository of API keys does, wherever it keeps them. */
export function describeApiKeyRepository(kind: StoreKind): void {
  describe(`API keys in ${kind.name}`, () => {
    const store = freshStore(kind);
    const other = newKey({ digest: digest(2), name: 'till', createdAt: LATER });
    const retired = { name: 'shop.old', expiresAt: LATER };
    let keys: ApiKeyRepository;

    beforeEach(async () => {
      ({ keys } = await store.open());
    });

    it.each<[string, Partial<ApiKey>]>([
      ['valid', {}],
      ['with the longest name', { name: 'x'.repeat(64), prefix: 'pets_Zz09', expiresAt: LATER }],
      ['expired', { expiresAt: new Date(0) }],
      ['revoked', { revokedAt: LATER }],
      ['that replaced another one', { owner: digest(9) }],
    ])('are found as stored: %s', async (_which, fields) => {
      const key = newKey(fields);
      await keys.add(key);
      expect(await keys.find(key.digest)).toEqual(key);
      expect(await keys.list()).toEqual([key]);
    });

    it('are not found under any other digest', async () => {
      expect(await keys.list()).toEqual([]);
      await keys.add(newKey({ digest: digest('a') }));
      for (const absent of [digest('b'), digest('A'), 'a'.repeat(63), '', `${digest('a')} `])
        expect(await keys.find(absent)).toBeUndefined();
    });

    it('are rejected if the digest is stored already', async () => {
      const revoked = newKey({ revokedAt: LATER });
      await keys.add(revoked);
      await expect(keys.add(newKey({ name: 'other' }))).rejects.toThrow();
      expect(await keys.list()).toEqual([revoked]);
    });

    it('are stored once that is confirmed; else nothing changes, and the next try succeeds', async () => {
      await keys.add(other);
      const unseen = () => Promise.reject(new Error('Nobody has seen it.'));
      await expect(keys.add(newKey(), unseen)).rejects.toThrow('Nobody has seen it.');
      await expect(keys.rotate(other, retired, newKey(), unseen)).rejects.toThrow('Nobody has seen it.');
      expect(await keys.list()).toEqual([other]);
      let confirmed = 0;
      const confirm = () => Promise.resolve(void confirmed++);
      expect(await keys.rotate(other, retired, newKey({ name: 'till' }), confirm)).toBe(true);
      await keys.add(newKey({ digest: digest(3), name: 'web' }), confirm);
      expect(confirmed).toBe(2);
      expect(await keys.list()).toHaveLength(3);
    });

    it('have unique names while they are neither revoked nor expired', async () => {
      await keys.add(newKey({ expiresAt: LATER }));
      await expect(keys.add(newKey({ digest: digest(2) }))).rejects.toThrow(UsageError);
      await expect(keys.add(newKey({ digest: digest(2) }))).rejects.toThrow('"shop" already exists');
      expect(await keys.list()).toHaveLength(1);
      await keys.add(newKey({ digest: digest(3), createdAt: LATER }));
      await keys.revoke(digest(3), LATER);
      await keys.add(newKey({ digest: digest(4), createdAt: LATER }));
      await keys.add(newKey({ digest: digest(5), name: 'shop.old', createdAt: LATER }));
      const successor = newKey({ digest: digest(6), createdAt: LATER });
      await expect(keys.rotate(newKey({ digest: digest(4), createdAt: LATER }), retired, successor)).rejects.toThrow(
        '"shop.old" already exists',
      );
      expect(await keys.find(digest(4))).toEqual(newKey({ digest: digest(4), createdAt: LATER }));
    });

    it('are listed oldest first, whatever their state', async () => {
      const at = (milliseconds: number) => new Date(CREATED.getTime() + milliseconds);
      const third = newKey({ digest: digest(1), createdAt: at(2) });
      const first = newKey({ digest: digest(3), createdAt: at(0), expiresAt: new Date(0) });
      const second = newKey({ digest: digest(2), createdAt: at(1) });
      await keys.add(third);
      await keys.revoke(third.digest, at(5));
      for (const key of [first, second]) await keys.add(key);
      expect(await keys.list()).toEqual([first, second, { ...third, revokedAt: at(5) }]);
    });

    it('are revoked once, alone, and only if they exist', async () => {
      for (const key of [newKey(), other]) await keys.add(key);
      for (const at of [CREATED, LATER]) await keys.revoke(digest(1), at);
      await keys.revoke(digest(9), CREATED);
      expect(await keys.list()).toEqual([newKey({ revokedAt: CREATED }), other]);
    });

    it('are rotated: the old key is renamed and expires, the successor is stored', async () => {
      for (const key of [newKey(), other]) await keys.add(key);
      const successor = newKey({ digest: digest(4), createdAt: new Date(LATER.getTime() + 1) });
      expect(await keys.rotate(newKey(), retired, successor)).toBe(true);
      expect(await keys.list()).toEqual([newKey(retired), other, successor]);
    });

    it('are not rotated if they have changed since they were read', async () => {
      const stored = newKey({ expiresAt: LATER });
      await keys.add(stored);
      const changes = [{ name: 'till' }, { expiresAt: null }, { expiresAt: CREATED }, { revokedAt: CREATED }];
      for (const change of [...changes, { digest: digest(2) }]) {
        const successor = newKey({ digest: digest(3) });
        expect(await keys.rotate({ ...stored, ...change }, retired, successor)).toBe(false);
      }
      expect(await keys.list()).toEqual([stored]);
    });

    it('are not rotated if the digest of the successor is stored already', async () => {
      for (const key of [newKey(), other]) await keys.add(key);
      await expect(keys.rotate(newKey(), retired, newKey({ digest: digest(2) }))).rejects.toThrow();
      expect(await keys.list()).toEqual([newKey(), other]);
    });

    it('have uses, added up by digest, with the latest times in whichever order they are recorded', async () => {
      expect(await keys.uses()).toEqual([]);
      await keys.recordUses([use({ lastUsedAt: LATER, deprecatedCalls: 1, lastDeprecatedCallAt: LATER })]);
      await keys.recordUses([
        use({ deprecatedCalls: 2, lastDeprecatedCallAt: CREATED }),
        use({ digest: digest(2), name: 'till' }),
        use({ digest: digest(3), name: 'web', deprecatedCalls: 5, lastDeprecatedCallAt: CREATED }),
      ]);
      await keys.recordUses([
        use(),
        use({ digest: digest(2), name: 'till', deprecatedCalls: 1, lastDeprecatedCallAt: CREATED }),
      ]);
      expect(await usesOf(keys)).toEqual([
        use({ lastUsedAt: LATER, deprecatedCalls: 3, lastDeprecatedCallAt: LATER }),
        use({ digest: digest(2), name: 'till', deprecatedCalls: 1, lastDeprecatedCallAt: CREATED }),
        use({ digest: digest(3), name: 'web', deprecatedCalls: 5, lastDeprecatedCallAt: CREATED }),
      ]);
      // A configured key is not stored.
      expect(await keys.list()).toEqual([]);
    });

    it('have uses that are recorded as many at a time as may be', async () => {
      const uses = Array.from({ length: MAX_USES }, (_, i) =>
        use({ digest: String(i).padStart(64, '0'), deprecatedCalls: 1 }),
      );
      for (let i = 0; i < 2; i++) await keys.recordUses(uses);
      expect(await usesOf(keys)).toEqual(uses.map((each) => ({ ...each, deprecatedCalls: 2 })));
    });

    it('are found 300 at a time', async () => {
      await keys.add(newKey());
      const found = await Promise.all(Array.from({ length: 300 }, (_, i) => keys.find(digest(i === 299 ? 1 : 10 + i))));
      expect(found.filter(Boolean)).toEqual([newKey()]);
    });

    it('have uses beyond 32 bits', async () => {
      for (let i = 0; i < 2; i++)
        await keys.recordUses([use({ deprecatedCalls: 2 ** 31, lastDeprecatedCallAt: CREATED })]);
      expect(await keys.uses()).toMatchObject([{ deprecatedCalls: 2 ** 32 }]);
    });

    it('have another version after each change, and no other one without a change, if there is one', async () => {
      const versions = [keys.version()];
      const changes = [
        () => keys.add(newKey()),
        () => keys.add(other),
        () => keys.revoke(digest(1), CREATED),
        () => keys.rotate(other, retired, newKey({ digest: digest(3) })),
      ];
      for (const change of changes) {
        await change();
        // As a request that arrives after it.
        await laterTurn();
        versions.push(keys.version());
        await keys.list();
        expect(keys.version()).toBe(versions.at(-1));
      }
      const known = versions.filter((version) => version !== undefined);
      expect(new Set(known).size).toBe(known.length === 0 ? 0 : versions.length);
    });
  });
}
