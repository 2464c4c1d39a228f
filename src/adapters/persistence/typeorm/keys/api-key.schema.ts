import { EntitySchema } from 'typeorm';
import { KeyUse } from '../../../../application/keys/api-key-repository.port.js';
import { ApiKey } from '../../../../domain/keys/api-key.js';
import { instant, int64 } from '../columns.js';

/** A key as it is stored. */
export interface StoredApiKey extends Omit<ApiKey, 'owner'> {
  /** Null for the key's own digest: releases before 1.2.0 stored no owner. */
  readonly owner: string | null;
  /** The name that it holds while it is valid: a unique index keeps others from having the same one. */
  readonly activeName: string | null;
}

/** How API keys are stored, by their digest alone. */
export const ApiKeySchema = new EntitySchema<StoredApiKey>({
  name: 'api_key',
  columns: {
    digest: { type: 'varchar', length: 64, primary: true },
    owner: { type: 'varchar', length: 64, nullable: true },
    name: { type: 'varchar', length: 64 },
    prefix: { type: 'varchar', length: 16 },
    createdAt: { ...instant, name: 'created_at' },
    expiresAt: { ...instant, name: 'expires_at', nullable: true },
    revokedAt: { ...instant, name: 'revoked_at', nullable: true },
    activeName: { type: 'varchar', length: 64, name: 'active_name', nullable: true, select: false },
  },
  indices: [{ name: 'api_key_active_name', columns: ['activeName'], unique: true }],
});

/** How the use of keys is stored: apart from the keys, because keys given by the environment are used too. */
export const KeyUseSchema = new EntitySchema<KeyUse>({
  name: 'key_use',
  columns: {
    digest: { type: 'varchar', length: 64, primary: true },
    name: { type: 'varchar', length: 64 },
    lastUsedAt: { ...instant, name: 'last_used_at' },
    deprecatedCalls: { ...int64, name: 'get_pet_calls', transformer: { from: Number, to: String } },
    lastDeprecatedCallAt: { ...instant, name: 'last_get_pet_at', nullable: true },
  },
});
