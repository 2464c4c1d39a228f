import { DataSource } from 'typeorm';
import { lasting } from './src/adapters/persistence/database-url.js';
import { dataSourceOptions } from './src/adapters/persistence/typeorm/data-source.js';
import { readSettings } from './src/settings.js';

/** The DataSource of the service, for TypeORM's own commands: `npx typeorm migration:show -d dist/ormconfig.js`. */
export default new DataSource(dataSourceOptions(lasting('DATABASE_URL', readSettings().DATABASE_URL)));
