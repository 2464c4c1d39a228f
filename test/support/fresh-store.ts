import { afterEach, beforeEach } from '@jest/globals';
import { Repositories } from '../../src/adapters/persistence/persistence.module.js';
import { openStoreAt, StoreKind, TestStore } from './stores.js';

/** The database of the case that is running. */
export interface FreshStore {
  /** Its `DATABASE_URL`. */
  readonly url: string;
  /** Opens it. Each call opens connections of its own, as another process would. */
  open(): Promise<Repositories>;
}

/** Gives every case of the surrounding suite a database of this kind; closes and removes it afterwards. */
export function freshStore(kind: StoreKind, empty?: 'empty'): FreshStore {
  let store: TestStore;
  let opened: Repositories[];

  beforeEach(async () => {
    store = await kind.create(empty);
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
 * Resolves in a later turn of the event loop. A store may check for changes of other processes once a turn; two
 * connections of a test live in one process, where a commit of the other one could fall into the same turn.
 */
export function laterTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
