// Loaded before the service, it has the database tell no version, so that every page and every pet is read from it.
const { Database } = await import('../dist/modules/src/adapters/persistence/typeorm/database.js');

Database.prototype.version = () => undefined;
