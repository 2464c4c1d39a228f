import { beforeEach, describe, expect, it } from '@jest/globals';
import { ApiKeyRepository, KeyUse } from '../../src/application/keys/api-key-repository.port.js';
import { StoreUnavailable } from '../../src/application/errors.js';
import { ApiKey } from '../../src/domain/keys/api-key.js';
import { freshStore, laterTurn } from '../support/fresh-store.js';
import { StoreKind } from '../support/stores.js';

const NOW = new Date('2026-11-20T12:00:00.123Z');
const LATER = new Date('2026-11-20T12:00:01.000Z');

/** A digest that is made of one hexadecimal digit. */
function digest(digit: string): string {
  return digit.repeat(64);
}

function newKey(fields: Partial<ApiKey> = {}): ApiKey {
  const fixed = { digest: digest('1'), name: 'shop', prefix: 'pets_abcd', createdAt: NOW };
  return { ...fixed, expiresAt: null, revokedAt: null, ...fields };
}

function use(fields: Partial<KeyUse> = {}): KeyUse {
  return { digest: digest('1'), name: 'shop', lastUsedAt: NOW, getPetCalls: 0, lastGetPetAt: null, ...fields };
}

/** What every store of API keys does, whatever it is made of. */
export function describeApiKeyRepository(kind: StoreKind): void {
  describe(`the API keys in ${kind.name}`, () => {
    const store = freshStore(kind);
    let keys: ApiKeyRepository;

    beforeEach(async () => {
      ({ keys } = await store.open());
    });

    it('finds a key as it was stored', async () => {
      const key = newKey({ name: 'x'.repeat(64), prefix: 'pets_Zz09', expiresAt: LATER });
      await keys.add(key);
      expect(await keys.find(key.digest)).toEqual(key);
      expect(await keys.list()).toEqual([key]);
    });

    it('finds a key that was stored as revoked or that has expired', async () => {
      const revoked = newKey({ revokedAt: LATER });
      const expired = newKey({ digest: digest('2'), expiresAt: new Date(0) });
      await keys.add(revoked);
      await keys.add(expired);
      expect(await keys.find(revoked.digest)).toEqual(revoked);
      expect(await keys.find(expired.digest)).toEqual(expired);
    });

    it('leaves what it was given as it was, and what is made of it later alone', async () => {
      const mine = { ...newKey() };
      await keys.add(mine);
      expect(mine).toEqual(newKey());
      mine.name = 'other';
      Object.assign((await keys.find(mine.digest)) as ApiKey, { name: 'other' });
      Object.assign((await keys.list())[0] as ApiKey, { name: 'other' });
      expect(await keys.find(mine.digest)).toEqual(newKey());
    });

    it('refuses a digest that is stored already, and leaves the key as it is', async () => {
      const revoked = newKey({ revokedAt: LATER });
      await keys.add(revoked);
      await expect(keys.add(newKey({ name: 'other' }))).rejects.toThrow();
      expect(await keys.list()).toEqual([revoked]);
    });

    it('finds nothing under a digest that no key has', async () => {
      await keys.add(newKey({ digest: digest('a') }));
      for (const absent of [digest('b'), digest('A'), 'a'.repeat(63), '', `${digest('a')} `]) {
        expect(await keys.find(absent)).toBeUndefined();
      }
    });

    it('lists all keys, oldest first, whatever their state and their order of storing', async () => {
      const at = (milliseconds: number) => new Date(NOW.getTime() + milliseconds);
      const third = newKey({ digest: digest('1'), createdAt: at(2), revokedAt: at(5) });
      const first = newKey({ digest: digest('3'), createdAt: at(0), expiresAt: new Date(0) });
      const second = newKey({ digest: digest('2'), createdAt: at(1) });
      for (const key of [third, first, second]) await keys.add(key);
      expect(await keys.list()).toEqual([first, second, third]);
    });

    it('lists nothing if nothing is', async () => {
      expect(await keys.list()).toEqual([]);
      expect(await keys.uses()).toEqual([]);
    });

    it('notes that a key is revoked, and no other', async () => {
      const other = newKey({ digest: digest('2') });
      await keys.add(newKey());
      await keys.add(other);
      await keys.revoke(digest('1'), LATER);
      expect(await keys.find(digest('1'))).toEqual(newKey({ revokedAt: LATER }));
      expect(await keys.find(digest('2'))).toEqual(other);
    });

    it('leaves a key that is revoked already as it is', async () => {
      await keys.add(newKey());
      await keys.revoke(digest('1'), NOW);
      await keys.revoke(digest('1'), LATER);
      expect((await keys.find(digest('1')))?.revokedAt).toEqual(NOW);
    });

    it('takes it that a key to revoke is not there', async () => {
      await keys.revoke(digest('1'), NOW);
      expect(await keys.list()).toEqual([]);
    });

    it('stores a successor, and gives the key that it takes the place of another name and expiry, and no other', async () => {
      const others = [newKey({ digest: digest('2') }), newKey({ digest: digest('3'), name: 'till' })];
      for (const key of [newKey(), ...others]) await keys.add(key);
      const successor = newKey({ digest: digest('4'), createdAt: LATER, expiresAt: new Date(LATER.getTime() + 1) });
      expect(await keys.rotate(newKey(), { name: 'shop.old', expiresAt: LATER }, successor)).toBe(true);
      expect(await keys.find(digest('1'))).toEqual(newKey({ name: 'shop.old', expiresAt: LATER }));
      expect(await keys.find(digest('4'))).toEqual(successor);
      for (const key of others) expect(await keys.find(key.digest)).toEqual(key);
    });

    it('rotates nothing if the key is not stored as it is said to be', async () => {
      const stored = newKey({ expiresAt: LATER });
      await keys.add(stored);
      const others = [{ name: 'till' }, { expiresAt: null }, { expiresAt: NOW }, { revokedAt: NOW }];
      for (const other of [...others, { digest: digest('2') }]) {
        const retired = { name: 'shop.old', expiresAt: NOW };
        expect(await keys.rotate({ ...stored, ...other }, retired, newKey({ digest: digest('3') }))).toBe(false);
      }
      expect(await keys.list()).toEqual([stored]);
    });

    it('rotates nothing if the digest of the successor is stored already', async () => {
      const other = newKey({ digest: digest('2'), name: 'till', createdAt: LATER });
      for (const key of [newKey(), other]) await keys.add(key);
      const successor = newKey({ digest: digest('2') });
      await expect(keys.rotate(newKey(), { name: 'shop.old', expiresAt: LATER }, successor)).rejects.toThrow();
      expect(await keys.list()).toEqual([newKey(), other]);
    });

    it('keeps the use of a key that is rotated apart from that of its successor', async () => {
      await keys.add(newKey());
      await keys.recordUses([use({ getPetCalls: 2, lastGetPetAt: NOW })]);
      const successor = newKey({ digest: digest('2') });
      await keys.rotate(newKey(), { name: 'shop.old', expiresAt: LATER }, successor);
      await keys.recordUses([
        use({ name: 'shop.old', getPetCalls: 1, lastGetPetAt: LATER }),
        use({ digest: digest('2'), getPetCalls: 5, lastGetPetAt: LATER }),
      ]);
      const calls = (await keys.uses()).map((each) => [each.digest, each.getPetCalls]);
      expect(new Map(calls as [string, number][])).toEqual(
        new Map([
          [digest('1'), 3],
          [digest('2'), 5],
        ]),
      );
    });

    it('records the use of a key that need not be stored', async () => {
      const recorded = use({ getPetCalls: 3, lastGetPetAt: NOW });
      await keys.recordUses([recorded]);
      expect(await keys.uses()).toEqual([recorded]);
      expect(await keys.list()).toEqual([]);
    });

    it('adds the calls to those recorded before, key by key', async () => {
      await keys.recordUses([
        use({ getPetCalls: 2, lastGetPetAt: NOW }),
        use({ digest: digest('2'), name: 'till', getPetCalls: 5, lastGetPetAt: NOW }),
      ]);
      await keys.recordUses([
        use({ getPetCalls: 3, lastUsedAt: LATER, lastGetPetAt: LATER }),
        use({ digest: digest('3'), name: 'web' }),
      ]);
      const found = (await keys.uses()).sort((a, b) => (a.digest < b.digest ? -1 : 1));
      expect(found).toEqual([
        use({ getPetCalls: 5, lastUsedAt: LATER, lastGetPetAt: LATER }),
        use({ digest: digest('2'), name: 'till', getPetCalls: 5, lastGetPetAt: NOW }),
        use({ digest: digest('3'), name: 'web' }),
      ]);
    });

    it('keeps the latest times, in whichever order they come', async () => {
      await keys.recordUses([use({ lastUsedAt: LATER, getPetCalls: 1, lastGetPetAt: LATER })]);
      await keys.recordUses([use({ lastUsedAt: NOW, getPetCalls: 1, lastGetPetAt: NOW })]);
      await keys.recordUses([use({ lastUsedAt: NOW })]);
      expect(await keys.uses()).toEqual([use({ lastUsedAt: LATER, getPetCalls: 2, lastGetPetAt: LATER })]);
    });

    it('keeps when getPet was first called by a key that was used otherwise before', async () => {
      await keys.recordUses([use()]);
      await keys.recordUses([use({ getPetCalls: 1, lastGetPetAt: NOW })]);
      expect(await keys.uses()).toEqual([use({ getPetCalls: 1, lastGetPetAt: NOW })]);
    });

    it('counts beyond 32 bits', async () => {
      await keys.recordUses([use({ getPetCalls: 2 ** 31, lastGetPetAt: NOW })]);
      await keys.recordUses([use({ getPetCalls: 2 ** 31, lastGetPetAt: NOW })]);
      expect((await keys.uses())[0]?.getPetCalls).toBe(2 ** 32);
    });

    it('has another revision after each change, if it has one at all', async () => {
      const seen = [keys.revision()];
      await keys.add(newKey());
      seen.push(keys.revision());
      await keys.add(newKey({ digest: digest('2') }));
      seen.push(keys.revision());
      await keys.revoke(digest('1'), NOW);
      seen.push(keys.revision());
      const successor = newKey({ digest: digest('3') });
      await keys.rotate(newKey({ digest: digest('2') }), { name: 'shop.old', expiresAt: LATER }, successor);
      seen.push(keys.revision());
      const numbers = seen.filter((revision) => revision !== undefined);
      expect(numbers).toHaveLength(numbers.length === 0 ? 0 : 5);
      expect(new Set(numbers).size).toBe(numbers.length);
    });

    it('has the same revision while nothing changes', async () => {
      await keys.add(newKey());
      const before = keys.revision();
      await keys.find(digest('1'));
      await keys.list();
      expect(keys.revision()).toBe(before);
    });
  });
}

