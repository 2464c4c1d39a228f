import type { Client } from 'pg';
import { Dialect } from './dialect.js';

/**
 * The SQLSTATEs that are the statement's fault: all of these classes but missing rights
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 */
const FAULT = /^(0A|2[0-4]|42(?!501)|P0|XX)/;

/** The pets of a status: `status = … AND id <= …`, in a form for which the planner cannot walk the whole table. */
const ofStatus = (status: string, maxId: string) =>
  `FROM pet WHERE status >= ${status} AND (status, id) <= (${status}, ${maxId}) ORDER BY status DESC, id DESC`;

/** PostgreSQL. No statement depends on state that outlives its transaction, so any pooler may be in between. */
export const postgres: Dialect = {
  isServer: true,
  // ASCII only: the database may have an encoding without any other character.
  examine: `SELECT concat('PostgreSQL ', current_setting('server_version')) AS version,
    CASE
      WHEN pg_is_in_recovery() THEN 'The server is a standby. DATABASE_URL must lead to the primary.'
      WHEN current_setting('default_transaction_read_only') = 'on' THEN
        'default_transaction_read_only is on. DATABASE_URL must lead to a database that is not read-only.'
      WHEN current_setting('server_encoding') <> 'UTF8' THEN
        concat('The encoding of the database is ', current_setting('server_encoding'), ', which cannot hold every ',
          'name exactly. Create another one: CREATE DATABASE name ENCODING ''UTF8'' TEMPLATE template0.')
    END AS problem`,

  // A lock is waited for at most 2 seconds; for the same idempotency key of another instance, say. The commit is
  // durable, whatever the settings of the server, the database or the role.
  begin: `START TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 2000;
    SELECT set_config('synchronous_commit',
      CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)`,
  // Waits for another process however long that takes, then sees what that did. The number is that of this lock.
  lockSchema: `SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 0;
    SELECT pg_advisory_xact_lock(1795132800)`,
  triggers: `SELECT tgname AS name FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
      WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace
    UNION ALL SELECT rulename FROM pg_rules WHERE schemaname = current_schema()`,
  // A row that was inserted with its id does not raise the sequence.
  lastId: (table) =>
    `SELECT greatest(pg_sequence_last_value(pg_get_serial_sequence('${table}', 'id')::regclass), max(id)) AS last
    FROM ${table}`,
  continueIds: (table, last) => [`SELECT setval(pg_get_serial_sequence('${table}', 'id'), ${last})`],

  list(columns, { status, maxId, limit }, add) {
    const all = () => `FROM pet WHERE id <= ${add(maxId)} ORDER BY id DESC`;
    const pets = status === undefined ? all() : ofStatus(add(status), add(maxId));
    return `SELECT ${columns} ${pets} LIMIT ${add(limit)}`;
  },

  // Of a union the server would plan each part: a sixth fewer requests per second.
  lists(columns, queries, add) {
    const limits = queries.map((each) => each.limit);
    const lists = [queries.map((each) => each.status), queries.map((each) => each.maxId), limits].map(add);
    // Without a limit that it knows, the planner might read and sort the whole table.
    const most = add(Math.max(...limits));
    return `SELECT pet.*, place - 1 AS place
      FROM unnest(${lists[0]}::text[], ${lists[1]}::bigint[], ${lists[2]}::int[])
        WITH ORDINALITY AS list (only_status, max_id, count, place),
      LATERAL (
        (SELECT ${columns} FROM pet WHERE only_status IS NULL AND id <= max_id ORDER BY id DESC LIMIT ${most})
        UNION ALL (SELECT ${columns} ${ofStatus('only_status', 'max_id')} LIMIT ${most}) LIMIT count
      ) AS pet`;
  },

  failure({ code, where }) {
    if (code === '23505') return 'duplicate';
    if (code === '40001' || code === '40P01') return 'busy';
    // With the place of a row in the context the lock that was waited for is this row's, not its table's.
    if (code === '55P03') return /\(\d+,\d+\)/.test(String(where)) ? 'rowLocked' : 'unavailable';
    return FAULT.test(String(code)) ? undefined : 'unavailable';
  },

  discard: (connection) => void (connection as Client).end().catch(() => undefined),
};
