import { describe, it } from '@jest/globals';
import type { Need } from './own-server.js';
import { serverKinds, StoreKind } from './stores.js';

/**
 * A suite for each kind of database server, or for the one of this name; told as skipped if the machine has none, because Jest
 * takes a suite for nothing as a failure. `PETSTORE_REQUIRE_STORES` makes it one.
 */
export function describeOnServers(title: string, suite: (kind: StoreKind) => void, only?: string): void {
  const kinds = serverKinds.filter(({ name }) => only === undefined || name === only);
  if (kinds.length > 0) describe.each(kinds)(title, suite);
  else it.skip(title.replace('$name', only ?? 'database server'), () => undefined);
}

/** Jest's `it`, or one that skips if this kind lacks what the case needs; `npm run test:store` says at its beginning why it does. */
export function itIfHas(kind: StoreKind, need: Need): typeof it | typeof it.skip {
  return kind.lacks?.includes(need) ? it.skip : it;
}
