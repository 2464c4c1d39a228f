import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import Libsql from 'libsql';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { Random } from '../hostile/generated-requests.js';
import { Proxy } from '../support/proxy.js';

/** What the saboteur in the service is told; see saboteur.mjs. */
export interface Orders {
  readonly errors?: readonly string[];
  /** How likely a statement is to fail. */
  readonly rate?: number;
  /** How long a commit of SQLite takes at least, in milliseconds. */
  readonly slow?: number;
  /** By how much the clock of the service is wrong, in milliseconds. */
  readonly clock?: number;
}

/** What a trouble has at hand. */
export interface Hands {
  readonly random: Random;
  readonly order: (orders: Orders) => void;
  /** An Idempotency-Key that is on its way. */
  readonly someKey: () => string;
}

/** One kind of trouble: makes it, and resolves once it is over. */
export type Trouble = (hands: Hands) => Promise<void>;

/** The kinds of trouble that there are with a store, by name, and how to be ready for them no more. */
export interface Troubles {
  /** The URL under which the service is to find the store. */
  readonly url: string;
  readonly kinds: Readonly<Record<string, Trouble>>;
  close(): Promise<void>;
}

/** The API key of the clients. */
export const KEY = 'key-of-the-faults-test';

/** How long a trouble that has a length may last, in milliseconds: beyond the limits, too. */
const LONGEST = 2_500;

/** How far the clock may be wrong, in milliseconds: keys that are ever compared are then no 24 hours apart. */
const CLOCK = 11 * 3_600_000;

/** What the errors of a statement are on each kind of store: SQLSTATEs, numbers of MariaDB, result codes of SQLite. */
const ERRORS: Readonly<Record<string, readonly string[]>> = {
  memory: [],
  // Busy is likely to go unnoticed; the others are told as 503.
  SQLite: [
    ...['SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT', 'SQLITE_FULL', 'SQLITE_IOERR_WRITE', 'SQLITE_IOERR_FSYNC'],
    ...['SQLITE_READONLY', 'SQLITE_LOCKED', 'SQLITE_CANTOPEN', 'SQLITE_NOMEM'],
  ],
  // Serialization, deadlock, lock, time limit, shutdown, connections, disk, read-only, connection, transaction that was idle.
  PostgreSQL: ['40001', '40P01', '55P03', '57014', '57P01', '53300', '53100', '25006', '08006', '25P03'],
  // Deadlock, changed row, lock, time limits, connections, disk, table full, read-only, shutdown, killed.
  MariaDB: ['1213', '1020', '1205', '3024', '1969', '1040', '1021', '1114', '1290', '1053', '1317'],
};

function length(random: Random): number {
  // Mostly short.
  return random.chance(0.7) ? random.int(300) : random.int(LONGEST);
}

const clock: Trouble = async ({ random, order }) => {
  order({ clock: random.between(-CLOCK, CLOCK) });
  await delay(random.int(200));
};

function errorsOf(name: string): Readonly<Record<string, Trouble>> {
  const errors = ERRORS[name] ?? [];
  return Object.fromEntries(
    errors.map((error) => [
      `error ${error}`,
      async ({ random, order }: Hands) => {
        order({ errors: [error], rate: random.pick([0.02, 0.1, 0.5, 1]) });
        await delay(length(random));
        order({ rate: 0 });
      },
    ]),
  );
}

/** The troubles with the store at this URL, of a kind that has this name. */
export async function troublesOf(name: string, url: string): Promise<Troubles> {
  const kinds = { clock, ...errorsOf(name) };
  if (name === 'memory') return { url, kinds, close: () => Promise.resolve() };
  if (name === 'SQLite') return sqliteTroubles(url, kinds);
  const [proxy, proxied] = await Proxy.to(url);
  const server = name === 'PostgreSQL' ? await postgresTroubles(url) : await mariadbTroubles(url);
  const close = async () => {
    await server.close();
    await proxy.close();
  };
  return { url: proxied, kinds: { ...kinds, ...networkTroubles(proxy), ...server.kinds }, close };
}

function sqliteTroubles(url: string, kinds: Troubles['kinds']): Troubles {
  const other = new Libsql(url.slice('sqlite:'.length));
  const lock = (begin: string): Trouble => {
    return async ({ random }) => {
      try {
        other.exec(begin);
      } catch {
        // The service was at it.
        return;
      }
      await delay(length(random));
      other.exec('ROLLBACK');
    };
  };
  return {
    url,
    kinds: {
      ...kinds,
      'lock of another process': lock('BEGIN IMMEDIATE'),
      'exclusive lock of another process': lock('BEGIN EXCLUSIVE'),
      'slow disk': async ({ random, order }) => {
        order({ slow: random.int(150) });
        await delay(length(random));
        order({ slow: 0 });
      },
    },
    close: () => Promise.resolve(void other.close()),
  };
}

