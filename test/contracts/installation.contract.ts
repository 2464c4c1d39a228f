import { describe, expect, it } from '@jest/globals';
import { StoreUnavailable } from '../../src/application/errors.js';
import { freshStore } from '../support/fresh-store.js';
import { StoreKind } from '../support/stores.js';

/** What every installation has, whatever keeps it. */
export function describeInstallation(kind: StoreKind): void {
  describe(`the installation in ${kind.name}`, () => {
    const store = freshStore(kind);
    const another = freshStore(kind);

    it('has a secret of at least 128 bits that stays the same', async () => {
      const { installation } = await store.open();
      const secret = await installation.cursorSecret();
      expect(secret).toMatch(/^[A-Za-z0-9_-]{22,}$/);
      expect(await installation.cursorSecret()).toBe(secret);
    });

    it('has a secret of its own', async () => {
      const { installation } = await store.open();
      const { installation: other } = await another.open();
      expect(await installation.cursorSecret()).not.toBe(await other.cursorSecret());
    });
  });
}

/** What every installation has besides that is there for more than one process, and longer than any of them. */
export function describeLastingInstallation(kind: StoreKind): void {
  describe(`the installation in ${kind.name}, which lasts`, () => {
    const store = freshStore(kind);

    it('has the same secret for every instance and after every start', async () => {
      const first = await store.open();
      const second = await store.open();
      const secret = await first.installation.cursorSecret();
      expect(await second.installation.cursorSecret()).toBe(secret);
      await first.close();
      await second.close();
      expect(await (await store.open()).installation.cursorSecret()).toBe(secret);
    });

    it('rejects with StoreUnavailable while it cannot answer', async () => {
      const closed = await store.open();
      await closed.close();
      const { installation } = closed;
      await expect(installation.cursorSecret()).rejects.toThrow(StoreUnavailable);
    });
  });
}
