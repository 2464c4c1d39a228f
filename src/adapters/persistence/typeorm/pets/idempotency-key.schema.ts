import { EntitySchema } from 'typeorm';
import { instant, int64 } from '../columns.js';

/** An idempotency key and the animal that was added with it. */
export interface IdempotencyKeyRow {
  readonly scope: string;
  readonly token: string;
  readonly fingerprint: string;
  readonly petId: bigint;
  readonly createdAt: Date;
}

/** How idempotency keys are kept. */
export const IdempotencyKeySchema = new EntitySchema<IdempotencyKeyRow>({
  name: 'idempotency_key',
  columns: {
    scope: { type: 'varchar', length: 64, primary: true },
    token: { type: 'varchar', length: 255, primary: true },
    fingerprint: { type: 'varchar', length: 64 },
    petId: { ...int64, name: 'pet_id' },
    createdAt: { ...instant, name: 'created_at' },
  },
  indices: [{ name: 'idempotency_key_created_at', columns: ['createdAt'] }],
});
