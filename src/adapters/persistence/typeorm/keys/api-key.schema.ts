import { EntitySchema } from 'typeorm';
import { KeyUse } from '../../../../application/keys/api-key-repository.port.js';
import { ApiKey } from '../../../../domain/keys/api-key.js';
import { instant } from '../columns.js';

/** How API keys are kept, by their digest alone. */
export const ApiKeySchema = new EntitySchema<ApiKey>({
  name: 'api_key',
  columns: {
    digest: { type: 'varchar', length: 64, primary: true },
    name: { type: 'varchar', length: 64 },
    prefix: { type: 'varchar', length: 16 },
    createdAt: { ...instant, name: 'created_at' },
    expiresAt: { ...instant, name: 'expires_at', nullable: true },
    revokedAt: { ...instant, name: 'revoked_at', nullable: true },
  },
});

/** How the use of keys is kept: apart from the keys, because keys given by the environment are used too. */
export const KeyUseSchema = new EntitySchema<KeyUse>({
  name: 'key_use',
  columns: {
    digest: { type: 'varchar', length: 64, primary: true },
    name: { type: 'varchar', length: 64 },
    lastUsedAt: { ...instant, name: 'last_used_at' },
    getPetCalls: {
      type: 'bigint',
      name: 'get_pet_calls',
      transformer: { from: Number, to: (value: number) => value },
    },
    lastGetPetAt: { ...instant, name: 'last_get_pet_at', nullable: true },
  },
});
