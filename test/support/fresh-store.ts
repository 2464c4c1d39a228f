import { afterEach, beforeEach } from '@jest/globals';
import { Store } from '../../src/open-store.js';
import { openStoreAt, StoreKind, TestStore } from './stores.js';

/** The store of the case that is running. */
export interface FreshStore {
  /** Its `DATABASE_URL`. */
  readonly url: string;
  /** Opens it. If it lasts, each opening is what another process would have: a connection of its own to the same data. */
  open(): Promise<Store>;
}

/** Gives every case of the suite around it an empty store of this kind, and afterwards closes and removes it. */
export function freshStore(kind: StoreKind): FreshStore {
  let store: TestStore;
  let opened: Store[];

  beforeEach(async () => {
    store = await kind.create();
    opened = [];
  });

  afterEach(async () => {
    for (const each of opened) await each.close();
    await store.remove();
  });

  return {
    get url() {
      return store.url;
    },
    async open() {
      const each = await openStoreAt(store.url);
      opened.push(each);
      return each;
    },
  };
}

/**
 * Resolves in a later turn of the event loop, which is when a process can first hear what another one has done. Two connections
 * of a test are in one process, where this stands for the message between them.
 */
export function laterTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
