import { EntityManager, In, IsNull, LessThanOrEqual, Repository } from 'typeorm';
import { NameTaken } from '../../../../application/errors.js';
import { addUse, ApiKeyRepository, KeyUse } from '../../../../application/keys/api-key-repository.port.js';
import { ApiKey } from '../../../../domain/keys/api-key.js';
import { Batcher } from '../batcher.js';
import type { Executor } from '../executor.js';
import { failureOf } from '../failures.js';
import { ApiKeySchema, KeyUseSchema, StoredApiKey } from './api-key.schema.js';

/** API keys in the tables `api_key` and `key_use`. */
export class TypeOrmApiKeyRepository extends ApiKeyRepository {
  private readonly finds: Batcher<string, ApiKey | undefined>;

  constructor(private readonly executor: Executor) {
    super();
    // On SQLite every write invalidates the cache of the Authenticator: all clients look their keys up again at once.
    this.finds = new Batcher(executor, { kind: 'read', summary: 'SELECT api_key', run: findKeys });
  }

  async add(key: ApiKey, confirm?: () => Promise<void>): Promise<void> {
    await this.claimName(key.name, key.createdAt, async (keys) => {
      await keys.insert({ ...key, activeName: key.name });
      await confirm?.();
    });
    // A copy of the file, which is often made of a service that has just been set up, must have the key.
    await this.executor.database.checkpoint();
  }

  find(digest: string, deadline?: number): Promise<ApiKey | undefined> {
    return this.finds.add(digest, deadline);
  }

  list(): Promise<ApiKey[]> {
    return this.executor.run('read', 'SELECT api_key', async (manager) => {
      const stored = await manager.find(ApiKeySchema, { order: { createdAt: 'ASC', digest: 'ASC' } });
      return stored.map(toKey);
    });
  }

  revoke(digest: string, at: Date): Promise<void> {
    return this.executor.run('transaction', 'UPDATE api_key', async (manager) => {
      await manager.update(ApiKeySchema, { digest, revokedAt: IsNull() }, { revokedAt: at, activeName: null });
    });
  }

  rotate(
    old: ApiKey,
    { name, expiresAt }: Pick<ApiKey, 'name' | 'expiresAt'>,
    successor: ApiKey,
    confirm?: () => Promise<void>,
  ): Promise<boolean> {
    return this.claimName(name, successor.createdAt, async (keys) => {
      const { digest, expiresAt: expiry, revokedAt } = old;
      const asRead = { digest, name: old.name, expiresAt: expiry ?? IsNull(), revokedAt: revokedAt ?? IsNull() };
      const { affected } = await keys.update(asRead, { name, expiresAt, activeName: name });
      if (Number(affected) === 0) return false;
      await keys.insert({ ...successor, activeName: successor.name });
      await confirm?.();
      return true;
    });
  }

  recordUses(uses: readonly KeyUse[]): Promise<void> {
    // In one order everywhere, so that instances do not deadlock.
    const inOrder = uses.toSorted((a, b) => (a.digest < b.digest ? -1 : 1));
    return this.executor.run('transaction', 'UPDATE key_use', async (manager) => {
      const rows = manager.getRepository(KeyUseSchema);
      const withoutCalls = inOrder.map((use) => ({ ...use, deprecatedCalls: 0 }));
      // Inserts the missing rows, and locks the others.
      await rows.createQueryBuilder().insert().values(withoutCalls).orUpdate(['digest'], ['digest']).execute();
      const stored = await rows.findBy({ digest: In(inOrder.map(({ digest }) => digest)) });
      const added = new Map(stored.map((use) => [use.digest, use]));
      for (const use of inOrder) addUse(added, use);
      await rows.upsert([...added.values()], ['digest']);
    });
  }

  uses(): Promise<KeyUse[]> {
    return this.executor.run('read', 'SELECT key_use', (manager) => manager.getRepository(KeyUseSchema).find());
  }

  version(): number | undefined {
    return this.executor.database.version();
  }

  /** Runs work that gives a name to a valid key, which no other key that is valid now may have. */
  private async claimName<T>(name: string, now: Date, work: (keys: Repository<StoredApiKey>) => Promise<T>) {
    try {
      return await this.executor.run('transaction', 'INSERT api_key', async (manager) => {
        const keys = manager.getRepository(ApiKeySchema);
        await keys.update({ activeName: name, expiresAt: LessThanOrEqual(now) }, { activeName: null });
        return work(keys);
      });
    } catch (error) {
      throw failureOf(this.executor.database.dialect, error) === 'duplicate' ? new NameTaken(name) : error;
    }
  }
}

async function findKeys(manager: EntityManager, digests: readonly string[]): Promise<(ApiKey | undefined)[]> {
  const found = await manager.getRepository(ApiKeySchema).findBy({ digest: In([...new Set(digests)]) });
  const keys = new Map(found.map((stored) => [stored.digest, toKey(stored)]));
  return digests.map((digest) => keys.get(digest));
}

function toKey(stored: StoredApiKey): ApiKey {
  return { ...stored, owner: stored.owner ?? stored.digest };
}
