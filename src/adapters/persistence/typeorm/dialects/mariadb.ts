import { PoolConnection } from 'mysql2';
import type { QueryFailedError } from 'typeorm';
import { CREATED, type Dialect, insertSql, replay } from './dialect.js';
import { type DriverError, MISSING_TABLE_ADVICE, TLS_FAILURES } from './failure-rules.js';

/** The shortest wait for a row besides none is a second, for which the rest of a batch would wait, too. */
const WITHOUT_WAIT = 'SET STATEMENT innodb_lock_wait_timeout = 0 FOR';

/** In whole seconds: a time with fractions would have to be converted from the time zone of the session. */
const NOW = 'UNIX_TIMESTAMP() * 1000';

/** MariaDB 10.6 and later, with one writer. */
export const mariadb: Dialect = {
  isServer: true,

  /**
   * Settings of the server or the account must have no effect; the INSERT of pets, for one, must commit by itself.
   * mysql2 needs backslash escapes in the sql_mode. A lock is waited for 2 seconds. A client that has vanished keeps
   * its locks for a minute, not for hours; a copy is idle while its source counts rows. MySQL, of which `examine`
   * tells, lacks that setting.
   */
  session: [
    // An init_connect of the server may have set another character set, in which names would be lost.
    'SET NAMES utf8mb4 COLLATE utf8mb4_bin',
    `SET SESSION autocommit = 1, completion_type = 'NO_CHAIN',
      lock_wait_timeout = 2, innodb_lock_wait_timeout = 2, unique_checks = 1, /*M! idle_transaction_timeout = 60, */
      sql_safe_updates = 0, sql_big_selects = 1, sql_select_limit = 18446744073709551615,
      sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO'`,
    // Not by its variable, which has another name from 11.1 on. READ COMMITTED fails with binlog_format=STATEMENT.
    'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE',
  ],

  // read_only as text: it is a number up to MariaDB 11, and a word from 12 on.
  examine: `SELECT CONCAT(@@version_comment, ' ', @@version) AS version,
    CASE
      WHEN @@version NOT LIKE '%MariaDB%' THEN 'The server is MySQL, which is not supported; MariaDB 10.6 and later is.'
      WHEN CONCAT(@@global.read_only) <> 'OFF' THEN 'The server is read-only. The URL must lead to the primary.'
      WHEN @@innodb_flush_log_at_trx_commit <> 1
        THEN 'A 201 would not be on disk: innodb_flush_log_at_trx_commit must be 1.'
      /*M! WHEN @@enforce_storage_engine <> 'InnoDB'
        THEN 'The tables need InnoDB: enforce_storage_engine must be InnoDB, or not set.' */
    END AS problem`,

  rights: (table, columns) => [
    `SELECT ${columns} FROM ${table} WHERE 1 = 0`,
    `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM ${table} WHERE 1 = 0`,
    `UPDATE ${table} SET ${columns.split(',', 1)[0]} = NULL WHERE 1 = 0`,
    `DELETE FROM ${table} WHERE 1 = 0`,
  ],

  async migrationProblem(query) {
    // The right is checked before whether the table exists, which none of them does.
    for (const probe of [
      'ALTER TABLE petstore_absent RENAME TO petstore_absent_too',
      'CREATE INDEX petstore_absent_index ON petstore_absent (id)',
    ])
      await query(probe).catch((error: QueryFailedError<DriverError>) => {
        if (error.driverError?.errno !== 1146) throw error;
      });
    return null;
  },

  begin: 'START TRANSACTION',
  lockMigrations: `SELECT GET_LOCK(CONCAT('petstore-schema-', MD5(DATABASE())), 86400)`,
  // Without the right PROCESS these are the connections of the same user only.
  lockHolder: `SELECT GROUP_CONCAT(CONCAT(user, '@', host, ' (id ', id, ')') ORDER BY time DESC SEPARATOR ' or ')
    AS text FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()`,
  estimate: (table) => `SELECT table_rows AS count FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_name = '${table}'`,
  statementProgress: `SELECT CONCAT(state, ', stage ', stage, ' of ', max_stage, ', ', FLOOR(progress), ' %') AS text
    FROM information_schema.processlist WHERE db = DATABASE() AND max_stage > 0`,
  lastId: (table) => `SELECT auto_increment - 1 AS last FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_name = '${table}'`,
  // ALTER TABLE would commit. IGNORE fills the columns that have no default.
  continueIds: (table, last) => [
    `INSERT IGNORE INTO ${table} (id) VALUES (${last})`,
    `DELETE FROM ${table} WHERE id = ${last}`,
  ],

  now: NOW,
  insertPets(pets, bind) {
    const added = insertSql('pet', pets, bind, ({ request_key }) => ({
      requested_at: request_key === null ? 'NULL' : NOW,
    }));
    const update = replay('pet', (column) => `VALUES(${column})`);
    return `${WITHOUT_WAIT} ${added} ON DUPLICATE KEY UPDATE ${update} RETURNING ${CREATED.join(', ')}`;
  },
  lockKey: (key, bind) => `${WITHOUT_WAIT} SELECT id FROM pet WHERE request_key = ${bind(key)} FOR UPDATE`,

  hasId: (ids, bind) => `id IN (${ids.map(bind).join(', ')})`,

  list(columns, { status, maxId, limit }, bind) {
    const where = status === undefined ? '(PRIMARY) WHERE' : `(pet_status_id) WHERE status = ${bind(status)} AND`;
    return `SELECT ${columns} FROM pet FORCE INDEX ${where} id <= ${bind(maxId)} ORDER BY id DESC LIMIT ${bind(limit)}`;
  },

  lists(columns, queries, bind) {
    return queries.map((each, i) => `(${this.list(`${columns}, ${i} AS place`, each, bind)})`).join(' UNION ALL ');
  },

  // By errno and SQLSTATE: https://mariadb.com/kb/en/mariadb-error-code-reference/
  failures: [
    ...TLS_FAILURES,
    [/ 1062 /, 'duplicate'],
    // A row that changed since it was read, and a deadlock.
    [/ (1020|1213) /, 'conflict'],
    [/ 1205 /, 'rowLocked'],
    [
      / (1045|1130|1698|1820|1862|4151) /,
      'misconfigured',
      // It does not say whether the account demands encryption.
      ({ host, tls }) =>
        `The user and the password must be those of ${host}, and the account must admit this client` +
        `${tls ? '' : '; if it demands encryption, the URL must have ssl=require'}.`,
    ],
    [/ 1146 /, 'misconfigured', () => MISSING_TABLE_ADVICE],
    [/ 1049 /, 'misconfigured', ({ database }) => `Create it: CREATE DATABASE \`${database}\`.`],
    [
      / (1044|1142|1143|1227) /,
      'misconfigured',
      ({ database, user }) =>
        `An administrator grants it: GRANT SELECT, INSERT, UPDATE, DELETE ON \`${database}\`.* TO \`${user}\`. ` +
        'Migrations need ALL.',
    ],
    // Limits of the account, which share their SQLSTATE with wrong statements.
    [/ (1203|1226) /, 'unavailable'],
    // 1644: what a trigger signals.
    [/ 1644 | (0A|2[0-4]|4[25])\w{3} /, undefined],
  ],

  discard: (connection) => (connection as PoolConnection).destroy(),
};
