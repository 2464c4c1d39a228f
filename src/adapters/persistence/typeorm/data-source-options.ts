import type { DataSourceOptions } from 'typeorm';
import type { Host, ServerUrl } from '../database-url.js';
import { ApiKeySchema, KeyUseSchema } from './keys/api-key.schema.js';
import { IdempotencyKeySchema } from './pets/idempotency-key.schema.js';
import { InstallationSchema } from './installation/installation.schema.js';
import { CreateTables1795132800000 } from './migrations/1795132800000-create-tables.js';
import { petSchema } from './pets/pet.schema.js';
import { Table } from './table.js';

/** What is kept, with the type that the engine has for an id. */
export function entities(idType: 'bigint' | 'integer') {
  return [petSchema(idType), ApiKeySchema, KeyUseSchema, IdempotencyKeySchema, InstallationSchema];
}

/** The same as tables. */
export const tables = entities('bigint').map((schema) => new Table<object>(schema));

/** What the DataSource of every engine has in common. The migrations alone make the schema, on all of them. */
export const dataSourceOptions = {
  entities: entities('bigint'),
  migrations: [CreateTables1795132800000],
  migrationsTransactionMode: 'each' as const,
  synchronize: false,
  logging: false,
} satisfies Partial<DataSourceOptions>;

/** What that of an engine on a server says besides: where the database is, and as whom to use it. */
export function serverOptions({ user, password, database }: ServerUrl, host: Host) {
  return { ...dataSourceOptions, ...host, username: user, password, database };
}