/** What every store of API keys does besides that is there for more than one process, and longer than any of them. */
export function describeLastingApiKeyRepository(kind: StoreKind): void {
  describe(`the API keys in ${kind.name}, which lasts`, () => {
    const store = freshStore(kind);

    it('keeps keys and their use when it is closed', async () => {
      const first = await store.open();
      await first.keys.add(newKey());
      await first.keys.recordUses([use({ getPetCalls: 1, lastGetPetAt: NOW })]);
      await first.close();
      const { keys } = await store.open();
      expect(await keys.list()).toEqual([newKey()]);
      expect(await keys.uses()).toEqual([use({ getPetCalls: 1, lastGetPetAt: NOW })]);
    });

    it('shows in the very next read what another connection has changed', async () => {
      const { keys: ours } = await store.open();
      const { keys: theirs } = await store.open();
      expect(await ours.find(digest('1'))).toBeUndefined();
      await theirs.add(newKey());
      expect(await ours.find(digest('1'))).toEqual(newKey());
      await theirs.revoke(digest('1'), LATER);
      expect(await ours.find(digest('1'))).toEqual(newKey({ revokedAt: LATER }));
    });

    it('has another revision after each change by another connection, if it has one at all', async () => {
      const { keys: ours } = await store.open();
      const { keys: theirs } = await store.open();
      const seen = [ours.revision()];
      await theirs.add(newKey());
      await laterTurn();
      seen.push(ours.revision());
      // A change of each side at once must not come out even.
      await ours.add(newKey({ digest: digest('2') }));
      await theirs.revoke(digest('1'), NOW);
      await laterTurn();
      seen.push(ours.revision());
      await theirs.revoke(digest('2'), NOW);
      await laterTurn();
      seen.push(ours.revision());
      const numbers = seen.filter((revision) => revision !== undefined);
      expect(numbers).toHaveLength(numbers.length === 0 ? 0 : 4);
      expect(new Set(numbers).size).toBe(numbers.length);
    });

    it('counts the calls that several connections record at once', async () => {
      const stores = [await store.open(), await store.open(), await store.open()];
      await Promise.all(
        stores.flatMap(({ keys }) =>
          Array.from({ length: 5 }, () => keys.recordUses([use({ getPetCalls: 1, lastGetPetAt: NOW })])),
        ),
      );
      expect(await stores[0]!.keys.uses()).toEqual([use({ getPetCalls: 15, lastGetPetAt: NOW })]);
    });

    it('lets one of the rotations that several connections try at once have it, and changes nothing for the others', async () => {
      const stores = [await store.open(), await store.open(), await store.open()];
      await stores[0]!.keys.add(newKey({ expiresAt: LATER }));
      const outcomes = await Promise.all(
        stores.map(({ keys }, i) => {
          const successor = newKey({ digest: digest(String(i + 2)), createdAt: LATER });
          return keys.rotate(newKey({ expiresAt: LATER }), { name: 'shop.old', expiresAt: LATER }, successor);
        }),
      );
      expect(outcomes.toSorted()).toEqual([false, false, true]);
      expect(await stores[0]!.keys.list()).toEqual([
        newKey({ name: 'shop.old', expiresAt: LATER }),
        newKey({ digest: digest(String(outcomes.indexOf(true) + 2)), createdAt: LATER }),
      ]);
    });

    it('records all uses or none, so that they count once if they are recorded again', async () => {
      const { keys } = await store.open();
      const uses = ['1', '2', '3'].map((digit) => use({ digest: digest(digit), getPetCalls: 1, lastGetPetAt: NOW }));
      const faulty = { ...uses[1]!, name: null as unknown as string };
      await expect(keys.recordUses([uses[0]!, faulty, uses[2]!])).rejects.toThrow();
      await keys.recordUses(uses);
      const found = (await keys.uses()).sort((a, b) => (a.digest < b.digest ? -1 : 1));
      expect(found).toEqual(uses);
    });

    it('rejects with StoreUnavailable while it cannot answer', async () => {
      const closed = await store.open();
      await closed.close();
      const { keys } = closed;
      await expect(keys.add(newKey())).rejects.toThrow(StoreUnavailable);
      await expect(keys.find(digest('1'))).rejects.toThrow(StoreUnavailable);
      await expect(keys.list()).rejects.toThrow(StoreUnavailable);
      await expect(keys.revoke(digest('1'), NOW)).rejects.toThrow(StoreUnavailable);
      const successor = newKey({ digest: digest('2') });
      await expect(keys.rotate(newKey(), { name: 'old', expiresAt: NOW }, successor)).rejects.toThrow(StoreUnavailable);
      await expect(keys.recordUses([use()])).rejects.toThrow(StoreUnavailable);
      await expect(keys.uses()).rejects.toThrow(StoreUnavailable);
    });
  });
}
