import { ApiKey, RESERVED, digestOf, keyPrefix, keyState, keyText, retiredName } from '../../domain/keys/api-key.js';
import { ApiKeyRepository, KeyUse } from './api-key-repository.port.js';
import { KeyNotIdentified, NameTaken } from '../errors.js';
import { UsageError } from '../../messages/usage-error.js';

/** A new key, and its text, which is not stored. */
export interface IssuedKey {
  readonly text: string;
  readonly key: ApiKey;
}

/**
 * Shows a new key to whoever is to have it. Called before the key is stored for good: if it rejects, nothing is stored.
 */
type Show<Key extends IssuedKey> = (issued: Key) => Promise<void>;

/** A new key, and the one that it replaces, as it is from now on. */
export interface RotatedKey extends IssuedKey {
  readonly old: ApiKey;
}

/** What the operator may see of a stored key. */
export interface ListedKey extends Omit<ApiKey, 'digest' | 'owner'> {
  /** Null for never. */
  readonly lastUsedAt: Date | null;
  readonly state: ReturnType<typeof keyState>;
}

/** Issues, rotates, lists and revokes stored API keys. */
export class ApiKeyService {
  constructor(private readonly keys: ApiKeyRepository) {}

  /**
   * Issues a key, by default one that never expires; the lifetime is in milliseconds. Rejects with `UsageError` if the
   * name is invalid or that of a valid key.
   */
  async create(name: string, lifetime: number | null = null, show?: Show<IssuedKey>): Promise<IssuedKey> {
    if (!/^[\x21-\x7e]([\x20-\x7e]{0,62}[\x21-\x7e])?$/.test(name)) {
      throw new UsageError('The name of a key must be 1 to 64 printable ASCII characters, no space at either end.');
    }
    if (RESERVED.test(name)) throw new UsageError(`Names such as "${name}" are those of configured keys.`);
    const issued = this.issue(name, lifetime);
    try {
      await this.keys.add(issued.key, once(show, issued));
    } catch (error) {
      if (!(error instanceof NameTaken)) throw error;
      throw new UsageError(`${error.message}; wait until it expires, revoke it, or choose another name.`);
    }
    return issued;
  }

  /**
   * Issues a key that replaces the valid key with this name or prefix. The old key is renamed to its `retiredName` and
   * stays valid for the overlap, in milliseconds, but no longer than before. The new key has the lifetime of the old
   * one.
   */
  async rotate(nameOrPrefix: string, overlap: number, show?: Show<RotatedKey>): Promise<RotatedKey> {
    const found = await this.findValid(nameOrPrefix);
    const lifetime = found.expiresAt && found.expiresAt.getTime() - found.createdAt.getTime();
    const issued = this.issue(found.name, lifetime, found.owner);
    const retired = {
      name: retiredName(found.name),
      expiresAt: new Date(Math.min(Date.now() + overlap, found.expiresAt?.getTime() ?? Infinity)),
    };
    const rotated = { ...issued, old: { ...found, ...retired } };
    try {
      if (await this.keys.rotate(found, retired, issued.key, once(show, rotated))) return rotated;
    } catch (error) {
      if (!(error instanceof NameTaken)) throw error;
      throw new UsageError(`${error.message}, from the last rotation; wait until it expires, or revoke it.`);
    }
    throw new UsageError(`The key "${found.name}" has just been changed by another command. Try again.`);
  }

  /** Issues a key named "first" unless a key is stored; `show` is that of `create`. */
  async createFirst(show: Show<IssuedKey>): Promise<IssuedKey | undefined> {
    if ((await this.keys.list()).length > 0) return undefined;
    try {
      return await this.create('first', null, show);
    } catch (error) {
      // Another instance that starts now has created it.
      if (error instanceof UsageError) return undefined;
      throw error;
    }
  }

  /** All stored keys without their digests and owners, oldest first. */
  async list(): Promise<ListedKey[]> {
    const used = new Map((await this.keys.uses()).map(({ digest, lastUsedAt }) => [digest, lastUsedAt]));
    return (await this.keys.list()).map((key) => {
      const { digest, name, prefix, createdAt, expiresAt, revokedAt } = key;
      const lastUsedAt = used.get(digest) ?? null;
      return { name, prefix, createdAt, expiresAt, revokedAt, lastUsedAt, state: keyState(key) };
    });
  }

  /** Revokes the valid key with this name or prefix. */
  async revoke(nameOrPrefix: string): Promise<ApiKey> {
    const key = await this.findValid(nameOrPrefix);
    const revokedAt = new Date();
    await this.keys.revoke(key.digest, revokedAt);
    return { ...key, revokedAt };
  }

  /** The uses of the keys that have called a deprecated operation, the latest call first, with the current names. */
  async callers(): Promise<KeyUse[]> {
    const names = new Map((await this.keys.list()).map(({ digest, name }) => [digest, name]));
    const callers = (await this.keys.uses()).filter(({ lastDeprecatedCallAt }) => lastDeprecatedCallAt !== null);
    callers.sort((a, b) => Number(b.lastDeprecatedCallAt) - Number(a.lastDeprecatedCallAt));
    return callers.map((use) => ({ ...use, name: names.get(use.digest) ?? use.name }));
  }

  private async findValid(nameOrPrefix: string): Promise<ApiKey> {
    const found = (await this.keys.list()).filter(({ name, prefix }) => [name, prefix].includes(nameOrPrefix));
    const [key, ...others] = found.filter((key) => keyState(key) === 'valid');
    if (key && others.length === 0) return key;
    const several = `Several valid keys have the name or prefix "${nameOrPrefix}". Use one that only one of them has.`;
    if (key) throw new KeyNotIdentified(several);
    if (found.length > 0) throw new UsageError(`The key "${nameOrPrefix}" is already revoked or expired.`);
    throw new KeyNotIdentified(`No key has the name or prefix "${nameOrPrefix}".`);
  }

  private issue(name: string, lifetime: number | null, owner?: string): IssuedKey {
    const text = keyText();
    const createdAt = new Date();
    const expiresAt = lifetime === null ? null : new Date(createdAt.getTime() + lifetime);
    const digest = digestOf(text);
    const [prefix, revokedAt] = [keyPrefix(text), null];
    return { text, key: { digest, owner: owner ?? digest, name, prefix, createdAt, expiresAt, revokedAt } };
  }
}

/** Shows a key at most once, however often the transaction that stores it is tried. */
function once<Key extends IssuedKey>(show: Show<Key> | undefined, issued: Key): () => Promise<void> {
  let shown: Promise<void> | undefined;
  return () => (shown ??= show?.(issued) ?? Promise.resolve());
}
