import { DataSource } from 'typeorm';
import { lasting } from './src/adapters/persistence/database-url.js';
import { dataSourceOptions } from './src/adapters/persistence/typeorm/data-source.js';
import { readSettings } from './src/settings.js';

const options = dataSourceOptions(lasting('DATABASE_URL', readSettings().DATABASE_URL));

/** For TypeORM's own commands on a build: `npx typeorm migration:show -d dist/ormconfig.js`, `:run`, `:revert`. */
export default new DataSource({ ...options, logger: 'advanced-console' });
