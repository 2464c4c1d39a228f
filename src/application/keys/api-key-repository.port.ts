import { ApiKey } from '../../domain/keys/api-key.js';

/** What a key has been used for. */
export interface KeyUse {
  readonly digest: string;
  readonly name: string;
  readonly lastUsedAt: Date;
  /** How many calls of getPet, which is deprecated. */
  readonly getPetCalls: number;
  /** When getPet was last called; null for never. */
  readonly lastGetPetAt: Date | null;
}

/**
 * Where the API keys are kept. Every method that returns a promise rejects with `StoreUnavailable` while the store cannot
 * answer. `test/stores/api-key-repository.contract.ts` has a case for each sentence, run on every adapter.
 */
export abstract class ApiKeyRepository {
  /** Stores a key; rejects if its digest is stored already, and leaves that key as it is. */
  abstract add(key: ApiKey): Promise<void>;

  /** The key with this digest, revoked and expired ones included, or undefined if there is none. */
  abstract find(digest: string): Promise<ApiKey | undefined>;

  /** All keys, revoked and expired ones included, oldest first. */
  abstract list(): Promise<ApiKey[]>;

  /** Notes that the key is revoked from this moment on. A key that already is, or that is not there, stays as it is. */
  abstract revoke(digest: string, at: Date): Promise<void>;

  /**
   * Stores the successor, and gives the key that it takes the place of another name and expiry: both at once, or neither. Resolves to false,
   * and changes nothing, if that key is not stored as `old` says any more; rejects, and changes nothing, if the successor's digest is stored.
   */
  abstract rotate(old: ApiKey, retired: Pick<ApiKey, 'name' | 'expiresAt'>, successor: ApiKey): Promise<boolean>;

  /** Adds the calls to those recorded before, key by key, and keeps the latest times. The key itself need not be stored. */
  abstract recordUses(uses: readonly KeyUse[]): Promise<void>;

  /** What each key that was ever used has been used for, in no order. */
  abstract uses(): Promise<KeyUse[]>;

  /**
   * A number that is another one after any change of the stored keys, whoever made it, so that what was read at the same number
   * still holds; undefined if only asking tells. It costs a microsecond or two.
   */
  abstract revision(): number | undefined;
}
