import { DataSource, type DataSourceOptions } from 'typeorm';
import { persistent } from './src/settings/database-url.js';
import { createDatabaseFile } from './src/adapters/persistence/sqlite-file.js';
import { dataSourceOptions, withDataSource } from './src/adapters/persistence/typeorm/data-source.js';
import { prepareEnvironment, readSetting } from './src/settings/settings.js';

prepareEnvironment();
const url = createDatabaseFile(persistent(readSetting('DATABASE_URL')));
// Whether the server encrypts, only a connection tells.
const options = await withDataSource(dataSourceOptions(url), (source) => Promise.resolve(source.options));

/**
 * For TypeORM's own commands on a build: `npx --no typeorm migration:show -d dist/ormconfig.js`, `:run`, `:revert`. They
 * expect integers of SQLite that are numbers, which `prepareDatabase` makes bigints.
 */
export default new DataSource({
  ...options,
  prepareDatabase: undefined,
  logger: 'advanced-console',
} as DataSourceOptions);
