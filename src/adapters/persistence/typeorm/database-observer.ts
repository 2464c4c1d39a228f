import type { PoolState, ServerState } from './engines/engine.js';

/** A request that the database is asked for, as an observer knows it. */
export type Caller = object;

/** What is asked for requests. */
export interface Asker {
  /** Those requests; undefined if no observer knows them. */
  readonly callers?: readonly Caller[] | undefined;
}

/** Sees what the database is asked to do: runs what it is handed, once, and resolves or rejects as that does. */
export interface DatabaseObserver {
  /** The request for which this is called; absent or undefined if it does not know any. */
  callers?(): readonly Caller[] | undefined;
  /** A question. The summary has what it does and the table, such as `SELECT pet`; without `askers` it is for who calls. */
  query<T>(summary: string, ask: () => Promise<T>, askers?: readonly Asker[]): Promise<T>;
  /** A commit of one pet for each of these. The questions that it takes are part of it. */
  commit<T>(askers: readonly Asker[], commit: () => Promise<T>): Promise<T>;
  /** A question has waited so many milliseconds for a connection of this pool, if in vain too. */
  wait?(pool: PoolState['pool'], duration: number): void;
  /** The pools and the server are as these tell, whenever they are asked; `server` rejects if it is not told within a second. */
  watch?(pools: () => PoolState[], server: () => Promise<ServerState>): void;
}

/** Several observers as one, the first of them outermost; undefined if there is none. */
export function together([first, ...others]: readonly DatabaseObserver[]): DatabaseObserver | undefined {
  const rest = first && together(others);
  if (!rest) return first;
  return {
    callers: () => first.callers?.() ?? rest.callers?.(),
    query: (summary, ask, askers) => first.query(summary, () => rest.query(summary, ask, askers), askers),
    commit: (askers, commit) => first.commit(askers, () => rest.commit(askers, commit)),
    wait: (pool, duration) => {
      first.wait?.(pool, duration);
      rest.wait?.(pool, duration);
    },
    watch: (pools, server) => {
      first.watch?.(pools, server);
      rest.watch?.(pools, server);
    },
  };
}
