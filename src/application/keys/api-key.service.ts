import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ApiKey, isIssuedKey, keyPrefix, keyState, keyText, retiredName } from '../../domain/keys/api-key.js';
import { addUse, ApiKeyRepository, KeyUse } from './api-key-repository.port.js';
import { KeyRejected, UsageError } from '../errors.js';

/** How long a valid key is cached, in milliseconds. On PostgreSQL and MariaDB a revoked key is accepted for as long. */
const CACHE_TTL = 4_000;

const CACHE_SIZE = 10_000;

/** A new key, and its text, which is not stored. */
export interface IssuedKey {
  readonly text: string;
  readonly key: ApiKey;
}

/** Issues, rotates, revokes and checks API keys, and records their use. */
export class ApiKeyService {
  private readonly configured: ReadonlyMap<string, ApiKey>;
  /** Valid keys by their text, with the version of the database at which they were read. */
  private readonly cache = new LRUCache<string, { readonly key: ApiKey; readonly version: number | undefined }>({
    max: CACHE_SIZE,
    ttl: CACHE_TTL,
  });
  /** Uses that are not stored yet, by the digest of the key. */
  private readonly unrecorded = new Map<string, KeyUse>();

  /** `configured` are the texts of further keys, which are valid but not stored. */
  constructor(
    private readonly keys: ApiKeyRepository,
    configured: readonly string[],
  ) {
    const unlimited = { prefix: '', createdAt: new Date(), expiresAt: null, revokedAt: null };
    this.configured = new Map(
      configured.map((text, i) => {
        const digest = digestOf(text);
        return [digest, { digest, name: `configured-${i + 1}`, ...unlimited }];
      }),
    );
  }

  /** Issues a key; rejects with `UsageError` if the name is invalid or that of a valid key. */
  async create(name: string, expiresAt: Date | null = null): Promise<IssuedKey> {
    if (!/^[\x21-\x7e]([\x20-\x7e]{0,62}[\x21-\x7e])?$/.test(name)) {
      throw new UsageError('The name of a key must be 1 to 64 printable ASCII characters, no space at either end.');
    }
    const issued = this.issue(name, expiresAt);
    await this.keys.add(issued.key);
    return issued;
  }

  /**
   * Issues a key that replaces the valid key with this name or prefix. The old key is renamed to its `retiredName` and
   * stays valid for the overlap, in milliseconds, but no longer than before. By default the new key has the lifetime of
   * the old one.
   */
  async rotate(nameOrPrefix: string, overlap: number, expiresAt?: Date): Promise<IssuedKey & { readonly old: ApiKey }> {
    const found = await this.findValid(nameOrPrefix);
    const now = Date.now();
    const lifetime = found.expiresAt && found.expiresAt.getTime() - found.createdAt.getTime();
    const issued = this.issue(found.name, expiresAt ?? (lifetime === null ? null : new Date(now + lifetime)));
    const retired = {
      name: retiredName(found.name),
      expiresAt: new Date(Math.min(now + overlap, found.expiresAt?.getTime() ?? Infinity)),
    };
    if (!(await this.keys.rotate(found, retired, issued.key))) {
      throw new UsageError(`The key "${found.name}" has just been changed by another command. Try again.`);
    }
    return { ...issued, old: { ...found, ...retired } };
  }

  /** Issues a key named "first" and resolves to its text, unless a key is stored. */
  async createFirst(): Promise<string | undefined> {
    if ((await this.keys.list()).length > 0) return undefined;
    try {
      return (await this.create('first')).text;
    } catch (error) {
      // Another instance that starts now has created it.
      if (error instanceof UsageError) return undefined;
      throw error;
    }
  }

  /** All stored keys, oldest first. */
  list(): Promise<ApiKey[]> {
    return this.keys.list();
  }

  /** Revokes the valid key with this name or prefix. */
  async revoke(nameOrPrefix: string): Promise<ApiKey> {
    const key = await this.findValid(nameOrPrefix);
    const revokedAt = new Date();
    await this.keys.revoke(key.digest, revokedAt);
    return { ...key, revokedAt };
  }

  /**
   * The key with this text; rejects with `KeyRejected` if it does not exist, is revoked or expired. A cached
   * key is returned synchronously. The cache is valid until the database changes; PostgreSQL and MariaDB cannot tell
   * without a query, so there it is valid for a few seconds.
   */
  authenticate(text: string): ApiKey | Promise<ApiKey> {
    const cached = this.cache.get(text);
    if (cached && cached.version === this.keys.version() && keyState(cached.key) === 'valid') return cached.key;
    return this.check(text);
  }

  /** Notes that the key was used now, and whether to call getPet. */
  noteUse({ digest, name }: ApiKey, isGetPet = false): void {
    const now = new Date();
    const getPet = isGetPet ? { getPetCalls: 1, lastGetPetAt: now } : { getPetCalls: 0, lastGetPetAt: null };
    addUse(this.unrecorded, { digest, name, lastUsedAt: now, ...getPet });
  }

  /** Stores the uses noted since the last call. If that fails, the next call stores them. */
  async recordUses(): Promise<void> {
    const uses = [...this.unrecorded.values()];
    if (uses.length === 0) return;
    this.unrecorded.clear();
    try {
      await this.keys.recordUses(uses);
    } catch (error) {
      for (const use of uses) addUse(this.unrecorded, use);
      throw error;
    }
  }

  /** The recorded uses of each key, with its current name. */
  async uses(): Promise<KeyUse[]> {
    const names = new Map((await this.keys.list()).map(({ digest, name }) => [digest, name]));
    return (await this.keys.uses()).map((use) => ({ ...use, name: names.get(use.digest) ?? use.name }));
  }

  private async findValid(nameOrPrefix: string): Promise<ApiKey> {
    const found = (await this.keys.list()).filter(({ name, prefix }) => [name, prefix].includes(nameOrPrefix));
    const [key, ...others] = found.filter((key) => keyState(key) === 'valid');
    if (key && others.length === 0) return key;
    if (key) {
      const advice = 'Use a name or prefix that only one of them has; "petstore keys list" lists them.';
      throw new UsageError(`Several valid keys have the name or prefix "${nameOrPrefix}". ${advice}`);
    }
    if (found.length > 0) throw new UsageError(`The key "${nameOrPrefix}" is already revoked or expired.`);
    throw new UsageError(`No key has the name or prefix "${nameOrPrefix}". "petstore keys list" lists all keys.`);
  }

  private async check(text: string): Promise<ApiKey> {
    // Before the read: the key may change during it.
    const [version, start] = [this.keys.version(), performance.now()];
    const digest = digestOf(text);
    const key = this.configured.get(digest) ?? (isIssuedKey(text) ? await this.keys.find(digest) : undefined);
    if (!key) throw new KeyRejected('invalid');
    const state = keyState(key);
    if (state !== 'valid') throw new KeyRejected(state);
    this.cache.set(text, { key, version }, { start });
    return key;
  }

  private issue(name: string, expiresAt: Date | null): IssuedKey {
    const text = keyText();
    const createdAt = new Date();
    const key = { digest: digestOf(text), name, prefix: keyPrefix(text), createdAt, expiresAt, revokedAt: null };
    return { text, key };
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
