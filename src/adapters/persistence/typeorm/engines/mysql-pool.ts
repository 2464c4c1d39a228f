import { Socket } from 'node:net';
import mysql from 'mysql2';
import type { Connection, Pool, PoolConnection, PoolOptions } from 'mysql2';
import { fail, Finding, ok } from '../../../../application/finding.js';
import { DatabaseLimits, Host } from '../../database-url.js';
import { PoolState } from './engine.js';
import { NotPrimary, primaryMoved, PrimaryPool } from './primary.js';
import { answersDue, breakIfUnreadable, breakWhenStill, nothingDue } from './standstill.js';

/** How long a statement waits for a lock, in seconds; for the same idempotency key of another instance, say. */
const LOCK_TIMEOUT = 2;

/** What a server, a database or an account may be set to makes no difference. The isolation has another name on each of the two. */
const SESSION = [
  `SET SESSION autocommit = 1, completion_type = 'NO_CHAIN', time_zone = '+00:00',
    innodb_lock_wait_timeout = ${LOCK_TIMEOUT}, unique_checks = 1, sql_safe_updates = 0, sql_auto_is_null = 0,
    sql_select_limit = 18446744073709551615, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO',
    character_set_client = utf8mb4, character_set_results = utf8mb4, collation_connection = utf8mb4_bin`,
  'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE',
];

/** What tells the role of a server, the second on some only, and how large a packet may be. */
const GREETED =
  "SHOW SESSION VARIABLES WHERE Variable_name IN ('read_only', 'wsrep_on', 'max_allowed_packet', 'net_buffer_length')";

/** The code of an error that says that the server is not the primary, or not ready: it is as good as lost. */
export const NOT_PRIMARY = 'PROTOCOL_NOT_PRIMARY';

/** What is said if no connection of the pool came free in time. */
export const NONE_FREE = 'POOL_TIMEOUT';

/** A pool of connections to the primary. */
export interface LimitedPool extends Pool, PrimaryPool {
  /** The largest packet that the server takes, in bytes, as it said to the newest connection. */
  maxPacket(): number;
  state(): Omit<PoolState, 'pool'>;
  /** From now on calls `tell` with how long each question has waited for its connection, in milliseconds. */
  tellWaits(tell: (duration: number) => void): void;
}

/** Which servers a pool takes. */
export interface Roles {
  /** One that is read-only too. */
  readonly readOnlyToo: boolean;
  /**
   * Whether a server is asked for its role each time that a connection is lent: one that is made read-only goes on answering with what it has,
   * and is written by who may write all the same, while another one is the primary.
   */
  readonly askEachTime: boolean;
}

