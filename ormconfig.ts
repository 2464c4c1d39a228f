import { DataSource } from 'typeorm';
import { dataSourceOptions } from './src/adapters/persistence/typeorm/data-source.js';
import { readSettings } from './src/settings.js';

const { DATABASE_URL: database } = readSettings();
if (database.engine === 'memory') throw new Error('DATABASE_URL=memory: has no schema; set it to a database.');

/** The DataSource of the service, for TypeORM's own commands: `npx typeorm migration:show -d dist/ormconfig.js`. */
export default new DataSource(dataSourceOptions(database));
