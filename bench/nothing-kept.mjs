// Loaded before the service, it has SQLite tell no revision, so that every page and every pet is read from the database.
const { SqliteEngine } = await import('../dist/modules/src/adapters/persistence/typeorm/engines/sqlite.engine.js');

SqliteEngine.prototype.revision = () => undefined;
