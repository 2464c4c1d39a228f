import Libsql from 'libsql';
import { Dialect, Failure } from './dialect.js';

/** The result codes that are not the statement's fault (https://www.sqlite.org/rescode.html). */
const FAILURES: readonly (readonly [RegExp, Failure])[] = [
  [/^SQLITE_CONSTRAINT_(PRIMARYKEY|UNIQUE)/, 'duplicate'],
  [/^SQLITE_BUSY/, 'busy'],
  [/^SQLITE_(LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|PERM|AUTH|PROTOCOL)/, 'unavailable'],
];

/** SQLite. */
export const sqlite: Dialect = {
  isServer: false,
  session: [],
  // Always durable: every connection is opened with synchronous=FULL.
  examine: `SELECT 'SQLite ' || sqlite_version() AS version, NULL AS problem, NULL AS risk,
    'journal_mode=' || journal_mode || ', synchronous=' || iif(synchronous = 2, 'FULL', synchronous) AS settings
    FROM pragma_journal_mode, pragma_synchronous`,
  begin: 'BEGIN IMMEDIATE',
  // TypeORM begins the transaction of migrations without the lock; a write takes it, even one that changes nothing.
  lockSchema: 'PRAGMA user_version = 0',
  returning: 'id',
  triggers: `SELECT name FROM sqlite_master WHERE type = 'trigger'`,
  lastId: (table) => `SELECT max(seq) AS last FROM sqlite_sequence WHERE name = '${table}'`,
  continueIds: (table, last) => [
    `DELETE FROM sqlite_sequence WHERE name = '${table}' AND seq < ${last}`,
    `INSERT INTO sqlite_sequence SELECT '${table}', ${last}
      WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '${table}')`,
  ],

  list({ status, max, limit }, add) {
    const from = status === undefined ? 'pet WHERE' : `pet INDEXED BY pet_status_id WHERE status = ${add(status)} AND`;
    return `FROM ${from} id <= ${add(max)} ORDER BY id DESC LIMIT ${add(limit)}`;
  },

  failure: ({ code }) => FAILURES.find(([codes]) => codes.test(String(code)))?.[1],

  versionOf(connection: unknown) {
    const statement = (connection as Libsql.Database).prepare('PRAGMA data_version').raw();
    return () => Number((statement.get() as [bigint])[0]);
  },
};
