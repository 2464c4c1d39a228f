import { ApiKeyRepository, KeyUse } from '../../../application/keys/api-key-repository.port.js';
import { ApiKey } from '../../../domain/keys/api-key.js';

/** API keys in this process's memory, gone with it. */
export class MemoryApiKeyRepository extends ApiKeyRepository {
  private readonly keys = new Map<string, ApiKey>();
  private readonly used = new Map<string, KeyUse>();
  private changes = 0;

  add(key: ApiKey): Promise<void> {
    if (this.keys.has(key.digest)) return Promise.reject(duplicate());
    this.keys.set(key.digest, { ...key });
    this.changes++;
    return Promise.resolve();
  }

  find(digest: string): Promise<ApiKey | undefined> {
    const key = this.keys.get(digest);
    return Promise.resolve(key && { ...key });
  }

  list(): Promise<ApiKey[]> {
    const oldestFirst = [...this.keys.values()].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    return Promise.resolve(oldestFirst.map((key) => ({ ...key })));
  }

  revoke(digest: string, at: Date): Promise<void> {
    const key = this.keys.get(digest);
    if (key && !key.revokedAt) this.keys.set(digest, { ...key, revokedAt: at });
    this.changes++;
    return Promise.resolve();
  }

  rotate(old: ApiKey, { name, expiresAt }: Pick<ApiKey, 'name' | 'expiresAt'>, successor: ApiKey): Promise<boolean> {
    const stored = this.keys.get(old.digest);
    if (!stored || state(stored) !== state(old)) return Promise.resolve(false);
    if (this.keys.has(successor.digest)) return Promise.reject(duplicate());
    this.keys.set(old.digest, { ...stored, name, expiresAt });
    this.keys.set(successor.digest, { ...successor });
    this.changes++;
    return Promise.resolve(true);
  }

  recordUses(uses: readonly KeyUse[]): Promise<void> {
    for (const use of uses) {
      const before = this.used.get(use.digest);
      this.used.set(use.digest, {
        ...use,
        lastUsedAt: before && before.lastUsedAt > use.lastUsedAt ? before.lastUsedAt : use.lastUsedAt,
        getPetCalls: use.getPetCalls + (before?.getPetCalls ?? 0),
        lastGetPetAt: latest(use.lastGetPetAt, before?.lastGetPetAt ?? null),
      });
    }
    return Promise.resolve();
  }

  uses(): Promise<KeyUse[]> {
    return Promise.resolve([...this.used.values()].map((use) => ({ ...use })));
  }

  revision(): number {
    return this.changes;
  }
}

/** What can change of a key. */
function state({ name, expiresAt, revokedAt }: ApiKey): string {
  return JSON.stringify([name, expiresAt, revokedAt]);
}

function duplicate(): Error {
  return new Error('A key with this digest is stored already.');
}

function latest(a: Date | null, b: Date | null): Date | null {
  return a && (!b || a > b) ? a : b;
}