function networkTroubles(proxy: Proxy): Troubles['kinds'] {
  /** Something that lasts until all is forwarded again. */
  const until =
    (begin: (random: Random) => void): Trouble =>
    async ({ random }) => {
      begin(random);
      await delay(length(random));
      proxy.resume();
      // What was heard is of no interest, and would fill the memory.
      proxy.sent();
    };
  return {
    cut: until(() => proxy.cut()),
    'lost answers': until((random) => proxy.loseNextAnswers(random.between(1, 10))),
    'late answers': until(() => proxy.loseAnswers()),
    'late requests and answers': until(() => proxy.hang()),
    'refused connections': until(() => proxy.refuse()),
    'forgotten connections': until(() => {
      proxy.hang();
      proxy.forwardNew();
    }),
  };
}

async function postgresTroubles(url: string): Promise<Pick<Troubles, 'kinds' | 'close'>> {
  const other = new pg.Client(url);
  await other.connect();
  const hold =
    (...statements: string[]): Trouble =>
    async ({ random }) => {
      await other.query(`BEGIN; SET LOCAL lock_timeout = 500`);
      await other.query(statements.join('; ')).then(
        () => delay(length(random)),
        () => undefined,
      );
      await other.query('ROLLBACK');
    };
  const OTHERS = `FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`;
  return {
    kinds: {
      'locked table': (hands) => hold(`LOCK TABLE ${hands.random.pick(['pet', 'idempotency_key'])}`)(hands),
      'locked rows': hold('SELECT * FROM idempotency_key ORDER BY created_at DESC LIMIT 50 FOR UPDATE'),
      'key of another instance': (hands) => hold(insertKey(hands.someKey()))(hands),
      'killed connections': async () => void (await other.query(`SELECT pg_terminate_backend(pid) ${OTHERS}`)),
      'cancelled statements': async () => void (await other.query(`SELECT pg_cancel_backend(pid) ${OTHERS}`)),
    },
    close: () => other.end(),
  };
}

async function mariadbTroubles(url: string): Promise<Pick<Troubles, 'kinds' | 'close'>> {
  const { hostname, port, username, pathname } = new URL(url);
  const database = pathname.slice(1);
  const other = await mysql.createConnection({ host: hostname, port: Number(port), user: username, database });
  await other.query('SET SESSION innodb_lock_wait_timeout = 1, lock_wait_timeout = 1');
  const hold =
    (begin: string, statement: string, end: string): Trouble =>
    async ({ random }) => {
      await other.query(begin);
      await other.query(statement).then(
        () => delay(length(random)),
        () => undefined,
      );
      await other.query(end);
    };
  const each =
    (what: string): Trouble =>
    async () => {
      const [rows] = await other.query(
        `SELECT id FROM information_schema.processlist WHERE db = '${database}' AND id <> CONNECTION_ID()`,
      );
      for (const { id } of rows as { id: number }[]) await other.query(`KILL ${what} ${id}`).catch(() => undefined);
    };
  const row = (statement: string) => hold('START TRANSACTION', statement, 'ROLLBACK');
  return {
    kinds: {
      'locked table': (hands) => {
        const table = hands.random.pick(['pet', 'idempotency_key']);
        return hold('SELECT 1', `LOCK TABLES ${table} WRITE`, 'UNLOCK TABLES')(hands);
      },
      'locked rows': row('SELECT * FROM idempotency_key ORDER BY created_at DESC LIMIT 50 FOR UPDATE'),
      'key of another instance': (hands) => row(insertKey(hands.someKey()))(hands),
      'killed connections': each('CONNECTION'),
      'cancelled statements': each('QUERY'),
    },
    close: () => other.end(),
  };
}

/** Stores an idempotency key as another instance would that is still at it. */
function insertKey(key: string): string {
  const scope = createHash('sha256').update(KEY).digest('hex');
  return `INSERT INTO idempotency_key (scope, token, fingerprint, pet_id, created_at)
    VALUES ('${scope}', '${key}', '', 0, '2026-01-01T00:00:00.000Z')`;
}
