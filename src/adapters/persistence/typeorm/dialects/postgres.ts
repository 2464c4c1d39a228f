import type { Client } from 'pg';
import type { QueryFailedError } from 'typeorm';
import type { ServerUrl } from '../../../../settings/database-url.js';
import { CREATED, type Dialect, NEW_ROW, ON_CONFLICT } from './dialect.js';
import { DriverError, MISSING_TABLE_ADVICE, TLS_FAILURES } from './failure-rules.js';

/** How to grant the right that a statement lacks, other than those on tables, which `examine` names. */
function grant({ user }: ServerUrl, { driverError: { message } }: QueryFailedError<DriverError>): string {
  const [, schema] = /^permission denied for schema (\S+)/.exec(message) ?? [];
  if (schema !== undefined)
    return (
      'The owner of the database runs "petstore migrate", or an administrator grants it: ' +
      `GRANT USAGE, CREATE ON SCHEMA ${schema} TO "${user}".`
    );
  if (message.startsWith('must be owner')) return 'The role that owns the tables migrates them: "petstore migrate".';
  return '"Roles and rights" in docs/databases.md has the rights that a role needs.';
}

/** The tables, as an array. */
const TABLES = `ARRAY['pet', 'api_key', 'key_use', 'migrations']`;

/** Selects the rights that the role lacks on tables that exist, without a lock. */
const MISSING_RIGHTS = `SELECT string_agg(missing, ', ') FROM (
    SELECT concat(privilege, ' ON ', name) AS missing
    FROM unnest(${TABLES}) AS name,
      unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
    WHERE NOT has_table_privilege(to_regclass(name), privilege) AND (name <> 'migrations' OR privilege = 'SELECT')
    UNION ALL SELECT 'USAGE ON pet_id_seq' WHERE NOT has_sequence_privilege(to_regclass('pet_id_seq'), 'USAGE')
  ) AS rights`;

/** Selects why the role has no schema for its tables, which only its settings or another role can mend. */
const MISSING_SCHEMA = `coalesce(
    (SELECT format('The role %1$I may not use the schema %2$I of its search_path. An administrator grants it: '
        'GRANT USAGE, CREATE ON SCHEMA %2$I TO %1$I.', current_user, nspname)
      FROM pg_namespace, unnest(string_to_array(current_setting('search_path'), ',')) AS name
      WHERE nspname = replace(trim(BOTH '" ' FROM name), '$user', current_user) LIMIT 1),
    format('The search_path names no schema that exists (%s). The URL, the role or the database sets it; one that is '
      'right: ALTER ROLE %I SET search_path = public.', nullif(current_setting('search_path'), ''), current_user)
  )`;

/** The pets of a status: `status = … AND id <= …`, in a form for which the planner cannot walk the whole table. */
const ofStatus = (status: string, maxId: string) =>
  `FROM pet WHERE status >= ${status} AND (status, id) <= (${status}, ${maxId}) ORDER BY status DESC, id DESC`;

/** Makes the commit of the transaction durable, whatever the settings of the server, the database or the role. */
const DURABLE = `set_config('synchronous_commit',
  CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)`;

const NOW = '(extract(epoch FROM now()) * 1000)::bigint';

const NEW_ROW_COLUMNS = Object.keys(NEW_ROW).join(', ');

/** The columns of the rows that are sent, with the `place` of each. */
const SENT = Object.entries({ ...NEW_ROW, place: 'int' })
  .map((column) => column.join(' '))
  .join(', ');

