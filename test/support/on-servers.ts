import { describe, it } from '@jest/globals';
import { serverKinds, StoreKind } from './stores.js';

/** @deprecated Write `describe.each([postgres, mariadb])` into a file of the integration tier. */
export function describeOnServers(title: string, suite: (kind: StoreKind) => void, only?: string): void {
  const kinds = serverKinds.filter(({ name }) => only === undefined || name === only);
  if (kinds.length > 0) describe.each(kinds)(title, suite);
  else it.skip(title.replace('$name', only ?? 'database server'), () => undefined);
}

/** @deprecated */
export const itIfHas = (..._: unknown[]): typeof it => it;
