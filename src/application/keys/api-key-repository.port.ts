import { ApiKey } from '../../domain/keys/api-key.js';

/** The uses of a key. */
export interface KeyUse {
  readonly digest: string;
  readonly name: string;
  readonly lastUsedAt: Date;
  /** The number of calls of deprecated operations. */
  readonly deprecatedCalls: number;
  /** When a deprecated operation was last called; null for never. */
  readonly lastDeprecatedCallAt: Date | null;
}

/** How many uses are recorded at a time: SQLite has 32,766 parameters for a statement, and each takes five. */
export const MAX_USES = 500;

/** Adds a use to those of the same key: adds up the calls, and keeps the latest times. */
export function addUse(uses: Map<string, KeyUse>, use: KeyUse): void {
  const { deprecatedCalls, lastUsedAt, lastDeprecatedCallAt } = uses.get(use.digest) ?? { ...use, deprecatedCalls: 0 };
  uses.set(use.digest, {
    ...use,
    lastUsedAt: later(use.lastUsedAt, lastUsedAt),
    deprecatedCalls: use.deprecatedCalls + deprecatedCalls,
    lastDeprecatedCallAt: later(use.lastDeprecatedCallAt, lastDeprecatedCallAt),
  });
}

/** The later one; null is before every other time. */
function later<Time extends Date | null>(a: Time, b: Time): Time {
  return Number(a) > Number(b) ? a : b;
}

/**
 * The API keys. Every method that returns a promise rejects with `DatabaseUnavailable` while the database does not
 * answer. `test/stores/api-key-repository.contract.ts` has a case for each sentence and runs on every adapter.
 */
export abstract class ApiKeyRepository {
  /**
   * Stores a key that is not revoked. Rejects and changes nothing if its digest is already stored. Rejects with
   * `NameTaken` if another key with its name is neither revoked nor expired when this key is created. `confirm` is
   * called when all that is left is to commit, maybe several times; if it rejects, so does the call, and nothing is
   * stored.
   */
  abstract add(key: ApiKey, confirm?: () => Promise<void>): Promise<void>;

  /** The key with this digest, even if it is revoked or expired; undefined if none has it. */
  abstract find(digest: string, deadline?: number): Promise<ApiKey | undefined>;

  /** All keys, including revoked and expired ones, oldest first. */
  abstract list(): Promise<ApiKey[]>;

  /** Marks the key as revoked from this moment on. A key that is already revoked, or not stored, does not change. */
  abstract revoke(digest: string, at: Date): Promise<void>;

  /**
   * Stores the successor and gives the old key another name and expiry, in one transaction. Resolves to false and
   * changes nothing if the stored key differs from `old`. Rejects and changes nothing if the successor's digest is
   * already stored, with `NameTaken` if another valid key has the new name. `confirm` is as for `add`.
   */
  abstract rotate(
    old: ApiKey,
    retired: Pick<ApiKey, 'name' | 'expiresAt'>,
    successor: ApiKey,
    confirm?: () => Promise<void>,
  ): Promise<boolean>;

  /**
   * Adds the calls to those recorded for each of at most `MAX_USES` keys, and keeps the latest times. The key itself
   * need not be stored.
   */
  abstract recordUses(uses: readonly KeyUse[]): Promise<void>;

  /** The recorded uses of all keys, in no order. */
  abstract uses(): Promise<KeyUse[]>;

  /** See `PetRepository.version`. */
  abstract version(): number | undefined;
}
