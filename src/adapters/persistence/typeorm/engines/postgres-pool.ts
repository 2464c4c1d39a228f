import { Socket } from 'node:net';
import pg from 'pg';
import { fail, Finding, ok } from '../../../../application/finding.js';
import type { Host } from '../../database-url.js';
import type { ServerState, StandbyState } from './engine.js';
import { NotPrimary, Primary, primaryMoved, PrimaryPool } from './primary.js';
import { answersDue, breakIfUnreadable, breakWhenStill, nothingDue } from './standstill.js';

/** How long a statement waits for a lock, in milliseconds; for the same idempotency key of another instance, say. */
const LOCK_TIMEOUT = 2_000;

/** PostgreSQL's own code for a server that cannot be used now: one that has just been found out is as good as lost. */
const CANNOT_CONNECT_NOW = '57P03';

/** What a server says of itself that tells whether it can be written. */
interface Role {
  readonly standby: boolean;
  readonly readOnly: string;
}

const ROLE = `SELECT pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only') AS "readOnly"`;

/** Those that follow a primary. A role that may not know gets rows without a place in the log, as a backup that is being made has. */
const STANDBYS = `SELECT application_name AS name, COALESCE(host(client_addr), '') AS address,
    max(EXTRACT(EPOCH FROM COALESCE(replay_lag, '0')))::float8 AS seconds,
    max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn))::float8 AS bytes
  FROM pg_stat_replication WHERE replay_lsn IS NOT NULL GROUP BY 1, 2`;

/** What a transaction is told by how it begins, and a pooler sees to by itself. */
const OF_A_SESSION = [
  "default_transaction_isolation = 'read committed'",
  'default_transaction_deferrable = off',
  "client_encoding = 'UTF8'",
];

export interface LimitedPoolOptions extends pg.PoolConfig {
  readonly primary: Primary;
  /** Whether one that cannot be written will do. */
  readonly standbyToo: boolean;
  /** How long a statement may take, in milliseconds; 0 for as long as it likes. */
  readonly statementTimeout: number;
  /** What a new connection is told first; absent if that would not last. */
  readonly greeting: string | undefined;
}

type ConnectCallback = (error: Error | undefined, client: pg.PoolClient | undefined, release: () => void) => void;

/** A pool of connections to the primary, which are broken if a statement takes longer than it may. */
export class LimitedPool extends pg.Pool implements PrimaryPool {
  private readonly clients = new Set<pg.PoolClient>();

  constructor({ primary, standbyToo, statementTimeout, greeting, ...options }: LimitedPoolOptions) {
    super({
      ...options,
      ...primary.host,
      stream: newSocket,
      onConnect: (client) => {
        breakWhenStill(socketOf(client));
        // Who waits for an answer is told by a rejection; without a listener the event would end the process.
        client.on('error', () => undefined);
        if (statementTimeout > 0) answersDue(socketOf(client), statementTimeout);
        return greet(client, greeting, standbyToo) as unknown as void;
      },
    });
    this.on('connect', (client) => this.clients.add(client));
    this.on('remove', (client) => this.clients.delete(client));
    if (statementTimeout === 0) return;
    this.on('acquire', (client) => answersDue(socketOf(client), statementTimeout));
    this.on('release', (_error, client) => nothingDue(socketOf(client)));
  }

  /** From now on calls `tell` with how long each question has waited for its connection, in milliseconds. */
  tellWaits(tell: (duration: number) => void): void {
    const connect = super.connect.bind(this) as (callback?: ConnectCallback) => Promise<pg.PoolClient>;
    // What runs a single statement comes here too, with a callback.
    this.connect = ((callback) => {
      const begun = performance.now();
      const done = () => tell(performance.now() - begun);
      if (!callback) return connect().finally(done);
      return connect((error, client, release) => {
        done();
        callback(error, client, release);
      });
    }) as typeof connect as typeof this.connect;
  }

  moveTo(there: Host): void {
    Object.assign(this.options, there);
    for (const client of this.clients) {
      const { host, port } = client as unknown as Host;
      if (host !== there.host || port !== there.port) socketOf(client).destroy(primaryMoved());
    }
  }
}

/** Tells a new connection what its session rests on; rejects if its server cannot be written, and that will not do. */
async function greet(client: pg.ClientBase, greeting: string | undefined, standbyToo: boolean): Promise<void> {
  if (greeting !== undefined) await client.query(greeting);
  if (!standbyToo) await requirePrimary(client);
}

/** Rejects if the server cannot be written. */
export async function requirePrimary(client: pg.ClientBase): Promise<void> {
  refuseOthers(await client.query<Role>(ROLE));
}

/**
 * Begins a transaction with what holds for it alone; rejects if the server cannot be written, and that will not do: a pooler may have changed to
 * another server since the connection was made.
 */
export async function beginLocal(
  client: pg.ClientBase,
  begin: string,
  limit: number,
  standbyToo: boolean,
): Promise<void> {
  const results = await client.query<Role>(`${begin}; ${sessionSettings(limit, 'LOCAL')}; ${ROLE}`);
  if (!standbyToo) refuseOthers((results as unknown as pg.QueryResult<Role>[]).at(-1)!);
}

function refuseOthers({ rows }: pg.QueryResult<Role>): void {
  const [{ standby, readOnly }] = rows as [Role];
  const found = writing(standby, readOnly);
  if (found.state === 'fail') throw new NotPrimary(found, CANNOT_CONNECT_NOW);
}

/** Whether a server can be written, by `pg_is_in_recovery()` and `default_transaction_read_only`. */
export function writing(standby: boolean, readOnly: string): Finding {
  const unwritable = standby
    ? 'The server is a standby, which cannot be written.'
    : readOnly === 'on' && 'default_transaction_read_only is on.';
  return unwritable
    ? fail('writing', unwritable, 'DATABASE_URL must lead to the primary, with transactions that may write.')
    : ok('writing', 'a primary that can be written');
}

/** What a server is, and how far those are behind that follow it. */
export async function stateOf(client: pg.ClientBase): Promise<ServerState> {
  const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
  if (rows[0]?.standby) return { role: 'standby', standbys: [] };
  // Not everything that speaks as PostgreSQL has what is asked for here.
  const standbys = await client.query<StandbyState>(STANDBYS).catch(() => ({ rows: [] }));
  return { role: 'primary', standbys: standbys.rows };
}

/**
 * What a server, a database or a role may be set to makes no difference: a statement ends in its time, one sees what was committed before it, and
 * an answer of 201 says that the pet is on disk, that of a standby included if commits wait for one. They are told to a connection that is there, for a pooler refuses most of them before.
 */
export function sessionSettings(statementTimeout: number, scope: 'SESSION' | 'LOCAL'): string {
  const isLocal = scope === 'LOCAL';
  const values = [
    `statement_timeout = ${statementTimeout}`,
    `idle_in_transaction_session_timeout = ${statementTimeout}`,
    `lock_timeout = ${Math.min(LOCK_TIMEOUT, statementTimeout)}`,
    ...(isLocal ? [] : OF_A_SESSION),
  ];
  return `${values.map((value) => `SET ${scope} ${value}`).join('; ')};
    SELECT set_config('synchronous_commit', 'on', ${isLocal}) WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')`;
}

/** What a connection is made on. */
export function newSocket(): Socket {
  const socket = new Socket();
  breakIfUnreadable(socket);
  return socket;
}

export function socketOf(client: pg.ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
