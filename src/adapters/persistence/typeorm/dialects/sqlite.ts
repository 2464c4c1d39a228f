import Libsql from 'libsql';
import { CREATED, type Dialect, insertSql, ON_CONFLICT } from './dialect.js';

const NOW = `CAST(unixepoch('subsec') * 1000 AS integer)`;

/** SQLite. */
export const sqlite: Dialect = {
  isServer: false,
  // Always durable: every connection is opened with synchronous=FULL, which is 2.
  examine: `SELECT 'SQLite ' || sqlite_version() || ', synchronous=' || synchronous AS version,
    NULL AS problem FROM pragma_synchronous`,
  begin: 'BEGIN IMMEDIATE',
  // TypeORM begins the transaction of migrations without the lock of a write; a write that changes nothing takes it.
  lockMigrations: 'PRAGMA user_version = 0',
  lockHolder: `SELECT 'another process' AS text`,
  lastId: (table) => `SELECT max(seq) AS last FROM sqlite_sequence WHERE name = '${table}'`,
  continueIds: (table, last) => [
    `DELETE FROM sqlite_sequence WHERE name = '${table}'`,
    `INSERT INTO sqlite_sequence VALUES ('${table}', ${last})`,
  ],

  now: NOW,
  insertPets(pets, bind) {
    const added = insertSql('pet AS old', pets, bind, ({ request_key }) => ({
      requested_at: request_key === null ? 'NULL' : NOW,
    }));
    return `${added} ${ON_CONFLICT} RETURNING ${CREATED.join(', ')}`;
  },

  // One text for any number of ids, so that its prepared statement is used again.
  hasId: (ids, bind) => `id IN (SELECT value FROM json_each(${bind(`[${ids.join()}]`)}))`,

  // No `lists`: it would compile each new text.
  list(columns, { status, maxId, limit }, bind) {
    const from = status === undefined ? 'pet WHERE' : `pet INDEXED BY pet_status_id WHERE status = ${bind(status)} AND`;
    return `SELECT ${columns} FROM ${from} id <= ${bind(maxId)} ORDER BY id DESC LIMIT ${bind(limit)}`;
  },

  // https://www.sqlite.org/rescode.html
  failures: [
    [/^SQLITE_CONSTRAINT_(PRIMARYKEY|UNIQUE)/, 'duplicate'],
    [/^SQLITE_BUSY/, 'conflict'],
    [/^SQLITE_(LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|PERM|AUTH|PROTOCOL)/, 'unavailable'],
    // SQLITE_READONLY_DIRECTORY, which libsql has no name for.
    [/^UNKNOWN_SQLITE_ERROR_1544/, 'misconfigured', () => 'Its folder must be writable, too.'],
    [/^SQLITE_(NOTADB|CORRUPT)/, 'misconfigured', () => 'It must be an intact SQLite database; restore a backup.'],
    [/^/, undefined],
  ],

  versionOf(connection: unknown) {
    const statement = (connection as Libsql.Database).prepare('PRAGMA data_version').raw();
    return () => Number((statement.get() as [bigint])[0]);
  },
};
