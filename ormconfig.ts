import { engineOf } from './src/adapters/persistence/typeorm/open-database.js';
import { readConfig } from './src/config.js';

const { database, databaseLimits } = readConfig();
if (database.engine === 'memory') throw new Error('DATABASE_URL=memory: has no schema; set it to a database.');

/** The DataSource of the service, for TypeORM's own commands: `npx typeorm migration:show -d dist/ormconfig.js`. */
export default (await engineOf(database, databaseLimits)).dataSource;
