import { isDeepStrictEqual } from 'node:util';
import { addUse, ApiKeyRepository, KeyUse, nameTaken } from '../../../application/keys/api-key-repository.port.js';
import { ApiKey, keyState } from '../../../domain/keys/api-key.js';

/** API keys in this process's memory, gone with it. */
export class MemoryApiKeyRepository extends ApiKeyRepository {
  private readonly keys = new Map<string, ApiKey>();
  private readonly used = new Map<string, KeyUse>();
  private changes = 0;

  add(key: ApiKey): Promise<void> {
    const conflict = this.conflict(key, key.name);
    if (conflict) return Promise.reject(conflict);
    this.set(key);
    return Promise.resolve();
  }

  find(digest: string): Promise<ApiKey | undefined> {
    return Promise.resolve(this.keys.get(digest));
  }

  list(): Promise<ApiKey[]> {
    return Promise.resolve([...this.keys.values()].sort((a, b) => Number(a.createdAt) - Number(b.createdAt)));
  }

  revoke(digest: string, at: Date): Promise<void> {
    const key = this.keys.get(digest);
    if (key && !key.revokedAt) this.set({ ...key, revokedAt: at });
    return Promise.resolve();
  }

  rotate(old: ApiKey, retired: Pick<ApiKey, 'name' | 'expiresAt'>, successor: ApiKey): Promise<boolean> {
    if (!isDeepStrictEqual(this.keys.get(old.digest), old)) return Promise.resolve(false);
    const conflict = this.conflict(successor, retired.name);
    if (conflict) return Promise.reject(conflict);
    this.set({ ...old, ...retired });
    this.set(successor);
    return Promise.resolve(true);
  }

  recordUses(uses: readonly KeyUse[]): Promise<void> {
    for (const use of uses) addUse(this.used, use);
    return Promise.resolve();
  }

  uses(): Promise<KeyUse[]> {
    return Promise.resolve([...this.used.values()]);
  }

  version(): number {
    return this.changes;
  }

  private set(key: ApiKey): void {
    this.keys.set(key.digest, key);
    this.changes++;
  }

  /** Why a key cannot be stored while another one gets this name. */
  private conflict({ digest, createdAt }: ApiKey, name: string): Error | undefined {
    if (this.keys.has(digest)) return new Error('A key with this digest is stored already.');
    const isTaken = [...this.keys.values()].some(
      (key) => key.name === name && keyState(key, createdAt.getTime()) === 'valid',
    );
    return isTaken ? nameTaken(name) : undefined;
  }
}