/** A pool in which neither a connection nor an answer is waited for without end. */
export function limitedPool(
  options: PoolOptions,
  { poolTimeout, statementTimeout }: DatabaseLimits,
  { readOnlyToo, askEachTime }: Roles,
): LimitedPool {
  const pool = mysql.createPool(options);
  /** Those that are there, and what they are told first until it is done. */
  const connections = new Map<PoolConnection, Promise<void> | undefined>();
  const lent = new Set<PoolConnection>();
  let maxPacket = Infinity;
  let waiting = 0;
  pool.on('connection', (connection) => {
    const socket = socketOf(connection);
    breakWhenStill(socket);
    breakIfUnreadable(socket);
    // Who waits for an answer is told by a rejection; without a listener the event would end the process.
    connection.on('error', () => undefined);
    socket.once('close', () => {
      connections.delete(connection);
      lent.delete(connection);
    });
    const greeted = greet(connection, readOnlyToo).then((packet) => {
      maxPacket = packet;
      connections.set(connection, undefined);
    });
    // Whoever waits for the connection is told.
    greeted.catch(() => undefined);
    connections.set(connection, greeted);
  });
  if (statementTimeout > 0) {
    pool.on('acquire', (connection) => answersDue(socketOf(connection), statementTimeout));
    pool.on('release', (connection) => nothingDue(socketOf(connection)));
  }
  pool.on('acquire', (connection) => lent.add(connection));
  pool.on('release', (connection) => lent.delete(connection));
  const getConnection = pool.getConnection.bind(pool);
  const limited: typeof getConnection = (callback) => {
    const none = undefined as unknown as PoolConnection;
    let late = false;
    waiting++;
    const timer = setTimeout(() => {
      late = true;
      const error = Object.assign(new Error('No connection to the database came free in time.'), { code: NONE_FREE });
      callback(error, none);
    }, poolTimeout);
    const done: typeof callback = (error, connection) => {
      clearTimeout(timer);
      if (!late) callback(error, connection);
      else if (!error) connection.release();
    };
    getConnection((error, connection) => {
      waiting--;
      const asked = error
        ? undefined
        : (connections.get(connection) ?? (askEachTime ? requirePrimary(connection) : undefined));
      if (!asked) {
        done(error, connection);
        return;
      }
      asked.then(
        () => {
          done(null, connection);
        },
        (reason: NodeJS.ErrnoException) => {
          connection.destroy();
          done(reason, none);
        },
      );
    });
  };
  pool.getConnection = limited;
  return Object.assign(pool, {
    tellWaits: (tell: (duration: number) => void) => {
      pool.getConnection = (callback) => {
        const begun = performance.now();
        limited((error, connection) => {
          tell(performance.now() - begun);
          callback(error, connection);
        });
      };
    },
    maxPacket: () => maxPacket,
    state: () => ({ used: lent.size, idle: connections.size - lent.size, waiting }),
    moveTo: (there: Host) => {
      const { connectionConfig } = (pool as unknown as { config: { connectionConfig: Host } }).config;
      Object.assign(connectionConfig, there);
      for (const connection of connections.keys()) {
        const { host, port } = connection.config as unknown as Host;
        if (host !== there.host || port !== there.port) socketOf(connection).destroy(primaryMoved());
      }
    },
  });
}

/**
 * Tells a new connection what its session rests on, and resolves to the largest packet that the server takes, in bytes; rejects if its server
 * is not ready, or is read-only and that will not do.
 */
export async function greet(connection: Connection, readOnlyToo: boolean): Promise<number> {
  for (const sql of SESSION) await ask(connection, sql);
  const variables = new Map((await ask(connection, GREETED)) as [string, string][]);
  if (variables.get('wsrep_on') === 'ON') {
    await ask(connection, 'SET SESSION wsrep_sync_wait = 7');
    const [[, ready] = []] = (await ask(connection, "SHOW STATUS LIKE 'wsrep_ready'")) as [string, string][];
    if (ready !== 'ON') throw notReady('The node of the cluster is not ready.');
  }
  if (!readOnlyToo) refuseOthers(variables.get('read_only'));
  return Math.max(Number(variables.get('max_allowed_packet')), Number(variables.get('net_buffer_length')));
}

/** Rejects if the server is read-only. */
async function requirePrimary(connection: Connection): Promise<void> {
  const [[readOnly] = []] = (await ask(connection, 'SELECT @@global.read_only')) as [unknown][];
  refuseOthers(readOnly);
}

function refuseOthers(readOnly: unknown): void {
  const found = writing(String(readOnly));
  if (found.state === 'fail') throw new NotPrimary(found, NOT_PRIMARY);
}

function ask(connection: Connection, sql: string): Promise<unknown> {
  return new Promise((resolve, reject) =>
    connection.query({ sql, rowsAsArray: true }, (error, result) => (error ? reject(error) : resolve(result))),
  );
}

/** Whether a server can be written, by `read_only`, which has other values than on and off on some. */
export function writing(readOnly: string): Finding {
  return /^(?:0|OFF)$/.test(readOnly)
    ? ok('writing', 'a primary that can be written')
    : fail('writing', 'The server is read-only.', 'DATABASE_URL must lead to the primary, with read_only off.');
}

function notReady(message: string): Error {
  return Object.assign(new Error(message), { code: NOT_PRIMARY });
}

function socketOf(connection: Connection): Socket {
  return (connection as unknown as { stream: Socket }).stream;
}