/** PostgreSQL. No statement depends on state that outlives its transaction: a pooler of the primary may be between. */
export const postgres: Dialect = {
  isServer: true,
  // ASCII only: the database may have an encoding without any other character.
  examine: `SELECT concat('PostgreSQL ', current_setting('server_version')) AS version,
    CASE
      WHEN pg_is_in_recovery() THEN 'The server is a standby. The URL must lead to the primary.'
      WHEN current_setting('default_transaction_read_only') = 'on' THEN
        'default_transaction_read_only is on. The URL must lead to a database that is not read-only.'
      WHEN current_setting('server_encoding') <> 'UTF8' THEN
        concat('The encoding of the database is ', current_setting('server_encoding'), ', which cannot hold every ',
          'name exactly. Create another one: CREATE DATABASE name ENCODING ''UTF8'' TEMPLATE template0.')
      WHEN current_schema() IS NULL THEN ${MISSING_SCHEMA}
      ELSE coalesce(
        (SELECT format('The role %1$I lacks rights: %2$s. "Roles and rights" in docs/databases.md grants them.',
          current_user, missing) FROM (${MISSING_RIGHTS}) AS lacking (missing) WHERE missing IS NOT NULL),
        (SELECT format('Row-level security applies to the role %1$I on %2$s, which hides or rejects rows. Their '
            'owner disables it (ALTER TABLE ... DISABLE ROW LEVEL SECURITY), or an administrator lets the role bypass '
            'it: ALTER ROLE %1$I BYPASSRLS.', current_user, string_agg(name, ', '))
          FROM unnest(${TABLES}) AS name WHERE row_security_active(to_regclass(name)) HAVING count(*) > 0)
      )
    END AS problem`,

  async migrationProblem(query) {
    const [row] = await query<{ problem: string | null }>(`SELECT CASE
      WHEN EXISTS (SELECT FROM unnest(${TABLES}) AS name JOIN pg_class ON oid = to_regclass(name)
          WHERE NOT pg_has_role(relowner, 'USAGE')) THEN
        format('The role %I does not own the tables. The role that owns them migrates them: "petstore migrate".',
          current_user)
      WHEN NOT has_schema_privilege(current_schema(), 'CREATE') THEN
        format('The role %1$I may not create tables in the schema %2$I. The owner of the database runs "petstore '
          'migrate", or an administrator grants it: GRANT USAGE, CREATE ON SCHEMA %2$I TO %1$I.',
          current_user, current_schema())
      END AS problem`);
    return row?.problem ?? null;
  },

  // A lock is waited for at most 2 seconds.
  begin: `START TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 2000; SELECT ${DURABLE}`,
  // Waits for another process however long that takes, then sees what that did; for a table 2 seconds.
  lockMigrations: `SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 0;
    SELECT pg_advisory_xact_lock(1795132800); SET LOCAL lock_timeout = 2000`,
  lockHolder: `SELECT concat(usename, ' (pid ', pid, ', application ', application_name, ')') AS text
    FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE granted AND relation IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace)
      AND datname = current_database() AND pid <> pg_backend_pid()
    ORDER BY xact_start LIMIT 1`,
  findings: `SELECT 'connection check' AS name, 'warn' AS state,
      'A statement that waits for a lock goes on after its request has ended.' AS found,
      format('ALTER ROLE %I SET client_connection_check_interval = ''1s''.', current_user) AS advice
    WHERE current_setting('client_connection_check_interval', true) = '0'`,
  // Negative before the first ANALYZE.
  estimate: (table) => `SELECT CASE WHEN reltuples >= 0 THEN reltuples ELSE (SELECT count(*) FROM ${table}) END AS count
    FROM pg_class WHERE oid = to_regclass('${table}')`,
  statementProgress: `SELECT concat(phase, ', ' || 100 * blocks_done / nullif(blocks_total, 0) || ' %') AS text
    FROM pg_stat_progress_create_index WHERE datname = current_database()`,
  // A row that was inserted with its id does not raise the sequence.
  lastId: (table) =>
    `SELECT greatest(pg_sequence_last_value(pg_get_serial_sequence('${table}', 'id')::regclass), max(id)) AS last
    FROM ${table}`,
  continueIds: (table, last) => [`SELECT setval(pg_get_serial_sequence('${table}', 'id'), ${last})`],

  now: NOW,

  // One statement, not the three of a transaction: one round trip, and two fifths less of the client's CPU time than if
  // the three are pipelined. What reads a materialized CTE runs after it, so the commit has its setting. A key that
  // another transaction holds is waited for 10 ms, at most nine times while the batch is halved.
  insertPets(pets, bind) {
    const rows = bind(
      JSON.stringify(
        pets.map((row, place) => ({ ...row, place })),
        (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
      ),
    );
    return `WITH settings AS MATERIALIZED (SELECT set_config('lock_timeout', '10', true), ${DURABLE}),
      stored AS (
        INSERT INTO pet AS old (${NEW_ROW_COLUMNS}, requested_at)
        SELECT ${NEW_ROW_COLUMNS}, CASE WHEN request_key IS NOT NULL THEN ${NOW} END
        FROM settings, json_to_recordset(${rows}::json) AS sent (${SENT}) ORDER BY place
        ${ON_CONFLICT}
        RETURNING ${CREATED.join(', ')}
      )
      SELECT *, 1 / (SELECT (count(*) = ${pets.length})::int FROM stored) AS division_by_zero_if_any_is_discarded
      FROM stored`;
  },

  skipIds: `SELECT setval(ids, greatest(nextval(ids), (SELECT max(id) FROM pet)))
    FROM (SELECT pg_get_serial_sequence('pet', 'id')::regclass AS ids) AS sequence`,

  hasId: (ids, bind) => `id = ANY (${bind(ids)}::bigint[])`,

  list(columns, { status, maxId, limit }, bind) {
    const all = () => `FROM pet WHERE id <= ${bind(maxId)} ORDER BY id DESC`;
    const pets = status === undefined ? all() : ofStatus(bind(status), bind(maxId));
    return `SELECT ${columns} ${pets} LIMIT ${bind(limit)}`;
  },

  // Of a union the server would plan each part: a sixth fewer requests per second.
  lists(columns, queries, bind) {
    const limits = queries.map((each) => each.limit);
    // An empty text for all: with array_nulls=off, which a role may have set, a null would be the text NULL.
    const lists = [queries.map((each) => each.status ?? ''), queries.map((each) => each.maxId), limits].map(bind);
    // Without a limit that it knows, the planner might read and sort the whole table.
    const most = bind(Math.max(...limits));
    return `SELECT pet.*, place - 1 AS place
      FROM unnest(${lists[0]}::text[], ${lists[1]}::bigint[], ${lists[2]}::int[])
        WITH ORDINALITY AS list (only_status, max_id, count, place),
      LATERAL (
        (SELECT ${columns} FROM pet WHERE only_status = '' AND id <= max_id ORDER BY id DESC LIMIT ${most})
        UNION ALL (SELECT ${columns} ${ofStatus('only_status', 'max_id')} LIMIT ${most}) LIMIT count
      ) AS pet`;
  },

  // By SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html
  failures: [
    ...TLS_FAILURES,
    [/^23505/, 'duplicate'],
    // The row of a key, with its place, such as (0,1), in the context, in whatever language the server speaks; that of
    // an id would name the index pet_pkey.
    [/^55P03 .*\(\d+,\d+\).*\bpet\b/s, 'rowLocked'],
    // 55P03 for anything else: most often a table that is extended, or another waiter for the same row.
    [/^(40001|40P01|55P03)/, 'conflict'],
    [
      /^28/,
      'misconfigured',
      ({ host }) => `The user and the password must be those of ${host}, and its pg_hba.conf must admit them.`,
    ],
    [
      /^3D000/,
      'misconfigured',
      ({ database, user }) =>
        `Create it: CREATE DATABASE "${database}" OWNER "${user}" ENCODING 'UTF8' TEMPLATE template0.`,
    ],
    // The schema was dropped while the service ran: a new connection says more.
    [/^3F000/, 'misconfigured', () => 'The search_path of the role must name a schema that exists.'],
    [/^42501/, 'misconfigured', grant],
    [/^42P01/, 'misconfigured', () => MISSING_TABLE_ADVICE],
    // Every other SQLSTATE, that of a trigger's own too, unless it tells of the connection or the state of the server.
    [/^(?!EPIPE|08|2[56]|5[3578]|72|F0)[0-9A-Z]{5} /, undefined],
  ],

  discard: (connection) => void (connection as Client).end().catch(() => undefined),
};
