import { LRUCache } from 'lru-cache';
import { ApiKey, configuredName, digestOf, isIssuedKey, keyState } from '../../domain/keys/api-key.js';
import { addUse, ApiKeyRepository, KeyUse, MAX_USES } from './api-key-repository.port.js';
import { DatabaseUnavailable, KeyRejected } from '../errors.js';

/** Checks the API keys of requests, and records their uses. */
export class Authenticator {
  /** The configured keys, by their digests. */
  private configured: ReadonlyMap<string, ApiKey> = new Map();
  private configuredTexts = '';
  /** Valid keys by their text, with the version of the database at which they were read. */
  private readonly cache = new LRUCache<string, { readonly key: ApiKey; readonly version: number | undefined }>({
    max: 10_000,
    // In milliseconds: for how long a revoked key is still accepted on PostgreSQL and MariaDB.
    ttl: 4_000,
  });
  /** Uses that are not stored yet, by the digest of the key. */
  private readonly unrecorded = new Map<string, KeyUse>();

  /** `readConfigured` returns the texts of the configured keys, which are valid but not stored. */
  constructor(
    private readonly keys: ApiKeyRepository,
    private readonly readConfigured: () => readonly string[],
  ) {
    this.reloadConfigured();
  }

  /** Whether any key is configured. */
  get hasConfigured(): boolean {
    return this.configured.size > 0;
  }

  /** Reads the configured keys again, and from now on accepts these. If that throws, nothing changes. */
  reloadConfigured(): void {
    const texts = this.readConfigured();
    if (texts.join() === this.configuredTexts) return;
    const unlimited = { prefix: '', createdAt: new Date(), expiresAt: null, revokedAt: null };
    const digests = texts.map(digestOf);
    this.configured = new Map(
      digests.map((digest) => [digest, { digest, owner: digest, name: configuredName(digest), ...unlimited }]),
    );
    this.configuredTexts = texts.join();
    this.cache.clear();
  }

  /**
   * The key with this text; rejects with `KeyRejected` if it does not exist, is revoked or expired. The cache is valid
   * until the database changes, if only by the uses of keys; PostgreSQL and MariaDB cannot tell without a query, so
   * there it is valid for a few seconds. `deadline` is that of `ApiKeyRepository.find`.
   */
  async authenticate(text: string, deadline?: number): Promise<ApiKey> {
    // Before the read: the key may change during it. Its time in the cache begins here.
    const [version, start] = [this.keys.version(), performance.now()];
    const cached = this.cache.get(text);
    if (cached && cached.version === version && keyState(cached.key) === 'valid') return cached.key;
    const digest = digestOf(text);
    const key = this.configured.get(digest) ?? (isIssuedKey(text) ? await this.keys.find(digest, deadline) : undefined);
    if (!key) throw new KeyRejected('invalid');
    const state = keyState(key);
    if (state !== 'valid') throw new KeyRejected(state);
    this.cache.set(text, { key, version }, { start });
    return key;
  }

  /** Notes that the key was used now, and whether for a deprecated operation. */
  noteUse({ digest, name }: ApiKey, deprecated = false): void {
    const now = new Date();
    const [deprecatedCalls, lastDeprecatedCallAt] = deprecated ? [1, now] : [0, null];
    addUse(this.unrecorded, { digest, name, lastUsedAt: now, deprecatedCalls, lastDeprecatedCallAt });
  }

  /**
   * Stores the uses since the last call, `MAX_USES` at a time. Of those that fail it keeps the times, but no call,
   * which could count twice; if the database is unavailable, those behind them wait for the next call.
   */
  async recordUses(): Promise<void> {
    const digests = [...this.unrecorded.keys()];
    let failure: Error | undefined;
    while (digests.length > 0 && !(failure instanceof DatabaseUnavailable)) {
      // Another call may have taken some meanwhile.
      const uses = digests.splice(0, MAX_USES).flatMap((digest) => this.unrecorded.get(digest) ?? []);
      for (const { digest } of uses) this.unrecorded.delete(digest);
      try {
        await this.keys.recordUses(uses);
      } catch (error) {
        failure = error as Error;
        for (const use of uses) addUse(this.unrecorded, { ...use, deprecatedCalls: 0 });
      }
    }
    if (failure) throw failure;
  }
}
