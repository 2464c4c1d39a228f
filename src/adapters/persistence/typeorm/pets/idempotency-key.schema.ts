import { EntitySchema, EntitySchemaColumnOptions } from 'typeorm';
import { IdempotencyKey } from '../../../../application/pets/pet-repository.port.js';
import { instant, int64 } from '../columns.js';

/** An idempotency key and the pet that was added with it. */
export interface StoredIdempotencyKey extends IdempotencyKey {
  readonly petId: bigint;
}

/** How idempotency keys are kept. */
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
