import { EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import { ApiKeyRepository, KeyUse } from '../../../../application/keys/api-key-repository.port.js';
import { ApiKey } from '../../../../domain/keys/api-key.js';
import { ApiKeySchema, KeyUseSchema } from './api-key.schema.js';
import { Database } from '../database.js';

/** API keys in the tables `api_key` and `key_use`. */
export class TypeOrmApiKeyRepository extends ApiKeyRepository {
  private ownChanges = 0;

  constructor(private readonly database: Database) {
    super();
  }

  async add(key: ApiKey): Promise<void> {
    // A copy, because TypeORM writes into what it inserts.
    await this.on(ApiKeySchema, (keys) => keys.insert({ ...key }));
    this.ownChanges++;
  }

  async find(digest: string): Promise<ApiKey | undefined> {
    return (await this.on(ApiKeySchema, (keys) => keys.findOneBy({ digest }))) ?? undefined;
  }

  list(): Promise<ApiKey[]> {
    return this.on(ApiKeySchema, (keys) => keys.find({ order: { createdAt: 'ASC', digest: 'ASC' } }));
  }

  async revoke(digest: string, at: Date): Promise<void> {
    await this.on(ApiKeySchema, (keys) =>
      keys
        .createQueryBuilder()
        .update()
        .set({ revokedAt: at })
        .where('digest = :digest', { digest })
        .andWhere('revoked_at IS NULL')
        .execute(),
    );
    this.ownChanges++;
  }

  async recordUses(uses: readonly KeyUse[]): Promise<void> {
    for (const use of uses) {
      // Add to the row; if there is none make one; if another instance has just made it, add to that one.
      if (await this.addUse(use)) continue;
      try {
        await this.on(KeyUseSchema, (rows) => rows.insert({ ...use }));
      } catch (error) {
        if (!(await this.addUse(use))) throw error;
      }
    }
  }

  uses(): Promise<KeyUse[]> {
    return this.on(KeyUseSchema, (rows) => rows.find());
  }

  revision(): number | undefined {
    const others = this.database.revision();
    return others === undefined ? undefined : others + this.ownChanges;
  }

  private async addUse(use: KeyUse): Promise<boolean> {
    const { affected } = await this.on(KeyUseSchema, (rows) =>
      rows
        .createQueryBuilder()
        .update()
        .set({
          lastUsedAt: () => latest('last_used_at', 'used'),
          getPetCalls: () => 'get_pet_calls + :calls',
          ...(use.lastGetPetAt && { lastGetPetAt: () => latest('last_get_pet_at', 'got') }),
        })
        .where('digest = :digest', { digest: use.digest })
        .setParameters({
          used: use.lastUsedAt.toISOString(),
          calls: use.getPetCalls,
          got: use.lastGetPetAt?.toISOString(),
        })
        .execute(),
    );
    return affected !== 0;
  }

  private on<Entity extends ObjectLiteral, T>(
    target: EntityTarget<Entity>,
    query: (rows: Repository<Entity>) => Promise<T>,
  ) {
    return this.database.run((engine) => query(engine.dataSource.getRepository(target)));
  }
}

/** The later one of the moment in a column and the one in a parameter: instances write their uses down in any order. */
function latest(column: string, parameter: string): string {
  return `CASE WHEN ${column} > :${parameter} THEN ${column} ELSE :${parameter} END`;
}
