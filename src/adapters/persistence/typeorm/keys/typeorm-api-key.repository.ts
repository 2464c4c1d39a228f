import { EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import { ApiKeyRepository, KeyUse } from '../../../../application/keys/api-key-repository.port.js';
import { ApiKey } from '../../../../domain/keys/api-key.js';
import { Database } from '../database.js';
import { Engine, Script } from '../engines/engine.js';
import { Statement, Table } from '../table.js';
import { ApiKeySchema, KeyUseSchema } from './api-key.schema.js';

/** How often to try to record uses if a row that was not there is there when it is inserted. */
const ATTEMPTS = 5;

const keyTable = new Table(ApiKeySchema);

const useTable = new Table(KeyUseSchema);

/** API keys in the tables `api_key` and `key_use`. */
export class TypeOrmApiKeyRepository extends ApiKeyRepository {
  private ownChanges = 0;

  constructor(private readonly database: Database) {
    super();
  }

  async add(key: ApiKey): Promise<void> {
    // A copy, because TypeORM writes into what it inserts.
    await this.write('INSERT api_key', (keys) => keys.insert({ ...key }));
    this.ownChanges++;
  }

  async find(digest: string): Promise<ApiKey | undefined> {
    return (await this.read('SELECT api_key', ApiKeySchema, (keys) => keys.findOneBy({ digest }))) ?? undefined;
  }

  list(): Promise<ApiKey[]> {
    return this.read('SELECT api_key', ApiKeySchema, (keys) =>
      keys.find({ order: { createdAt: 'ASC', digest: 'ASC' } }),
    );
  }

  async revoke(digest: string, at: Date): Promise<void> {
    await this.write('UPDATE api_key', (keys) =>
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

  async rotate(old: ApiKey, retired: Pick<ApiKey, 'name' | 'expiresAt'>, successor: ApiKey): Promise<boolean> {
    const isDone = await this.database.write('UPDATE api_key', (engine) =>
      engine.transaction(() => replace(engine, old, { ...old, ...retired }, successor)),
    );
    this.ownChanges++;
    return isDone;
  }

  async recordUses(uses: readonly KeyUse[]): Promise<void> {
    // In one order everywhere, so that instances do not wait for each other in a circle.
    const inOrder = uses.toSorted((a, b) => (a.digest < b.digest ? -1 : 1));
    // Not given up as a request is: what is stored after all would be counted once more.
    await this.database.query('UPDATE key_use', async (engine) => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await engine.transaction(() => addUses(engine, inOrder));
        } catch (error) {
          // Another instance has just made one of the rows.
          if (engine.failure(error) !== 'duplicate' || attempt === ATTEMPTS) throw error;
        }
      }
    });
  }

  uses(): Promise<KeyUse[]> {
    return this.read('SELECT key_use', KeyUseSchema, (rows) => rows.find());
  }

  revision(): number | undefined {
    const others = this.database.revision();
    return others === undefined ? undefined : others + this.ownChanges;
  }

  private read<Entity extends ObjectLiteral, T>(
    summary: string,
    target: EntityTarget<Entity>,
    query: (rows: Repository<Entity>) => Promise<T>,
  ) {
    return this.database.read(summary, (engine) => query(engine.readSource.getRepository(target)));
  }

  private write<T>(summary: string, query: (keys: Repository<ApiKey>) => Promise<T>) {
    return this.database.write(summary, (engine) => query(engine.dataSource.getRepository(ApiKeySchema)));
  }
}

/** Stores a key as it now is, and the one that takes its place, if the stored one is what it was. */
function* replace(engine: Engine, old: ApiKey, retired: ApiKey, successor: ApiKey): Script<boolean> {
  // Changes nothing, but has whoever else changes the key wait for the end of this, so that what is found next stays true.
  yield { sql: 'UPDATE api_key SET name = name WHERE digest = ?', values: [old.digest] };
  const [found] = yield { sql: `SELECT ${keyTable.select} FROM api_key WHERE digest = ?`, values: [old.digest] };
  if (JSON.stringify(found) !== JSON.stringify(keyTable.values(old))) return false;
  const columns = keyTable.columns.filter(({ primary }) => !primary);
  yield {
    sql: `UPDATE api_key SET ${columns.map(({ name }) => `${name} = ?`).join(', ')} WHERE digest = ?`,
    values: [...keyTable.values(retired, columns), old.digest],
  };
  yield engine.insertion(keyTable, [successor]);
  return true;
}

/** Adds uses to their rows, and makes those that are not there: all of them, or none. */
function* addUses(engine: Engine, uses: readonly KeyUse[]): Script<void> {
  for (const use of uses) {
    const [found] = yield { sql: 'SELECT digest FROM key_use WHERE digest = ?', values: [use.digest] };
    yield found ? addition(use) : engine.insertion(useTable, [use]);
  }
}

function addition({ digest, lastUsedAt, getPetCalls, lastGetPetAt }: KeyUse): Statement {
  const [used, got] = [lastUsedAt.toISOString(), lastGetPetAt?.toISOString()];
  const later = [latest('last_used_at'), ...(got === undefined ? [] : [latest('last_get_pet_at')])].join(', ');
  return {
    sql: `UPDATE key_use SET get_pet_calls = get_pet_calls + ?, ${later} WHERE digest = ?`,
    values: [BigInt(getPetCalls), used, used, ...(got === undefined ? [] : [got, got]), digest],
  };
}

/** Sets a column to the later one of its moment and the one given twice: instances write their uses down in any order. */
function latest(column: string): string {
  return `${column} = CASE WHEN ${column} > ? THEN ${column} ELSE ? END`;
}
