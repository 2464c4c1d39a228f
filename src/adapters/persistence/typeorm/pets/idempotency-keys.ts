import { EntityManager, EntitySchema, EntitySchemaColumnOptions, LessThan, LessThanOrEqual } from 'typeorm';
import { IdempotencyInProgress } from '../../../../application/errors.js';
import { IDEMPOTENCY_KEY_LIFETIME, IdempotencyKey } from '../../../../application/pets/pet-repository.port.js';
import { instant, int64 } from '../columns.js';
import { Dialect, failureOf } from '../dialects/dialect.js';

/** An idempotency key and the pet that was added with it. */
export interface StoredIdempotencyKey extends IdempotencyKey {
  readonly petId: bigint;
}

/** How idempotency keys are stored. */
export const IdempotencyKeySchema = new EntitySchema<StoredIdempotencyKey>({
  name: 'idempotency_key',
  columns: {
    scope: { type: 'varchar', length: 64, primary: true },
    key: { type: 'varchar', length: 255, name: 'token', primary: true },
    fingerprint: { type: 'varchar', length: 64 },
    petId: { ...int64, name: 'pet_id' },
    at: { ...instant, name: 'created_at' },
  } satisfies Record<keyof StoredIdempotencyKey, EntitySchemaColumnOptions>,
  indices: [{ name: 'idempotency_key_created_at', columns: ['at'] }],
});

/** How many keys are deleted at a time: SQLite takes some 10 ms for them, and does nothing else meanwhile. */
const DELETED_AT_A_TIME = 100;

/**
 * Locks a key until the transaction ends. Resolves to the key as it was stored within its lifetime; undefined if it was
 * not. Unless its pet is replayed, `storeKey` must follow.
 */
export async function lockKey(dialect: Dialect, manager: EntityManager, sent: IdempotencyKey) {
  const keys = manager.getRepository(IdempotencyKeySchema);
  try {
    // The update changes nothing, but is a write: so a replay, too, waits for PostgreSQL's synchronous standby, for
    // which the first request may not have waited. `orUpdate` takes names of columns.
    const row = { ...sent, petId: 0n };
    await keys.createQueryBuilder().insert().values(row).orUpdate(['scope'], ['scope', 'token']).execute();
  } catch (error) {
    throw failureOf(dialect, error) === 'rowLocked' ? new IdempotencyInProgress() : error;
  }
  const stored = await keys.findOneByOrFail({ scope: sent.scope, key: sent.key });
  const isFresh = sent.at.getTime() - stored.at.getTime() < IDEMPOTENCY_KEY_LIFETIME;
  // 0: the insert above has just stored it.
  return isFresh && stored.petId !== 0n ? stored : undefined;
}

/** Stores a locked key with its pet. */
export async function storeKey(manager: EntityManager, sent: IdempotencyKey, petId: bigint): Promise<void> {
  await manager.update(IdempotencyKeySchema, { scope: sent.scope, key: sent.key }, { ...sent, petId });
}

/** See `PetRepository.deleteIdempotencyKeys`. */
export async function deleteKeys(manager: EntityManager, before: Date): Promise<number> {
  const keys = manager.getRepository(IdempotencyKeySchema);
  const oldest = await keys.find({ where: { at: LessThan(before) }, order: { at: 'ASC' }, take: DELETED_AT_A_TIME });
  const last = oldest.at(-1);
  // By its time: a key that is renewed meanwhile has a later one, and stays.
  if (last) await keys.delete({ at: LessThanOrEqual(last.at) });
  return oldest.length;
}
