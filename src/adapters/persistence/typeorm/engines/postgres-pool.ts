import { Socket } from 'node:net';
import pg from 'pg';
import type { Host } from '../../database-url.js';
import { Primary, PrimaryPool } from './primary.js';
import { answersDue, breakWhenStill, nothingDue } from './standstill.js';

/** How long a statement waits for a lock, in milliseconds; for the same idempotency key of another instance, say. */
const LOCK_TIMEOUT = 2_000;

/** What says that a server is a standby: one that has just been found out is as good as lost. */
const IS_STANDBY = '57P03';

/** What a transaction is told by how it begins, and a pooler sees to by itself. */
const OF_A_SESSION = [
  "default_transaction_isolation = 'read committed'",
  'default_transaction_deferrable = off',
  "client_encoding = 'UTF8'",
];

export interface LimitedPoolOptions extends pg.PoolConfig {
  readonly primary: Primary;
  /** Whether a standby will do. */
  readonly standbyToo: boolean;
  /** How long a statement may take, in milliseconds; 0 for as long as it likes. */
  readonly statementTimeout: number;
  /** What a new connection is told first; absent if that would not last. */
  readonly greeting: string | undefined;
}

/** A pool of connections to the primary, which are broken if a statement takes longer than it may. */
export class LimitedPool extends pg.Pool implements PrimaryPool {
  private readonly clients = new Set<pg.PoolClient>();

  constructor({ primary, standbyToo, statementTimeout, greeting, ...options }: LimitedPoolOptions) {
    super({
      ...options,
      ...primary.host,
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

  moveTo(there: Host): void {
    Object.assign(this.options, there);
    for (const client of this.clients) {
      const { host, port } = client as unknown as Host;
      if (host !== there.host || port !== there.port)
        socketOf(client).destroy(new Error('The primary is another one.'));
    }
  }
}

/** Tells a new connection what its session rests on; rejects if its server is a standby, and that will not do. */
async function greet(client: pg.ClientBase, greeting: string | undefined, standbyToo: boolean): Promise<void> {
  if (greeting !== undefined) await client.query(greeting);
  if (!standbyToo) await requirePrimary(client);
}

/** Rejects if the server is a standby. */
export async function requirePrimary(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
  if (!rows[0]?.standby) return;
  const error = new Error('The server is a standby, which cannot be written; DATABASE_URL must lead to the primary.');
  throw Object.assign(error, { code: IS_STANDBY });
}

/**
 * What a server, a database or a role may be set to makes no difference: a statement ends in its time, one sees what was committed before it, and
 * an answer of 201 says that the pet is on disk. They are told to a connection that is there, for a pooler refuses most of them before.
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
    SELECT set_config('synchronous_commit', 'on', ${isLocal}) WHERE current_setting('synchronous_commit') = 'off'`;
}

export function socketOf(client: pg.ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
