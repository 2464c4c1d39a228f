/* eslint-disable @typescript-eslint/require-await -- the port is asynchronous, a map is not */
import { isDeepStrictEqual } from 'node:util';
import { NameTaken } from '../../../application/errors.js';
import { addUse, ApiKeyRepository, KeyUse } from '../../../application/keys/api-key-repository.port.js';
import { ApiKey, keyState } from '../../../domain/keys/api-key.js';

/** API keys in this process's memory, gone with it. */
export class MemoryApiKeyRepository extends ApiKeyRepository {
  private readonly keys = new Map<string, ApiKey>();
  private readonly used = new Map<string, KeyUse>();
  private changes = 0;

  async add(key: ApiKey, confirm?: () => Promise<void>): Promise<void> {
    this.claimName(key.name, key);
    this.set(key);
    await this.undoUnless(confirm, () => this.keys.delete(key.digest));
  }

  async find(digest: string): Promise<ApiKey | undefined> {
    return this.keys.get(digest);
  }

  async list(): Promise<ApiKey[]> {
    return [...this.keys.values()].sort((a, b) => Number(a.createdAt) - Number(b.createdAt));
  }

  async revoke(digest: string, at: Date): Promise<void> {
    const key = this.keys.get(digest);
    if (key && !key.revokedAt) this.set({ ...key, revokedAt: at });
  }

  async rotate(
    old: ApiKey,
    retired: Pick<ApiKey, 'name' | 'expiresAt'>,
    successor: ApiKey,
    confirm?: () => Promise<void>,
  ): Promise<boolean> {
    if (!isDeepStrictEqual(this.keys.get(old.digest), old)) return false;
    this.claimName(retired.name, successor);
    this.set({ ...old, ...retired });
    this.set(successor);
    await this.undoUnless(confirm, () => {
      this.keys.delete(successor.digest);
      this.set(old);
    });
    return true;
  }

  async recordUses(uses: readonly KeyUse[]): Promise<void> {
    for (const use of uses) addUse(this.used, use);
  }

  async uses(): Promise<KeyUse[]> {
    return [...this.used.values()];
  }

  version(): number {
    return this.changes;
  }

  private set(key: ApiKey): void {
    this.keys.set(key.digest, key);
    this.changes++;
  }

  private async undoUnless(confirm: () => Promise<void> = () => Promise.resolve(), undo: () => void): Promise<void> {
    try {
      await confirm();
    } catch (error) {
      undo();
      this.changes++;
      throw error;
    }
  }

  /** Throws unless a key can be stored, and no valid key has the name. */
  private claimName(name: string, { digest, createdAt }: ApiKey): void {
    if (this.keys.has(digest)) throw new Error('A key with this digest is stored already.');
    const named = [...this.keys.values()].filter((key) => key.name === name);
    if (named.some((key) => keyState(key, createdAt.getTime()) === 'valid')) throw new NameTaken(name);
  }
}
