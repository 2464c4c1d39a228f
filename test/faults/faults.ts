import { execFileSync } from 'node:child_process';
import Libsql from 'libsql';
import { requestKeyOf } from '../../src/adapters/persistence/typeorm/pets/pet-table.js';
import { digestOf } from '../../src/domain/keys/api-key.js';
import { integer, KEY, pause } from '../support/ledger.js';
import { Proxy } from '../support/proxy.js';
import { connectTo, Session } from '../support/sql.js';

/** What a fault is aimed at. */
interface Target {
  /** The id of the service's process. */
  readonly pid: number;
  /** An Idempotency-Key in flight. */
  readonly keyInFlight: string;
}

/** Makes a fault, and resolves once it is over. */
type Fault = (target: Target) => Promise<void>;

/** The faults that a database can have, by name. */
export interface Faults {
  /** The URL by which the service is to reach the database. */
  readonly url: string;
  readonly kinds: Readonly<Record<string, Fault>>;
  close(): Promise<void>;
}

/** The longest that a fault lasts, in milliseconds: longer than a request may wait. */
const LONGEST = 2_500;

/** Most faults are short. */
const lasting = (): Promise<void> => pause(integer(Math.random() < 0.7 ? 300 : LONGEST));

/** The faults of the database at this URL, of the kind with this name. */
export async function faultsOf(name: string, url: string): Promise<Faults> {
  if (name === 'SQLite') return sqliteFaults(url);
  const [proxy, proxied] = await Proxy.to(url);
  const session = await connectTo(url);
  const kinds = {
    ...networkFaults(proxy),
    ...(name === 'PostgreSQL' ? ofPostgres(session) : await ofMariadb(session)),
  };
  const close = async () => {
    await session.end();
    await proxy.close();
  };
  return { url: proxied, kinds, close };
}

function sqliteFaults(url: string): Faults {
  const other = new Libsql(url.slice('sqlite:'.length));
  const lock =
    (begin: string): Fault =>
    async () => {
      try {
        other.exec(begin);
      } catch {
        // The service has locked it.
        return;
      }
      await lasting();
      other.exec('ROLLBACK');
    };
  const limitFiles = (pid: number, bytes: string) =>
    execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);
  return {
    url,
    kinds: {
      'lock of another process': lock('BEGIN IMMEDIATE'),
      'exclusive lock of another process': lock('BEGIN EXCLUSIVE'),
      'full disk': async ({ pid }) => {
        limitFiles(pid, '0');
        await lasting();
        limitFiles(pid, 'unlimited');
      },
    },
    close: () => Promise.resolve(void other.close()),
  };
}

function networkFaults(proxy: Proxy): Faults['kinds'] {
  const until =
    (begin: () => void): Fault =>
    async () => {
      begin();
      await lasting();
      proxy.resume();
    };
  return {
    cut: until(() => proxy.cut()),
    'lost answers': until(() => proxy.loseNextAnswers(1 + integer(10))),
    'late answers': until(() => proxy.loseAnswers()),
    'late requests and answers': until(() => proxy.hang()),
    'refused connections': until(() => proxy.refuse()),
    'dead connections': until(() => {
      proxy.hang();
      proxy.forwardNew();
    }),
  };
}

/** Holds the locks that a statement takes, if it gets them. */
function hold(session: Session, begin: string, statement: (target: Target) => string, end = 'ROLLBACK'): Fault {
  return async (target) => {
    await session.query(begin);
    await session.query(statement(target)).then(lasting, () => undefined);
    await session.query(end);
  };
}

const someTable = (): string => (integer(2) === 0 ? 'pet' : 'api_key');

const LATEST_KEYS = 'SELECT * FROM pet WHERE requested_at > 0 ORDER BY requested_at DESC LIMIT 50 FOR UPDATE';

/** Stores an Idempotency-Key as another instance does while it creates the pet. */
const insertKey = ({ keyInFlight }: Target): string =>
  `INSERT INTO pet (name, category_id, status, request_key, fingerprint, requested_at) VALUES
    ('', 0, '', '${requestKeyOf({ scope: digestOf(KEY), key: keyInFlight })}', '', 0)`;

function ofPostgres(session: Session): Faults['kinds'] {
  const begin = 'BEGIN; SET LOCAL lock_timeout = 500';
  const toOthers = (call: string) =>
    session
      .query(`SELECT ${call} FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
      .then(() => undefined);
  const readOnly = (value: string) =>
    session.query(`DO $$ BEGIN
      EXECUTE 'ALTER DATABASE ' || current_database() || ' SET default_transaction_read_only = ${value}';
    END $$`);
  return {
    'locked table': hold(session, begin, () => `LOCK TABLE ${someTable()}`),
    'locked rows': hold(session, begin, () => LATEST_KEYS),
    'key of another instance': hold(session, begin, insertKey),
    'killed connections': () => toOthers('pg_terminate_backend(pid)'),
    'cancelled statements': () => toOthers('pg_cancel_backend(pid)'),
    'read-only database': async () => {
      await readOnly('on');
      await toOthers('pg_terminate_backend(pid)');
      await lasting();
      await session.query('SET default_transaction_read_only = off');
      await readOnly('off');
      await toOthers('pg_terminate_backend(pid)');
    },
  };
}

async function ofMariadb(session: Session): Promise<Faults['kinds']> {
  await session.query('SET SESSION innodb_lock_wait_timeout = 1, lock_wait_timeout = 1');
  const kill = async (what: 'CONNECTION' | 'QUERY') => {
    const rows = await session.query(
      `SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()`,
    );
    for (const [id] of rows) await session.query(`KILL ${what} ${String(id)}`).catch(() => undefined);
  };
  return {
    'locked table': hold(session, 'SELECT 1', () => `LOCK TABLES ${someTable()} WRITE`, 'UNLOCK TABLES'),
    'locked rows': hold(session, 'START TRANSACTION', () => LATEST_KEYS),
    'key of another instance': hold(session, 'START TRANSACTION', insertKey),
    'killed connections': () => kill('CONNECTION'),
    'cancelled statements': () => kill('QUERY'),
  };
}
