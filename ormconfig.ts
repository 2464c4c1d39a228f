import { DataSource, type DataSourceOptions } from 'typeorm';
import { persistent } from './src/adapters/persistence/database-url.js';
import { createDatabaseFile } from './src/adapters/persistence/sqlite-file.js';
import { dataSourceOptions } from './src/adapters/persistence/typeorm/data-source.js';
import { loadEnvFile, readSettings } from './src/settings.js';

loadEnvFile();
const [options] = dataSourceOptions(createDatabaseFile(persistent(readSettings().DATABASE_URL)));

/**
 * For TypeORM's own commands on a build: `npx typeorm migration:show -d dist/ormconfig.js`, `:run`, `:revert`. They
 * expect integers of SQLite that are numbers, which `prepareDatabase` makes bigints.
 */
export default new DataSource({
  ...options,
  prepareDatabase: undefined,
  logger: 'advanced-console',
} as DataSourceOptions);
